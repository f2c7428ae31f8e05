"""Sections: what views may ask for beside the counters, each sent at its own pace while some view shows it.

A section is a class of its own here, and a line in `SECTIONS`. It is made once per kernel and asked for frames from
one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from cellmill.executor import Executor
from cellmill.telemetry import schema

from ..scope import Scope
from .graph import GraphSection
from .journey import JourneySection
from .output import OutputSection
from .profile import ProfileSection
from .runs import CountersSection, RunsSection
from .state_map import StateMapSection
from .tasks import RecordsSection, TasksSection
from .timeline import TimelineSection
from .usage import UsageSection
from .workers import WorkersSection


class Section(Protocol):
    """Makes one kind of frame, or several that belong together."""

    interval: float  # seconds between frames, at least

    def restart(self) -> None:
        """A view joined: the next frames tell everything anew."""

    def frame(self, executor: Executor) -> schema.Frame | None:
        """The present state, or what changed since the last frame; None when nothing did."""


@runtime_checkable
class SectionOfWork(Section, Protocol):
    """A section that tells of the present piece of work alone."""

    def begin(self, work: tuple[int, float]) -> None:
        """Before each frame: the work's number, and a moment before its first task in monotonic seconds."""


@runtime_checkable
class FollowsWork(Protocol):
    """A section that shows the present piece of work alone, and asks for its bounds when it likes."""

    def follow(self, bounds: Callable[[], tuple[int, int, int]]) -> None:
        """Called once; ``bounds`` are `ProgressFold.bounds` at any moment."""


SECTIONS: dict[str, Callable[[], Section]] = {
    "state-map": StateMapSection,
    "journey": JourneySection,
    "profile": ProfileSection,
    "timeline": TimelineSection,
    "usage": UsageSection,
    "workers": WorkersSection,
    "output": OutputSection,
    "runs": RunsSection,
    "graph": GraphSection,
    "task-list": TasksSection,
    "task-records": RecordsSection,
}

SCOPED: dict[str, Callable[[Scope], Section]] = {
    "counters": CountersSection,
    "state-map": StateMapSection,
    "journey": JourneySection,
    "timeline": TimelineSection,
    "usage": UsageSection,
    "graph": GraphSection,
    "output": OutputSection,
}
"""Sections that views may ask for of one run."""

FOR_RECORDINGS = frozenset({"task-list", "task-records"})
"""Sections that no view is sent: views ask."""
