"""Process context of tasks on a remote worker: the caller's directory, environment, path, filters and levels.

A remote worker is a process of the cluster's. Only what has changed at the caller since the lanes were opened is
applied, and taken back when the caller leaves. Entries of the caller's path are added where they exist; so is its
directory.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from ....process_context import settings
from ....process_context.context import ProcessContext, adopt
from ....process_context.reporting import Reporting
from ....process_context.settings import Settings
from . import home


class RemoteContext:
    """Process context of one lane."""

    def __init__(self) -> None:
        self._before: ProcessContext | None = None  # what was adopted last
        self.own_process = True  # the caller's is another one
        self._settings = self._found = Settings()
        self._undo: list[Callable[[], Any]] | None = None  # of the settings; None: no pack runs

    def settle_in(self, context: ProcessContext, base: ProcessContext | None) -> None:
        """Adopt the caller's context for the first time. ``base``: the caller's context when its backend began; None
        where this process is the caller's own.
        """
        self.own_process = base is not None
        self._found, self._settings = settings.read(), context.settings
        if base is None:
            return
        found = home.enter(self)
        # tasks of another lane may have put theirs in force just now
        self._found = settings.with_shared(self._found, found.settings)
        context = context._replace(settings=Settings())
        home.adopted(context)
        mine = list(sys.path)
        added = [
            entry for entry in context.path if entry not in mine and (not entry or os.path.exists(entry))
        ]
        known = base._replace(path=mine, directory="", settings=Settings())
        theirs = _levels_to_leave(context.reporting, found.report.levels)
        adopt(
            context._replace(path=mine + added),
            known._replace(reporting=base.reporting._replace(levels=theirs)),
        )
        self._before = context

    def adopt(self, context: ProcessContext) -> None:
        """Apply the changes since the last call."""
        self._settings, context = context.settings, context._replace(settings=Settings())
        if self._undo is not None:
            self.end_pack()
            self.begin_pack()
        if self._before is None:
            return
        home.adopted(context)
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
        """Restore the process as it was before `settle_in`, once no other lane is there."""
        self._before = None
        home.leave(self)


def _levels_to_leave(wanted: Reporting, here: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return those of the caller's log levels whose loggers have a level here already (most likely the engine's), but
    for the root's.
    """
    own = {name for name in here if name}
    return tuple(level for level in wanted.levels if level[0] in own)
