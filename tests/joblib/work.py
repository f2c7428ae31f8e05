"""What joblib's calls do: light to import, as each worker does."""

from __future__ import annotations

import os
import time
from typing import Any

from tests.support import tasks


def sum_and_writable(array: Any) -> tuple[float, bool]:
    return float(array.sum()), bool(array.flags.writeable)


def wait_and_count(folder: str, number: int, _: object = None) -> int:
    tasks.hold(folder)
    return number


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def deep_sum(nested: dict[str, Any]) -> float:
    first, (second, _) = nested["deep"]
    return float(first.sum() + second.sum())


def drawn(rng: Any) -> float:
    return float(rng.random())


def filled(array: Any, place: int) -> int:
    array[place] = 1
    return place


def blas_threads() -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def around(*arguments: Any) -> tuple[tuple[Any, ...], str, int, str | None]:
    """What a call was given, and what it finds: the backend of calls inside it, and how deep; threads of BLAS."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    return arguments, type(backend).__name__, backend.nesting_level, blas_threads()
