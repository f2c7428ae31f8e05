"""The reporting of warnings and log records: read in the kernel, applied in workers.

A category of a filter travels by its name, because it may be a class of a cell or of a module that a worker has not
imported yet. Log handlers stay in the kernel, which handles the records of tasks (`log_records.py`); workers know which
there are, because a fork or an import may have made the same ones there.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

_MARK = (
    object()
)  # a level that is never asked for, in the root logger's cache, which every change of a level clears


class Filter(NamedTuple):
    """One entry of `warnings.filters`; ``module`` and ``name`` identify its category."""

    action: str
    message: Any
    module: str
    name: str
    where: Any
    line: int


class Reporting(NamedTuple):
    """The settings of warnings and logging that tasks must see."""

    filters: tuple[Filter, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()
    disabled: int = 0
    handlers: frozenset[tuple[str, ...]] = frozenset()  # logger, kind and target of each
    again: int = 0  # another number than before: warnings that were shown are shown again


def read() -> Reporting:
    """Read the present settings of this process."""
    filters = tuple(_filter(*each) for each in list(warnings.filters) if isinstance(each[2], type))
    named = {"": logging.root, **logging.root.manager.loggerDict}
    loggers = {name: found for name, found in named.items() if isinstance(found, logging.Logger)}
    levels = tuple((name, found.level) for name, found in loggers.items() if found.level or not name)
    handlers = (_mark(found.name, each) for found in loggers.values() for each in list(found.handlers))
    return Reporting(filters, levels, logging.root.manager.disable, frozenset(handlers), _again)


_again = 0
_warned = False  # in this cell, or an earlier one since `_again` was set


def note_warning() -> None:
    """Note that a task has shown a warning: in the next cell the same one is shown again."""
    global _warned
    _warned = True


def _let_warn_again() -> None:
    global _again, _warned
    if _warned:
        _again += 1
        _warned = False


class ReportingWatch:
    """Notices at a glance (0.2 us) that something may have changed since the last look.

    Filters by the list, its length and its first entry, which is where new ones go; levels by a mark in the cache that
    every change of one clears. Handlers of other loggers than the root are seen in the next cell.
    """

    def __init__(self) -> None:
        self.filters: Any = None
        self.first: Any = None
        self.mark: Any = None
        self.filter_count = self.handler_count = -1
        self._last: Reporting | None = None
        self._closely = True

    def new_cell(self) -> None:
        """See `runs.watch_cells`: the next look is at everything."""
        self._closely = True
        _let_warn_again()

    def touched(self) -> bool:
        """Return whether something may have changed; a cheap check. In C: `reporting_changed` of
        csched/python/submit.c.
        """
        filters = warnings.filters
        return (
            filters is not self.filters
            or len(filters) != self.filter_count
            or (self.filter_count > 0 and filters[0] is not self.first)
            or cache().get(_MARK) is not self.mark
            or len(logging.root.handlers) != self.handler_count
        )

    def look(self) -> Reporting:
        """Return the present settings; read again when something was touched, and once in each cell."""
        if self._last is not None and not self._closely and not self.touched():
            return self._last
        self._last = None  # until everything was read: an interrupt may come before
        self._closely = False
        self.mark = cache().setdefault(_MARK, object())  # before the look: what changes after it is noticed
        self.filters = warnings.filters
        self.filter_count = len(self.filters)
        self.first = self.filters[0] if self.filters else None
        self.handler_count = len(logging.root.handlers)
        self._last = found = read()
        return found

    def parts(self) -> tuple[Any, ...]:
        """Return the objects that the check in C compares, and their last values: see `csched_plain_note`."""
        return (
            vars(warnings),
            self.filters,
            self.first,
            cache(),
            _MARK,
            self.mark,
            logging.root.handlers,
        )


def cache() -> dict[Any, Any]:
    """The root logger's cache: by level, whether it is enabled."""
    found: dict[Any, Any] = logging.root._cache  # type: ignore[attr-defined]
    return found


class _Named(type):
    """A category known by name: its class may be defined later, or again by a cell."""

    module: str
    name: str

    def __subclasscheck__(cls, other: type) -> bool:
        return any(each.__module__ == cls.module and each.__qualname__ == cls.name for each in other.__mro__)


_applied: list[Any] = list(warnings.filters)  # what this module knows of; all others are the process's own


def apply(now: Reporting, before: Reporting) -> None:
    """Make this process report so; only what changed is applied: what a task set for itself stays."""
    if now.filters != before.filters:
        _apply_filters(now.filters)
    if now.again != before.again:
        warnings._filters_mutated()  # type: ignore[attr-defined]
    levels, old = dict(now.levels), dict(before.levels)
    for name in old.keys() - levels.keys():
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name, level in levels.items():
        if old.get(name) != level:
            logging.getLogger(name).setLevel(level)
    if now.disabled != before.disabled:
        logging.disable(now.disabled)
    _stand_in(now.handlers)


_of_kernel: frozenset[tuple[str, ...]] = frozenset()


class _KernelsHandler(logging.Handler):
    """Is installed in a worker where the kernel has handlers: `basicConfig` sees that there are some.

    It tells the records of processes that a task has forked, which reach no other handler. Else it is called only in a
    process of another owner, too, for records of no task, and does as if it was not there.
    """

    def emit(self, record: logging.LogRecord) -> None:
        last = logging.lastResort
        try:
            if _forked:
                sys.stderr.write(self.format(record) + "\n")
            elif last is not None and record.levelno >= last.level and _first_of(record) is self:
                last.handle(record)
        except Exception:
            self.handleError(record)


_forked = False


def leave_worker() -> None:
    """Note that this is a child that a task has forked."""
    global _forked
    _forked = True


def _first_of(record: logging.LogRecord) -> logging.Handler | None:
    """Return a record's first handler, if all of them are stand-ins."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    found: list[logging.Handler] = []
    while logger is not None:
        found += logger.handlers
        logger = logger.parent if logger.propagate else None
    return found[0] if found and all(type(each) is _KernelsHandler for each in found) else None


_stand_ins: dict[str, _KernelsHandler] = {}  # by logger


def _stand_in(wanted: frozenset[tuple[str, ...]]) -> None:
    global _of_kernel
    _of_kernel = wanted
    names = {each[0] for each in wanted}
    for name in _stand_ins.keys() - names:
        logging.getLogger(name).removeHandler(_stand_ins.pop(name))
    for name in names - _stand_ins.keys():
        made = _stand_ins[name] = _KernelsHandler()
        made.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logging.getLogger(name).addHandler(made)


def is_kernels(logger: str, handler: logging.Handler) -> bool:
    """Whether it replaces one of the kernel's, or the kernel has the same."""
    return type(handler) is _KernelsHandler or _mark(logger, handler) in _of_kernel


def _mark(logger: str, handler: logging.Handler) -> tuple[str, ...]:
    kind = type(handler)
    target = getattr(handler, "baseFilename", None)
    if target is None:
        target = str(getattr(getattr(handler, "stream", None), "name", "")).strip("<>")
    return logger, f"{kind.__module__}.{kind.__qualname__}", target


class OwnReporting(NamedTuple):
    """How a process reports by itself."""

    filters: list[Any]
    applied: list[Any]  # what was applied here by then
    levels: dict[str, int]
    disabled: int


def own() -> OwnReporting:
    """Note how this process reports, for `restore`."""
    return OwnReporting(list(warnings.filters), _applied, dict(read().levels), logging.root.manager.disable)


def restore(found: OwnReporting, loggers: Iterable[str]) -> None:
    """Undo what was applied since `own`. ``loggers``: those whose levels were changed. Filters that others have added
    meanwhile stay.
    """
    global _applied
    if _applied is not found.applied:
        others = [each for each in warnings.filters if each not in _applied and each not in found.filters]
        _applied = found.filters
        warnings.resetwarnings()
        warnings.filters[:] = [*others, *found.filters]  # type: ignore[index]
    for name in loggers:
        logger, level = logging.getLogger(name or None), found.levels.get(name, logging.NOTSET)
        if logger.level != level:
            logger.setLevel(level)
    if logging.root.manager.disable != found.disabled:
        logging.disable(found.disabled)
    _stand_in(frozenset())


def _apply_filters(filters: tuple[Filter, ...]) -> None:
    """The kernel's filters, before those that this process has of its own (an imported package's, a task's)."""
    global _applied
    own = [each for each in warnings.filters if each not in _applied]
    _applied = [(f.action, f.message, _category(f), f.where, f.line) for f in filters]
    warnings.resetwarnings()  # has warnings told once looked at anew, too
    warnings.filters[:] = [*_applied, *own]  # type: ignore[index]


def _category(wanted: Filter) -> type:
    found = getattr(sys.modules.get(wanted.module), wanted.name, None)
    if wanted.module == "builtins" and isinstance(found, type):
        return found
    return _Named(wanted.name, (Warning,), {"module": wanted.module, "name": wanted.name})


def _filter(action: str, message: Any, category: Any, where: Any, line: int) -> Filter:
    return Filter(action, message, category.__module__, category.__qualname__, where, line)
