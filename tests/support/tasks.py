"""What the tests let workers run: importable, and light to import."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

HELD_SECONDS = 90.0  # an executor whose test fails waits for its tasks: the failure is told soon after


def double(x: Any) -> Any:
    return x + x


def add(*numbers: int) -> int:
    return sum(numbers)


def give(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def same(value: Any) -> Any:
    return value


def fail(message: str = "as asked") -> NoReturn:
    raise LookupError(message)


def half_of_even(x: int) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2


def fails_at_tens(x: int) -> int:
    if x % 10 == 0:
        raise ValueError("a ten")
    return x


def pid(*_: Any) -> int:
    return os.getpid()


def hold(folder: str, value: Any = None, seconds: float = HELD_SECONDS) -> Any:
    """Say that it runs, then wait until the `Gate` of that folder lets one task pass; so long at most."""
    with open(Path(folder, "started"), "wb", buffering=0) as started:
        started.write(b"s")
    with open(Path(folder, "open"), "rb", buffering=0) as gate:
        if not select.select([gate], [], [], seconds)[0]:
            raise TimeoutError("the gate stays closed: the test has failed")
        gate.read(1)
    return value


def fail_first(folder: str, times: int = 1) -> int:
    """Raise so many times, then return the number of calls; counted by files, across workers."""
    calls = count_call(folder)
    if calls <= times:
        raise ConnectionError(f"attempt {calls}")
    return calls


def count_call(folder: str) -> int:
    """The number of this call, from 1; safe among processes."""
    number = 1
    while True:
        try:
            os.close(os.open(Path(folder, f"call-{number}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            number += 1
        else:
            return number


def die(how: str, *_: Any) -> None:
    if how == "segv":
        ctypes.string_at(0)
    elif how == "exit":
        os._exit(7)
    else:
        os.kill(os.getpid(), signal.Signals[how])


def die_at(x: int, at: int) -> int:
    if x == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


class NeedsTwo(Exception):
    """Pickles, and does not come back: its arguments are not passed on."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class Unpicklable(Exception):
    def __reduce__(self) -> NoReturn:
        raise TypeError("not this one")


def raise_needs_two() -> NoReturn:
    raise NeedsTwo("salt", "pepper")


def raise_unpicklable() -> NoReturn:
    raise Unpicklable("stays here")


def lock() -> Any:
    import threading

    return threading.Lock()


def lock_if(x: int, at: int) -> Any:
    return lock() if x == at else x


class Gather:
    def __init__(self, base: int) -> None:
        self.base = base

    def method(self, x: int) -> int:
        return self.base + x

    def __call__(self, x: int) -> int:
        return self.base * x

    @classmethod
    def build(cls, base: int) -> int:
        return cls(base).base


def die_unless(process: int) -> None:
    if os.getpid() != process:
        os.kill(os.getpid(), signal.SIGKILL)


class FailsToLoad:
    def __reduce__(self) -> Any:
        return divmod, (1, 0)


def spin(seconds: float) -> str:
    """Busy Python, which hears signals."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return "ran"


def hoard(megabytes: int, seconds: float = 0) -> int:
    """Take so much memory for so long."""
    kept = b"x" * (megabytes << 20)
    time.sleep(seconds)
    return len(kept)


def total_length(parts: list[bytes]) -> int:
    return sum(map(len, parts))


def total_size(arrays: list[Any], _: Any) -> int:
    return sum(a.size for a in arrays)


def array_and_pid(nbytes: int) -> tuple[Any, int]:
    import numpy

    return numpy.full(nbytes // 8, os.getpid()), os.getpid()


_kept_arrays: list[Any] = []


def written(array: Any) -> Any:
    """One more in each place, in the array itself."""
    array += 1
    return array


def keep_and_write(array: Any, number: int) -> tuple[float, bool]:
    """(what was in it, whether those that this worker keeps from before are as they were left)."""
    before = float(array.sum())
    array[:] = number
    _kept_arrays.append((array, number))
    return before, all((kept == left).all() for kept, left in _kept_arrays)


def forget_kept() -> None:
    _kept_arrays.clear()


def generate(count: int) -> Iterator[int]:
    """What a generator is: nothing that can be sent."""
    return (number for number in range(count))


def killed_once(path: str) -> str:
    """Kills its process the first time."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "here"
    os.kill(os.getpid(), signal.SIGKILL)
    return "not here"
