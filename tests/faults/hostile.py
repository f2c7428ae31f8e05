"""Objects that end the worker which handles them, at a point of their choice. The kernel may handle them unharmed."""

from __future__ import annotations

import os
import signal
from typing import Any

import cellmill.executor


def die() -> None:
    """End this process if it is a worker."""
    if cellmill.executor.in_worker():
        os.kill(os.getpid(), signal.SIGKILL)


def load(kind: type, value: Any) -> Any:
    """What pickles of these objects call."""
    made = kind.__new__(kind)
    made.value = value
    return made


class Hostile:
    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __reduce__(self) -> Any:
        return load, (type(self), self.value)


class DiesWhenMade(Hostile):
    """By the function that its pickle calls."""

    def __reduce__(self) -> Any:
        return load_deadly, (type(self), self.value)


def load_deadly(kind: type, value: Any) -> Any:
    die()
    return load(kind, value)


class DiesWhenFilled(Hostile):
    """By its ``__setstate__``."""

    def __reduce__(self) -> Any:
        return load, (type(self), None), self.value

    def __setstate__(self, state: Any) -> None:
        self.value = state
        die()


class DiesWhenCalled(Hostile):
    def __call__(self, *_: Any) -> None:
        die()


class DiesWhenPickled(Hostile):
    def __reduce__(self) -> Any:
        die()
        return super().__reduce__()


class DiesWhenShown(Hostile):
    """By ``print``."""

    def __str__(self) -> str:
        die()
        return "shown"


class DiesWhenDropped(Hostile):
    def __del__(self) -> None:
        die()


class RaisesDeadly(Exception):
    """An exception that cannot leave the worker alive."""

    def __reduce__(self) -> Any:
        die()
        return type(self), self.args


class RaisesUnspeakable(Exception):
    def __str__(self) -> str:
        die()
        return "spoken"


def give(kind: type, *args: Any) -> Any:
    """Return one made in the worker."""
    return kind(*args)


def give_at(x: int, at: int, kind: type) -> Any:
    return kind(x) if x == at else x


def raise_one(kind: type[Exception]) -> None:
    raise kind("as asked")


def raise_at(x: int, at: int, kind: type[Exception]) -> int:
    if x == at:
        raise kind(x)
    return x


def show(value: Any) -> None:
    print("before", value, "after")


def take(value: Any) -> Any:
    """The number in a hostile object or the number itself."""
    return getattr(value, "value", value)
