"""How a remote worker's process reported before the first lane came, and does while callers are there.

Filters of warnings and levels of loggers stay as the latest caller has them until another one's tasks run, or the last
caller leaves: Python forgets which warnings it has shown whenever its filters change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ....process_context import reporting, settings
from ....process_context.reporting import OwnReporting, Reporting
from ....process_context.settings import Settings


class Found(NamedTuple):
    """What the process was like."""

    report: OwnReporting
    settings: Settings  # with those of the thread that looked


class Reporter(Protocol):
    """A caller, as far as reporting goes. ``unchanged``: what it had when its backend began."""

    owner: bytes
    reporting: Reporting
    unchanged: Reporting


_lock = threading.RLock()
_guests: set[int] = set()  # by the id of each lane's context
_found: Found | None = None
_loggers: set[str] = set()  # that had a level adopted
_latest: Reporter | None = None


def enter(guest: object) -> Found:
    """Return what the process was like before the first of the guests that are there."""
    global _found
    with _lock:
        if _found is None:
            _found = Found(reporting.own(), settings.read())
        _guests.add(id(guest))
        return _found


def report_as(caller: Reporter) -> None:
    """Have the process report as this caller does."""
    global _latest
    with _lock:
        before, now = _latest, caller.reporting
        if _found is None or (before is not None and before.reporting == now):
            return
        if before is not None and before.owner == caller.owner:
            reporting.apply(now, before.reporting)
        else:
            if before is not None:
                reporting.restore(_found.report, _loggers)
            levels = _levels_to_leave(now, _found.report.levels)
            reporting.apply(now, caller.unchanged._replace(levels=levels))
        _loggers.update(name for name, _ in now.levels)
        _latest = caller


def leave(guest: object) -> None:
    """The last one restores everything."""
    global _found, _latest
    with _lock:
        _guests.discard(id(guest))
        if _guests or _found is None:
            return
        found, _found, _latest = _found, None, None
        reporting.restore(found.report, _loggers)
        settings.restore(found.settings)
        _loggers.clear()


def _levels_to_leave(wanted: Reporting, here: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return those of the caller's log levels whose loggers have a level here already (most likely the engine's), but
    for the root's.
    """
    own = {name for name in here if name}
    return tuple(level for level in wanted.levels if level[0] in own)
