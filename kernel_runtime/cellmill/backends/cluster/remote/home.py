"""The state of a remote worker's process before the first lane came, which the last one that leaves restores.

Several lanes, also of several kernels, may share a process: each changes the same directory, environment and so on, and
none of them can tell what the others found.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from typing import NamedTuple

from ....process_context import reporting, settings
from ....process_context.context import ProcessContext
from ....process_context.reporting import OwnReporting
from ....process_context.settings import Settings


class Found(NamedTuple):
    """What the process was like."""

    directory: str
    environment: dict[str, str]
    path: list[str]
    report: OwnReporting
    settings: Settings  # with those of the thread that looked


_lock = threading.RLock()
_guests: set[int] = set()  # by the id of each lane's context
_found: Found | None = None
_paths: set[str] = set()  # entries of the path that were adopted
_loggers: set[str] = set()  # that had a level adopted


def enter(guest: object) -> Found:
    """Return what the process was like before the first of the guests that are there."""
    global _found
    with _lock:
        if _found is None:
            _found = Found(_directory(), dict(os.environ), list(sys.path), reporting.own(), settings.read())
        _guests.add(id(guest))
        return _found


def adopted(context: ProcessContext) -> None:
    """Note what a guest changes."""
    with _lock:
        _paths.update(context.path)
        _loggers.update(name for name, _ in context.reporting.levels)


def leave(guest: object) -> None:
    """The last one restores everything. Entries of the path that no guest brought stay: modules of others are there."""
    global _found
    with _lock:
        _guests.discard(id(guest))
        if _guests or _found is None:
            return
        found, _found = _found, None
        with contextlib.suppress(OSError):
            os.chdir(found.directory)
        _restore_environment(found.environment)
        others = [entry for entry in sys.path if entry not in _paths and entry not in found.path]
        if sys.path != found.path + others:
            sys.path[:] = found.path + others
            importlib.invalidate_caches()
        reporting.restore(found.report, _loggers)
        settings.restore(found.settings)
        _paths.clear()
        _loggers.clear()


def _restore_environment(wanted: dict[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        os.environ.pop(name, None)
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
