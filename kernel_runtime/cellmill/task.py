"""Plain data about tasks, workers and calls: no behaviour beyond checking itself."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from concurrent.futures import Future as BaseFuture
from dataclasses import dataclass, replace
from typing import Any

from .errors import UsageError

PRIORITIES = range(-100, 101)
POLICIES = ("least-loaded", "round-robin", "random", "work-stealing")
MOST_RETRIES = 255


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How a task is to be run. Times in seconds, memory in bytes or as text such as ``"2GB"``."""

    retries: int = 0
    batch: bool = False
    timeout: float | None = None
    priority: int = 0
    name: str | None = None
    memory: int | str | None = None
    resources: dict[str, float] | None = None
    memo: bool = False
    after: tuple[BaseFuture[Any], ...] = ()

    def changed(self, **changes: Any) -> TaskOptions:
        """A checked copy with some options replaced; raises `UsageError` on unknown or senseless ones."""
        unknown = set(changes) - set(self.__slots__)
        if unknown:
            known = ", ".join(self.__slots__)
            raise UsageError(f"unknown option {sorted(unknown)[0]!r}; the options are: {known}")
        if "after" in changes:
            changes["after"] = _futures(changes["after"])
        made = replace(self, **changes)
        made._check()
        return made

    def _check(self) -> None:
        _whole("retries", self.retries, range(MOST_RETRIES + 1))
        _whole("priority", self.priority, PRIORITIES)
        if self.timeout is not None and not (_is_number(self.timeout) and self.timeout > 0):
            raise UsageError(f"timeout must be a number of seconds above 0, or None, not {self.timeout!r}")
        if self.name is not None and not isinstance(self.name, str):
            raise UsageError(f"name must be text, not {self.name!r}")
        for name in ("memory", "resources", "memo"):
            if getattr(self, name):
                raise UsageError(f"the option {name!r} is not available in this version")

    @property
    def plain(self) -> bool:
        """Nothing that the shortest path of a task would have to look at."""
        return self is DEFAULT_OPTIONS or (
            not self.retries and self.timeout is None and not self.priority and not self.after
        )


DEFAULT_OPTIONS = TaskOptions()
NO_RUN = 2**32 - 1  # of calls of submit


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(name: str, value: object, allowed: range) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
        raise UsageError(f"{name} must be a whole number from {allowed[0]} to {allowed[-1]}, not {value!r}")


def _futures(after: Iterable[BaseFuture[Any]] | BaseFuture[Any]) -> tuple[BaseFuture[Any], ...]:
    try:
        futures = (after,) if isinstance(after, BaseFuture) else tuple(after)
    except TypeError:
        raise UsageError(f"after takes futures, not {type(after).__name__}") from None
    for future in futures:
        if not isinstance(future, BaseFuture):
            raise UsageError(f"after takes futures, not {type(future).__name__}")
    return futures


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """Stands in a list of results where an element failed. Falsy."""

    index: int
    item: str
    error: BaseException

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of an executor at one moment (``time_ns`` on the monotonic clock); elements of maps count one each."""

    time_ns: int
    workers: int
    submitted: int
    waiting: int
    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int

    @property
    def done(self) -> int:
        """Tasks that are over, however they ended."""
        return self.succeeded + self.failed + self.cancelled

    @property
    def total(self) -> int:
        """Tasks ever submitted."""
        return self.submitted


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker process; ``state`` is "starting", "idle", "busy" or "lost"."""

    index: int
    pid: int
    state: str
    tasks_done: int
    restarts: int


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many tasks of a run were submitted, and how those that are over ended."""

    submitted: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def done(self) -> int:
        """Tasks that are over, however they ended."""
        return self.succeeded + self.failed + self.cancelled


def short_repr(value: object, most: int = 80) -> str:
    """``repr`` that never raises and never fills the screen."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def short_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments of a call as short text for messages."""
    parts = [short_repr(a, 40) for a in args[:4]] + [
        f"{k}={short_repr(v, 40)}" for k, v in list(kwargs.items())[:4]
    ]
    if len(args) > 4 or len(kwargs) > 4:
        parts.append("…")
    return ", ".join(parts)


def known_length(iterables: Iterable[Any]) -> int | None:
    """Length of the shortest iterable, or None when one of them does not know its own."""
    lengths = []
    for iterable in iterables:
        if not isinstance(iterable, Sized):
            return None
        lengths.append(len(iterable))
    return min(lengths, default=0)
