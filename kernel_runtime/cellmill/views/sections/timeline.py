"""Sends what each worker did when."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.scope import Scope
from cellmill.views.sections.work_fold import Folded, WorkFold, functions_in, named

BYTES_PER_SECOND = 120_000  # after a frame with all spans the next one waits so long that this holds

WHOLE_EVERY = 50  # frames


class TimelineSection:
    """Spans of tasks by worker, five times a second: all at first, then what changed."""

    interval = 0.2

    def __init__(self, scope: Scope | None = None) -> None:
        self._run = None if scope is None else scope.run
        self._fold = WorkFold(None if scope is None else scope.key)
        self._work = (0, 0.0) if scope is None else (scope.run, scope.began)
        self._number = 0
        self._told: set[int] = set()  # functions whose names were sent
        self._place: tuple[int, int] | None = None  # work and generation of the spans sent last
        self._upto = 0  # the fold up to which spans were sent
        self._still: object = None  # what the last frame told, if nothing ran
        self._free_at = 0.0

    def begin(self, work: tuple[int, float]) -> None:
        if self._run is None:
            self._work = work

    def restart(self) -> None:
        self._place = None
        self._still = None
        self._told.clear()
        self._free_at = 0.0

    def frame(self, executor: Executor) -> schema.Timeline | None:
        folded = self._fold.look(executor, self._work)
        if folded is None:
            return self._unknown()
        if time.monotonic() < self._free_at:
            return None
        running = folded.timeline.running()
        state = folded.state
        workers = [info.index for info in executor.workers() if info.state != "lost"]
        still = (self._work, state.generation, state.tasks, state.dropped, workers)
        if not running and still == self._still:
            return None
        self._still = None if running else still
        frame = self.changes(folded, running, folded.function_names)
        frame["workers"] = workers
        self._free_at = time.monotonic() + (len(frame["spans"]) + len(running)) / BYTES_PER_SECOND
        return frame

    def changes(self, folded: Folded, running: bytes, names: Mapping[int, str]) -> schema.Timeline:
        """The frame with what changed since the last one."""
        state = folded.state
        place = (folded.work, int(state.generation))
        # all of them now and then: a page that missed a frame would wait for it for ever
        follows = self._number if place == self._place and self._number % WHOLE_EVERY else 0
        spans = folded.timeline.spans(self._upto if follows else None)
        self._place, self._upto = place, int(state.fold)
        self._number += 1
        fresh = (functions_in(spans) | functions_in(running)) - self._told
        self._told |= fresh
        return {
            "cellmill": schema.VERSION,
            "kind": "timeline",
            "run": self._run,
            "known": True,
            "work": folded.work,
            "number": self._number,
            "follows": follows,
            "now": state.now * 1e-9,
            "tasks": int(state.tasks),
            "sampled": int(state.sampled),
            "dropped": int(state.dropped),
            "threshold": state.threshold * 1e-9,
            "workers": [],
            "names": named(names, fresh),
            "spans": spans,
            "running": running,
        }

    def _unknown(self) -> schema.Timeline | None:
        """This backend keeps no journeys: said once."""
        if self._still == "unknown":
            return None
        self._still = "unknown"
        self._number += 1
        return {
            "cellmill": schema.VERSION,
            "kind": "timeline",
            "run": self._run,
            "known": False,
            "work": self._work[0],
            "number": self._number,
            "follows": 0,
            "now": time.monotonic(),
            "tasks": 0,
            "sampled": 0,
            "dropped": 0,
            "threshold": 0.0,
            "workers": [],
            "names": [],
            "spans": b"",
            "running": b"",
        }
