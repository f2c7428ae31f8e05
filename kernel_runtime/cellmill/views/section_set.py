"""The sections of one publisher: of all tasks, and of single runs that views look at by themselves."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping

from cellmill.errors import UsageError
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.telemetry.progress import ProgressFold
from cellmill.views.pace import INTERVAL
from cellmill.views.scope import scope_of
from cellmill.views.sections import SCOPED, SECTIONS, FollowsWork, Section, SectionOfWork
from cellmill.views.subscribers import Wish

MOST_RUNS = 8  # that the views of one publisher look at by themselves: each costs as much as the whole
NEVER = float("-inf")


def wishes_of(command: Mapping[str, object]) -> frozenset[Wish]:
    """Return what a ``watch`` command asks for; unknown sections are left out."""
    sections, scopes = command.get("sections", ()), command.get("scopes", ())
    wanted: set[Wish] = {(name, None) for name in _names(sections) if name in SECTIONS}
    for scope in scopes if isinstance(scopes, list) else ():
        run = scope.get("run")
        if type(run) is int:
            wanted |= {(name, run) for name in _names(scope.get("sections", ())) if name in SCOPED}
    return frozenset(wanted)


def _names(sections: object) -> list[str]:
    return [str(name) for name in sections] if isinstance(sections, (list, tuple)) else []


def check(wishes: Iterable[Wish]) -> None:
    """Raise `UsageError` where these are of more runs than can be told at once."""
    runs = {run for _, run in wishes if run is not None}
    if len(runs) > MOST_RUNS:
        raise UsageError(
            f"the views of this kernel show {MOST_RUNS} single runs already, which is the most: choose all tasks in one"
        )


class SectionSet:
    """Makes frames of what is wanted, each section at its own pace. Its methods may be called from any thread."""

    def __init__(self, fold: ProgressFold) -> None:
        self._fold = fold
        self._lock = threading.Lock()
        self._made: dict[Wish, Section] = {}
        self._sent: dict[Wish, float] = {}

    def restart(self, wishes: Iterable[Wish]) -> None:
        """The next frames of these tell everything anew, at once."""
        with self._lock:
            for wish in wishes:
                self._sent.pop(wish, None)
                if wish in self._made:
                    self._made[wish].restart()

    def hurry(self) -> None:
        """Let every section be due now."""
        with self._lock:
            self._sent.clear()

    def frames(
        self, wanted: frozenset[Wish], executor: Executor, pace: float
    ) -> Iterator[tuple[str, schema.Frame]]:
        """Yield the frames that are due, each with its section's name; ``pace``: seconds between two, at least."""
        now = time.monotonic()
        with self._lock:
            for wish in [wish for wish in self._made if wish[1] is not None and wish not in wanted]:
                del self._made[wish]
            for wish in wanted:
                section = self._section(wish, executor)
                if section is None:
                    continue
                least = max(section.interval, pace)
                if now - self._sent.get(wish, NEVER) < least - INTERVAL / 2:  # a look may come a little early
                    continue
                self._sent[wish] = now
                if isinstance(section, SectionOfWork):
                    section.begin(self._fold.work)
                frame = section.frame(executor)
                if frame is not None:
                    yield wish[0], frame

    def _section(self, wish: Wish, executor: Executor) -> Section | None:
        """Return a section; None where a run's records are gone, so that nothing more is told of it."""
        name, run = wish
        scope = None if run is None else scope_of(executor, run)
        if run is not None and scope is None:
            return None
        if wish not in self._made:
            made = SECTIONS[name]() if scope is None else SCOPED[name](scope)
            if isinstance(made, FollowsWork):
                made.follow(lambda: self._fold.bounds)
            self._made[wish] = made
        return self._made[wish]
