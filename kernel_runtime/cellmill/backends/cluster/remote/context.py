"""Process context of tasks on a remote worker: the caller's directory, environment, path, filters and levels.

A remote worker is a process of the cluster's. Only what has changed at the caller since the lanes were opened is
applied, and taken back when the caller leaves. Entries of the caller's path are added where they exist; so is its
directory.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from ....process_context import reporting, settings
from ....process_context.context import ProcessContext, adopt
from ....process_context.reporting import Reporting
from ....process_context.settings import Settings


class RemoteContext:
    """Process context of one lane."""

    def __init__(self) -> None:
        self._before: ProcessContext | None = None  # what was adopted last
        self._home: tuple[str, dict[str, str], list[str], Any] | None = None
        self.own_process = True  # the caller's is another one
        self._settings = self._found = Settings()
        self._undo: list[Callable[[], Any]] | None = None  # of the settings; None: no pack runs

    def settle_in(self, context: ProcessContext, base: ProcessContext | None) -> None:
        """Adopt the caller's context for the first time. ``base``: the caller's context when its backend began; None
        where this process is the caller's own.
        """
        self._home = (_directory(), dict(os.environ), list(sys.path), reporting.read())
        self.own_process = base is not None
        self._found, self._settings = settings.read(), context.settings
        context = context._replace(settings=Settings())
        if base is None:
            report = context.reporting._replace(handlers=frozenset())
            context = context._replace(reporting=report)
            adopt(context, ProcessContext("", dict(os.environ), [], reporting.read()))
        else:
            mine = list(sys.path)
            added = [
                entry for entry in context.path if entry not in mine and (not entry or os.path.exists(entry))
            ]
            known = base._replace(path=mine, directory="", settings=Settings())
            theirs = _levels_to_leave(context.reporting, self._home[3])
            adopt(
                context._replace(path=mine + added),
                known._replace(reporting=base.reporting._replace(levels=theirs)),
            )
        self._before = context

    def adopt(self, context: ProcessContext) -> None:
        """Apply the changes since the last call."""
        if self._before is None:
            return
        self._settings, context = context.settings, context._replace(settings=Settings())
        if not self.own_process:
            context = context._replace(reporting=self._before.reporting)  # it is so already
        if self._undo is not None:
            self.end_pack()
            self.begin_pack()
        before, self._before = self._before, context
        if context.path != before.path:
            gone, kept = set(before.path) - set(context.path), set(context.path)
            path = [*context.path, *(entry for entry in sys.path if entry not in kept and entry not in gone)]
            sys.path[:] = path
            importlib.invalidate_caches()
        adopt(context._replace(path=before.path), before)

    def begin_pack(self) -> None:
        """The caller's settings hold in this thread until `end_pack`."""
        self._undo = settings.put(self._settings, self._found, self.own_process)

    def end_pack(self) -> None:
        """Undo the settings that `begin_pack` made."""
        undo, self._undo = self._undo or [], None
        for each in reversed(undo):
            each()

    def leave(self) -> None:
        """Restore the process as it was before `settle_in`."""
        if self._home is None:
            return
        directory, environment, path, report = self._home
        self._home = None
        with contextlib.suppress(OSError):
            os.chdir(directory)
        now = self._before
        if now is not None:
            adopt(
                ProcessContext(directory, environment, path, report._replace(handlers=frozenset())),
                ProcessContext(directory, dict(os.environ), [], now.reporting),
            )


def _levels_to_leave(wanted: Reporting, here: Reporting) -> tuple[tuple[str, int], ...]:
    """Return those of the caller's log levels whose loggers have a level here already (most likely the engine's), but
    for the root's.
    """
    own = {name for name, _ in here.levels if name}
    return tuple(level for level in wanted.levels if level[0] in own)


def _directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
