"""How warnings and log records are reported: read in the kernel, applied in workers.

A category of a filter travels by its name, because it may be a class of a cell or of a module that a worker has not
imported yet. Of log handlers those travel that write to a standard stream: without one, a level shows nothing.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any, NamedTuple

_MARK = (
    object()
)  # a level that nobody asks for, in the root logger's cache, which every change of a level clears
_STREAMS = {"stdout": "stdout", "<stdout>": "stdout", "stderr": "stderr", "<stderr>": "stderr"}


class Filter(NamedTuple):
    """One of `warnings.filters`; ``module`` and ``name`` are those of its category."""

    action: str
    message: Any
    module: str
    name: str
    where: Any
    line: int


class Handler(NamedTuple):
    """A handler that writes to a standard stream."""

    logger: str
    stream: str
    level: int
    form: str
    dates: str | None
    style: str


class Reporting(NamedTuple):
    """What of it tasks must see."""

    filters: tuple[Filter, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()
    disabled: int = 0
    handlers: tuple[Handler, ...] = ()


def read() -> Reporting:
    """As it is in this process."""
    filters = tuple(_filter(*each) for each in list(warnings.filters) if isinstance(each[2], type))
    named = {"": logging.root, **logging.root.manager.loggerDict}
    loggers = {name: found for name, found in named.items() if isinstance(found, logging.Logger)}
    levels = tuple((name, found.level) for name, found in loggers.items() if found.level or not name)
    handlers = (_handler(name, each) for name, found in loggers.items() for each in list(found.handlers))
    disabled = logging.root.manager.disable
    return Reporting(filters, levels, disabled, tuple(each for each in handlers if each is not None))


class ReportingWatch:
    """Notices at a glance (0.2 us) that something may have changed since the last look.

    Filters by the list, its length and its first entry, which is where new ones go; levels by a mark in the cache that
    every change of one clears. Handlers of other loggers than the root, and formats, are seen in the next cell.
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

    def touched(self) -> bool:
        """At a glance; the same in C is `reporting_changed` of csched/python/submit.c."""
        filters = warnings.filters
        return (
            filters is not self.filters
            or len(filters) != self.filter_count
            or (self.filter_count > 0 and filters[0] is not self.first)
            or cache().get(_MARK) is not self.mark
            or len(logging.root.handlers) != self.handler_count
        )

    def look(self) -> Reporting:
        """As it is now: read anew when something was touched, and once in each cell."""
        if self._last is not None and not self._closely and not self.touched():
            return self._last
        self._closely = False
        self.mark = cache().setdefault(_MARK, object())  # before the look: what changes after it is noticed
        self.filters = warnings.filters
        self.filter_count = len(self.filters)
        self.first = self.filters[0] if self.filters else None
        self.handler_count = len(logging.root.handlers)
        self._last = read()
        return self._last

    def parts(self) -> dict[str, Any]:
        """What the glance in C looks at, and what it saw last."""
        return {
            "warnings": vars(warnings),
            "filters": self.filters,
            "first_filter": self.first,
            "log_cache": cache(),
            "log_key": _MARK,
            "log_mark": self.mark,
            "log_handlers": logging.root.handlers,
        }


def cache() -> dict[Any, Any]:
    """Of the root logger: by level, whether it is enabled."""
    found: dict[Any, Any] = logging.root._cache  # type: ignore[attr-defined]
    return found


class _Named(type):
    """A category known by name: what it stands for may come later, or be made anew by a cell."""

    module: str
    name: str

    def __subclasscheck__(cls, other: type) -> bool:
        return any(each.__module__ == cls.module and each.__qualname__ == cls.name for each in other.__mro__)


_applied: list[Any] = list(warnings.filters)  # what this module knows of; all others are the process's own


def apply(now: Reporting, before: Reporting) -> None:
    """Make this process report so; only what changed is applied: what a task set for itself stays."""
    if now.filters != before.filters:
        _apply_filters(now.filters)
    levels, old = dict(now.levels), dict(before.levels)
    for name in old.keys() - levels.keys():
        logging.getLogger(name).setLevel(logging.NOTSET)
    for name, level in levels.items():
        if old.get(name) != level:
            logging.getLogger(name).setLevel(level)
    if now.disabled != before.disabled:
        logging.disable(now.disabled)
    for name in {each.logger for each in {*now.handlers, *before.handlers}}:
        wanted, had = ([h for h in each.handlers if h.logger == name] for each in (now, before))
        if wanted != had:
            _replace(logging.getLogger(name), wanted)


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


def _replace(logger: logging.Logger, wanted: list[Handler]) -> None:
    for old in list(logger.handlers):
        if isinstance(old, _Here):
            logger.removeHandler(old)
    for each in wanted:
        made = _Here(each.stream)
        made.setLevel(each.level)
        made.setFormatter(logging.Formatter(each.form, each.dates, each.style))  # type: ignore[arg-type]
        logger.addHandler(made)


class _Here(logging.StreamHandler[Any]):
    """Writes to what the stream is at the moment, as a task may have redirected it."""

    def __init__(self, stream: str) -> None:
        self._name_of_stream = stream
        super().__init__(getattr(sys, stream))

    @property
    def stream(self) -> Any:
        return getattr(sys, self._name_of_stream)

    @stream.setter
    def stream(self, value: Any) -> None:
        """It follows the name."""


def _filter(action: str, message: Any, category: Any, where: Any, line: int) -> Filter:
    return Filter(action, message, category.__module__, category.__qualname__, where, line)


def _handler(logger: str, handler: logging.Handler) -> Handler | None:
    if not isinstance(handler, logging.StreamHandler) or isinstance(handler, logging.FileHandler):
        return None
    stream = _standard(handler.stream)
    if stream is None:
        return None
    form = handler.formatter or logging.Formatter()
    kind: Any = type(form._style)
    style = next((key for key, (known, _) in logging._STYLES.items() if known is kind), "%")
    return Handler(logger, stream, handler.level, form._fmt or "%(message)s", form.datefmt, style)


def _standard(stream: Any) -> str | None:
    """Which of the standard streams, also when another stands in its place just now."""
    for name in ("stdout", "stderr"):
        if stream is getattr(sys, name):
            return name
    name_of_stream = getattr(stream, "name", None)
    return _STREAMS.get(name_of_stream) if isinstance(name_of_stream, str) else None
