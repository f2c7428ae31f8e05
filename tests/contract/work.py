"""What the contract lets workers run beside `tests.support.tasks`: importable, and light to import."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

_prepared: set[tuple[int, int]] = set()


def who() -> tuple[int, int]:
    """The process, and the thread in it."""
    return os.getpid(), threading.get_ident()


def prepare(folder: str, word: str) -> None:
    """An initializer."""
    Path(folder, f"{word}-{os.getpid()}-{threading.get_ident()}").touch()
    _prepared.add(who())


def is_prepared() -> bool:
    return who() in _prepared


def has_module(name: str) -> bool:
    return name in sys.modules


def stay(folder: str, seconds: float = 120.0) -> str:
    """Say that it runs, and go on for a long time: in Python, so that it hears when it is told to stop."""
    with open(Path(folder, "started"), "wb", buffering=0) as started:
        started.write(b"s")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.005)
    return "not stopped"


def leave(code: int = 7) -> None:
    """End the process in the middle of a task."""
    os._exit(code)


def leave_at(x: int, at: int) -> int:
    if x == at:
        os._exit(7)
    return x


def leave_with(batch: list[int]) -> list[int]:
    """Ends the worker of every batch that has a 2."""
    return [leave_at(x, 2) for x in batch]


def touch(folder: str, name: str) -> None:
    Path(folder, name).touch()


def hold_each(items: list[Any]) -> list[Any]:
    """A batch function: waits for a `Gate` at each item, which is the folder of one and a value."""
    from tests.support import tasks

    return [tasks.hold(*item) for item in items]


def halves(items: list[int]) -> list[float]:
    """A batch function that chokes on 13."""
    if 13 in items:
        raise ValueError(f"13 among {len(items)}")
    return [item / 2 for item in items]


def inside() -> tuple[bool, str, list[int], str, int]:
    """What a task sees of Cellmill: everything there is inline."""
    import warnings

    import cellmill

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = cellmill.default_executor()
        with cellmill.Executor(2) as made:
            value = made.submit(pow, 3, 2).result()
            return cellmill.in_worker(), default.backend, list(default.map(abs, [-1, 2])), made.backend, value


def say(text: str) -> str:
    print(text)
    print(f"{text} to stderr", file=sys.stderr)
    return text


def mirror(array: Any) -> Any:
    """A new array of the same size."""
    return array + 1


def centred(array: Any) -> Any:
    array -= array.mean()
    return array


def add_in_place(array: Any, number: int) -> float:
    array += number
    return float(array.sum())


def add_one_in_place(array: Any) -> float:
    return add_in_place(array, 1)


def doubled_frame(frame: Any) -> Any:
    frame["b"] *= 2
    frame.loc[0, "a"] = -1
    return frame


def is_even(number: Any) -> bool:
    return number == [2] or number % 2 == 0


def write_weights(model: Any) -> None:
    model["weights"][0] = 5


def write_locked(array: Any) -> None:
    """What is read-only by the user's own doing."""
    made = array + 1
    made.flags.writeable = False
    made[0] = 1


def first(array: Any) -> int:
    """Of an array or a list."""
    return int(array[0])


def large(number: int) -> Any:
    """An array of 8 MB."""
    import numpy as np

    return np.full(1_000_000, number, dtype=float)


def each_first(items: list[Any]) -> list[int]:
    """A batch function."""
    return [int(item[0]) for item in items]


def fail_first_of(item: list[Any]) -> int:
    from tests.support import tasks

    return tasks.fail_first(*item)


def leave_at_first(item: list[int], at: int) -> int:
    return leave_at(item[0], at)


def broken(path: str) -> None:
    """Fails whatever it is given."""
    raise OSError(f"broken file {len(path)}")


def all_broken(paths: list[str]) -> list[str]:
    """A batch function that fails."""
    raise OSError(f"{len(paths)} broken files")


def divided(x: Any, by: int) -> Any:
    return x / by


def all_fail() -> None:
    raise OSError("on each worker")
