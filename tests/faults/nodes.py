"""What the nodes of random graphs do. A module of its own, light to import in workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import tasks

LONG_S = 60.0  # of a task that is stopped by its limit


def perform(folder: str, number: int, attempts: tuple[str, ...], values: list[Any]) -> Any:
    """One attempt at a node."""
    own = Path(folder, str(number))
    own.mkdir(exist_ok=True)
    attempt = tasks.count_call(str(own)) - 1
    fate = attempts[min(attempt, len(attempts) - 1)]
    if fate == "raises":
        tasks.fail()
    if fate == "dies":
        tasks.die("SIGKILL")
    if fate == "late":
        tasks.spin(LONG_S)
    if fate == "refuses to be pickled":
        return tasks.lock()
    return value_of(fate, number, values)


def value_of(fate: str, number: int, values: list[Any]) -> Any:
    """Depends on all inputs and their order."""
    if fate == "none":
        return None
    return bytes([number]) * 20_000 if fate == "large" else (number, [digest(v) for v in values])


def digest(value: Any) -> Any:
    return (len(value), value[0]) if isinstance(value, bytes) else value
