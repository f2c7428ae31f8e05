"""Plain data about tasks, workers and calls: no behaviour beyond checking itself."""

from __future__ import annotations

import os
import re
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sized
from concurrent.futures import Future as BaseFuture
from dataclasses import dataclass, replace
from itertools import repeat
from numbers import Real
from operator import length_hint
from typing import Any

from .errors import UsageError, did_you_mean, in_words

PRIORITIES = range(-100, 101)
POLICIES = ("least-loaded", "round-robin", "random", "work-stealing")
MOST_RETRIES = 255


@dataclass(frozen=True, slots=True)
class Retry:
    """``retries=Retry(3, backoff=0.1, when=OSError)``: how often a failed task starts again, how soon, after what.

    It starts again at most ``times`` times: the first time ``backoff`` seconds after it failed, then ``factor`` times
    as long each time, never longer than ``most`` seconds. No worker waits with it. ``when`` chooses by the error: an
    exception class, several, or a function of it. The task's own errors, lost workers and time limits all count.
    """

    times: int
    backoff: float = 0.0
    factor: float = 2.0
    most: float = 60.0
    when: Callable[[BaseException], bool] | type[BaseException] | tuple[type[BaseException], ...] | None = (
        None
    )

    def __post_init__(self) -> None:
        check_whole("the number of retries", self.times, range(MOST_RETRIES + 1))
        for name, least in (("backoff", 0), ("factor", 1), ("most", 0)):
            value = getattr(self, name)
            if not (_is_number(value) and value >= least):
                raise UsageError(f"{name} of a Retry must be a number of at least {least}, not {value!r}")
        if self.when is not None and not _is_choice(self.when):
            raise UsageError(
                f"when of a Retry takes a function of the error, or exception classes, not {self.when!r}"
            )

    def delay(self, attempt: int, error: BaseException) -> float | None:
        """Seconds to wait after attempt 0, 1, ... failed with this error; None: it was the last one."""
        if attempt >= self.times or not self._wanted(error):
            return None
        try:
            return float(min(self.most, self.backoff * self.factor**attempt))
        except OverflowError:
            return float(self.most)

    def _wanted(self, error: BaseException) -> bool:
        when = self.when
        if when is None or isinstance(when, (type, tuple)):
            return when is None or issubclass(type(error), when)
        try:
            return bool(when(error))
        except Exception as problem:
            BaseException.add_note(
                error, f"not tried again: the when= of its retries raised {in_words(problem)}"
            )
            return False


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How a task is to be run. Times in seconds, memory in bytes or as text such as ``"2GB"``.

    ``retries`` is a number or a `Retry`. ``timeout`` holds for each attempt, counted from when a worker takes the task;
    one that takes longer is stopped, and that is a failed attempt as any other.

    ``resources={"gpu": 1}``: so much of each thing by that name is the task's own from the moment it is sent until
    that attempt ends, of what the executor has in all (``Executor(resources={"gpu": 2})``); others wait for it.
    ``memory`` reserves in the same way, of what this machine or its control group has (of the workers' limits, where
    they have any): it says how many such tasks run at once. What the task really takes is not measured: that is what
    ``Executor(memory_per_worker=...)`` limits. A chunk of a map, or a batch, holds them once.

    ``memo=True`` keeps results in memory, ``memo="folder"`` in a file there, by the function with all that it refers to
    and by the arguments: an equal call gives the kept value. Files that a function reads are named by ``depends_on``;
    the clock and random draws are not seen. ``checkpoint="file"`` keeps the results of maps in that file: the same map
    goes on from there.
    """

    retries: int | Retry = 0
    batch: bool = False
    timeout: float | None = None
    priority: int = 0
    name: str | None = None
    memory: int | None = None
    resources: tuple[tuple[str, int], ...] | None = None  # in units, see `amount_of`
    memo: bool | str = False
    depends_on: tuple[str, ...] = ()
    checkpoint: str | None = None
    after: tuple[BaseFuture[Any], ...] = ()
    asks: bool = False  # for more than a worker: no option of its own, but each call looks at it

    def in_words(self) -> str:
        """Return the names of the options that are set."""
        usual = TaskOptions()
        return ", ".join(
            name
            for name in self.__slots__[:-1]
            if getattr(self, name) is not getattr(usual, name) and getattr(self, name) != getattr(usual, name)
        )

    def changed(self, **changes: Any) -> TaskOptions:
        """A checked copy with some options replaced; raises `UsageError` on unknown or senseless ones."""
        options = self.__slots__[:-1]
        unknown = set(changes) - set(options)
        if unknown:
            known = ", ".join(options)
            word = sorted(unknown)[0]
            meant = did_you_mean(word, options)
            raise UsageError(
                f"unknown option {word!r}{f'{meant} The' if meant else '; the'} options are: {known}"
            )
        if "after" in changes:
            changes["after"] = _futures(changes["after"])
        if "memory" in changes:
            changes["memory"] = memory_of("memory", changes["memory"]) or None
        if "resources" in changes:
            changes["resources"] = _resources(changes["resources"])
        if not isinstance(changes.get("memo", False), bool):
            changes["memo"] = path_of("memo", changes["memo"], "True, False or the name of a folder")
        if "depends_on" in changes:
            changes["depends_on"] = _paths(changes["depends_on"])
        if changes.get("checkpoint") is not None:
            changes["checkpoint"] = path_of("checkpoint", changes["checkpoint"])
        made = replace(self, **changes)
        if "memory" in changes or "resources" in changes:
            made = replace(made, asks=made.memory is not None or made.resources is not None)
        made._check()
        return made

    def _check(self) -> None:
        if not isinstance(self.retries, Retry):
            check_whole("retries", self.retries, range(MOST_RETRIES + 1))
        check_whole("priority", self.priority, PRIORITIES)
        if self.timeout is not None and not (_is_number(self.timeout) and self.timeout > 0):
            raise UsageError(f"timeout must be a number of seconds above 0, or None, not {self.timeout!r}")
        if self.name is not None and not isinstance(self.name, str):
            raise UsageError(f"name must be text, not {self.name!r}")
        if self.depends_on and not (self.memo or self.checkpoint):
            raise UsageError("depends_on names files for memo= or checkpoint=, and neither is given")

    @property
    def retry(self) -> Retry:
        """``retries``, spelt out."""
        return self.retries if isinstance(self.retries, Retry) else Retry(self.retries)

    @property
    def plain(self) -> bool:
        """Nothing that the shortest path of a task would have to look at."""
        return self is DEFAULT_OPTIONS or (
            not self.retries
            and self.timeout is None
            and not self.priority
            and not self.after
            and not self.asks
        )

    @property
    def simple(self) -> bool:
        """Nothing but numbers."""
        return self is DEFAULT_OPTIONS or not (self.after or self.batch or isinstance(self.retries, Retry))


DEFAULT_OPTIONS = TaskOptions()
NO_RUN = 2**32 - 1  # of calls of submit


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_choice(when: object) -> bool:
    classes = when if isinstance(when, tuple) else (when,)
    return all(isinstance(c, type) and issubclass(c, BaseException) for c in classes) or (
        callable(when) and not isinstance(when, type)
    )


def check_whole(name: str, value: object, allowed: range) -> None:
    """Raise `UsageError` unless it is a whole number of that range."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
        raise UsageError(f"{name} must be a whole number from {allowed[0]} to {allowed[-1]}, not {value!r}")


_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*")


def check_worker_count(count: object) -> None:
    """Raise `UsageError` where this is no number of workers."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise UsageError(f"the number of workers must be a whole number of at least 1, not {count!r}")


def memory_of(name: str, value: object) -> int:
    """Bytes of a number of them or of text such as ``"2GB"``; 0 for None."""
    if value is None:
        return 0
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    size = value if _is_number(value) else 0
    if found and found[2].upper() in _UNITS:
        size = float(found[1]) * _UNITS[found[2].upper()]
    if not (isinstance(size, (int, float)) and 1 <= size < 1 << 62):
        raise UsageError(f'{name} must be a number of bytes above 0, or text such as "2GB", not {value!r}')
    return int(size)


_SHOWN = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000))


def size_text(size: float) -> str:
    """Bytes as people write them: three digits, or all before the point where that are more."""
    # of a unit from what would be rounded to one of it
    bytes_ = "byte" if size == 1 else "bytes"
    name, unit = next(((name, unit) for name, unit in _SHOWN if size >= 0.9995 * unit), (bytes_, 1))
    amount = size / unit
    return f"{amount:,.0f} {name}" if amount >= 99.95 else f"{float(f'{amount:.3g}'):g} {name}"


UNITS = 10_000  # of a resource make one
_LARGEST = 10**12


def amount_of(name: str, value: object) -> int:
    """So much of a resource, in ten-thousandths, which add up exactly: three times 1/3 fits into 1."""
    number = float(value) if not isinstance(value, bool) and isinstance(value, Real) else 0.0
    if not 1 / UNITS <= number <= _LARGEST:
        raise UsageError(f"{name} must be a number of at least {1 / UNITS}, such as 1 or 0.5, not {value!r}")
    return int(number * UNITS + 1e-4)


def amount_text(amount: int) -> str:
    """Format an amount as people write it."""
    return format(amount / UNITS, ".16g")


def check_name(name: object) -> str:
    """Check the name of a resource; raises `UsageError`."""
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"a resource has a name, such as 'gpu', not {name!r}")
    return name


def _resources(given: object) -> tuple[tuple[str, int], ...] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise UsageError(f'resources takes names and numbers, such as {{"gpu": 1}}, not {given!r}')
    if "memory" in given:
        raise UsageError('memory is an option of its own: memory="2GB"')
    asked = [(check_name(name), amount_of(f"resources[{name!r}]", value)) for name, value in given.items()]
    return tuple(sorted(asked)) or None


def path_of(name: str, value: object, wanted: str = "the name of a file") -> str:
    """The whole path of a file or folder that an option names."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        raise UsageError(f"{name} takes {wanted}, not {value!r}") from None
    if not isinstance(text, str) or not text:
        raise UsageError(f"{name} takes {wanted}, not {value!r}")
    return os.path.abspath(os.path.expanduser(text))


def _paths(given: object) -> tuple[str, ...]:
    if isinstance(given, (str, os.PathLike)):
        given = (given,)
    if not isinstance(given, Iterable):
        raise UsageError(f"depends_on takes names of files, not {given!r}")
    paths = tuple(path_of("depends_on", path) for path in given)
    for path in paths:
        if not os.path.isfile(path):
            raise UsageError(f"depends_on names {path}, which is no file")
    return paths


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
    """Takes the place of a failed element in a list of results. Falsy."""

    index: int
    item: str
    error: BaseException

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of an executor at one moment (``time_ns`` on the monotonic clock); elements of maps count one each.

    ``stopping``: of those that run, how many were cancelled and are not over yet; ``lost``: of the failed ones, how
    many lost their worker.
    """

    time_ns: int
    workers: int
    submitted: int
    waiting: int
    queued: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    stopping: int = 0
    lost: int = 0

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
    """One worker process; ``state`` is "starting", "idle", "busy", "stopping" or "lost";
    ``tasks_done``: by this process; ``restarts``: how many before it, at this index, ended and were not asked to.

    Of the task it runs: ``function``, ``task`` (its number), ``element`` (place in its chunk) and ``since_ns`` (when
    it began, on the monotonic clock); None when it runs none. ``declared``: bytes of memory that it asks for; None: it
    declares none. ``address``: where it is in its cluster, with ``pid`` a process there; None: on this machine.
    ``threads``: how many of that process run tasks, each of them a worker.
    """

    index: int
    pid: int
    state: str
    tasks_done: int
    restarts: int
    function: str | None = None
    task: int | None = None
    element: int | None = None
    since_ns: int | None = None
    declared: int | None = None
    address: str | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """A worker process that ended and was not asked to: ``how``, in words, and its largest ``memory`` in bytes."""

    index: int
    how: str
    memory: int | None


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many tasks of a run were submitted, and how those that are over ended.

    ``stopping``: cancelled while they ran, and not over yet; ``lost``: those of the failed whose worker ended;
    ``hits``: results that came from the cache (see `cellmill.parallel`, ``memo``), beside the tasks.
    """

    submitted: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    stopping: int = 0
    lost: int = 0
    hits: int = 0

    @property
    def done(self) -> int:
        """Tasks that are over, however they ended."""
        return self.succeeded + self.failed + self.cancelled


class HitCount:
    """How many results of a run came from the cache; used from any thread."""

    def __init__(self) -> None:
        self.count = 0
        self.places = array("Q")  # in the input of a map, of the elements that tasks run beside them
        self.last_ns = 0  # when the latest was found, on the monotonic clock
        self._lock = threading.Lock()

    def note(self) -> None:
        """One more did."""
        with self._lock:
            self.count += 1
            self.last_ns = time.monotonic_ns()


def known_length(iterables: Iterable[Any]) -> int | None:
    """Length of the shortest iterable, endless ones left out, or None when one of them does not know its own."""
    lengths = []
    for iterable in iterables:
        if type(iterable) is repeat:
            lengths.append(length_hint(iterable, -1))
        elif isinstance(iterable, Sized):
            try:
                lengths.append(len(iterable))
            except Exception:  # sparse matrices iterate, but have no length
                return None
        else:
            return None
    ends = [length for length in lengths if length >= 0]
    return min(ends) if ends else None if lengths else 0
