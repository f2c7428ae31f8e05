"""Process context of tasks on a remote worker: the caller's directory, environment, path, settings, filters and levels.

A remote worker is a process of the cluster's, in which others work as well. So the caller's context is put in force
before its tasks run and taken out after them (see `turns`); what these change of it is theirs, and comes again. Only
what has changed at the caller since the lanes were opened is applied. Entries of the caller's path are added where they
exist; so is its directory.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from ....by_value.unsettled import at_one_moment
from ....process_context import settings
from ....process_context.context import ProcessContext, adopt
from ....process_context.settings import Settings
from . import home


class ProcessState(NamedTuple):
    """The directory, environment and path of a process."""

    directory: str
    environment: dict[str, str]
    path: list[str]

    @classmethod
    def now(cls) -> Self:
        """Return that of this process."""
        try:
            directory = os.getcwd()
        except FileNotFoundError:
            directory = ""
        return cls(directory, dict(os.environ), list(sys.path))

    def restore(self, now: ProcessState) -> None:
        """Put it in force again. ``now``: what is in force."""
        if self.directory and self.directory != now.directory:
            with contextlib.suppress(OSError):
                os.chdir(self.directory)
        if self.environment != now.environment:
            for name in now.environment.keys() - self.environment.keys():
                os.environ.pop(name, None)
            for name, value in self.environment.items():
                if now.environment.get(name) != value:
                    os.environ[name] = value
        if self.path != now.path:
            sys.path[:] = self.path
        if self.directory != now.directory:
            for entry in self.path:  # finders of relative ones remember where they are
                if entry and not os.path.isabs(entry):
                    sys.path_importer_cache.pop(entry, None)


class State:
    """What a caller's tasks find in the process: one for all lanes here whose caller has the same context."""

    def __init__(
        self, owner: bytes, context: ProcessContext, base: ProcessContext, before: State | None
    ) -> None:
        """``base``: the caller's context when its backend began; ``before``: which this one follows."""
        self.owner = owner
        self.context = context
        self.base = base
        self.reporting, self.unchanged = context.reporting, base.reporting
        self.lanes = 0
        self._before = before
        self._changes = None if before else _changes(context, base)
        self._begun: ProcessState | None = None  # as its first task found it
        self._inside: ProcessState | None = None  # as its tasks left it; None: there were none
        self._outside: ProcessState | None = None  # as others have it, while this is in force
        self._undo: list[Callable[[], Any]] = []
        self._found = Settings()

    def agrees(self, other: State) -> bool:
        """Whether tasks of both find the same."""
        if self is other:
            return True
        if (self.reporting, self.context.settings) != (other.reporting, other.context.settings):
            return False
        here, there = self._like(other), other._like(self)
        return here is not None and here == there

    def _like(self, other: State) -> ProcessState | None:
        """Return what tasks would find now; of one that has had none, what the other's found if it needs the same."""
        if self._outside is not None:
            return ProcessState.now()
        if self._inside is None and self._changes is not None and self._changes == other._changes:
            return other._begun
        return self._inside

    def put_in(self, found: Settings) -> None:
        """Put it in force. ``found``: the settings of the process."""
        self._outside = outside = ProcessState.now()
        if self._inside is None:
            self._begin(outside)
            self._begun = ProcessState.now()
        else:
            self._inside.restore(outside)
        home.report_as(self)
        self._undo = settings.put_shared(self.context.settings, found)

    def take_out(self, alone: bool) -> None:
        """Have the process be as others have it. Entries of the path that came meanwhile stay there as well: modules
        may be from there. ``alone``: what has changed is this caller's doing.
        """
        for undo in reversed(self._undo):
            undo()
        now, outside = ProcessState.now(), self._outside
        if outside is not None:
            mine = now.path if self._inside is None else self._inside.path
            if alone or self._inside is None:
                self._inside = now
            others = [e for e in now.path if e not in mine and e not in outside.path]
            outside._replace(path=outside.path + others).restore(now)
        self._outside = None

    def _begin(self, outside: ProcessState) -> None:
        context, before, self._before = self.context, self._before, None
        if before is not None and before._inside is not None:
            was = before.context
            before._inside.restore(outside)
            if context.path != was.path:
                gone, kept = set(was.path) - set(context.path), set(context.path)
                sys.path[:] = [*context.path, *(e for e in sys.path if e not in kept and e not in gone)]
        else:
            was = self.base._replace(directory="")
            here = set(outside.path)
            sys.path += [e for e in context.path if e not in here and (not e or os.path.exists(e))]
        at_one_moment(importlib.invalidate_caches)  # another thread may import
        known: dict[str, Any] = {"path": [], "reporting": self.reporting, "settings": Settings()}
        adopt(context._replace(**known), was._replace(**known))


def _changes(context: ProcessContext, base: ProcessContext) -> tuple[Any, ...]:
    """Return what a caller's context has a process changed to."""
    now, before = context.variables(), base.variables()
    names = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    return context.directory, [(name, now.get(name)) for name in names], context.path


class RemoteContext:
    """Process context of one lane."""

    def __init__(self) -> None:
        self.state: State | None = None  # None: the caller is this process
        self.own_process = True  # the caller's is another one
        self.found = Settings()
        self._settings = Settings()
        self._undo: list[Callable[[], Any]] = []

    def settle_in(self, token: bytes, context: ProcessContext, base: ProcessContext | None) -> None:
        """Hear of the caller's context for the first time. ``base``: the caller's context when its backend began; None
        where this process is the caller's own.
        """
        self.own_process = base is not None
        self.found, self._settings = settings.read(), context.settings
        if base is not None:
            self.found = settings.with_shared(self.found, home.enter(self).settings)
            self._have(_state(token, context, base, None))

    def adopt(self, context: ProcessContext) -> None:
        """Hear of changes; between packs."""
        self._settings = context.settings
        if self.state is not None:
            self._have(_state(self.state.owner, context, self.state.base, self.state))

    def _have(self, state: State | None) -> None:
        with _lock:
            before, self.state = self.state, state
            if state is not None:
                state.lanes += 1
            if before is not None:
                before.lanes -= 1
                if not before.lanes:
                    _states.remove(before)

    def begin_pack(self) -> None:
        """The caller's settings hold in this thread until `end_pack`."""
        self._undo = settings.put(self._settings, self.found, own_process=False)

    def end_pack(self) -> None:
        """Undo the settings that `begin_pack` made."""
        undo, self._undo = self._undo, []
        for each in reversed(undo):
            each()

    def leave(self) -> None:
        """The caller has gone."""
        self._have(None)
        home.leave(self)


_states: list[State] = []  # that lanes have
_lock = threading.Lock()


def _state(owner: bytes, context: ProcessContext, base: ProcessContext, before: State | None) -> State:
    with _lock:
        for state in _states:
            if state.owner == owner and state.context == context:
                return state
        _states.append(made := State(owner, context, base, before))
        return made
