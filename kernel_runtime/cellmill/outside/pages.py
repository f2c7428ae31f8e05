"""Reading the shared page of a scheduler in another process (csched_outside.h)."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _csched
from ..errors import CellmillError

__all__ = ["Command", "Page", "Refused"]

_lib, _ffi = _csched.lib, _csched.ffi
_JOURNEY = struct.Struct("=QIIIHBB8QfI")
_NO_WORKER = 2**16 - 1
_NO_RUN = 2**32 - 1
_STEP = 0.002  # seconds between two looks at an answer
_STATES = ("", "starting", "idle", "lost")
STATUSES = ("done", "done", "failed", "lost", "cancelled", "dependency", "timeout", "failed", "retried")
STAGES = ("submitted", "ready", "dispatched", "received", "started", "finished", "returned", "resolved")


class Command:
    """Numbers of the commands."""

    PAUSE = _lib.CSCHED_DO_PAUSE
    RESUME = _lib.CSCHED_DO_RESUME
    CANCEL_RUN = _lib.CSCHED_DO_CANCEL_RUN
    CANCEL_ALL = _lib.CSCHED_DO_CANCEL_ALL


class Refused(CellmillError):
    """A command came to nothing."""


class Page:
    """The page of one scheduler. For one thread."""

    def __init__(self, descriptor: int) -> None:
        out = _ffi.new("csched_outside_t **")
        if _lib.csched_outside_attach(descriptor, out) < 0:
            raise CellmillError("the kernel's shared memory is of another version of Cellmill")
        self._page = out[0]
        self._figures = _ffi.new("csched_overview_t *")
        self._text = _ffi.new("char[]", _lib.CSCHED_OUTSIDE_TEXT)
        self._told: dict[str, Any] = {}
        self.filled = self.ended = False

    def close(self) -> None:
        """Unmap it; it is not used any more."""
        _lib.csched_outside_detach(self._page)

    def ask(self) -> None:
        """Ask for new figures."""
        _lib.csched_outside_ask(self._page)

    def look(self) -> bool:
        """Whether the figures that were asked for are here, or will not come."""
        found = _lib.csched_outside_read(self._page, self._figures)
        self.ended = self.ended or found == _lib.CSCHED_ESTOPPED
        self.filled = self.filled or found == 1
        return self.ended or found == 1

    @property
    def told(self) -> dict[str, Any]:
        """What the kernel told in words, when it was last free to."""
        size = _lib.csched_outside_text(self._page, self._text)
        if size > 0:
            self._told = json.loads(_ffi.buffer(self._text, size)[:])
        return self._told

    def command(self, what: int, run: int = 0, opened: int = 0, patience: float = 0.3) -> int:
        """Have the scheduler do this; the number of cancelled tasks. Raises `Refused`."""
        given = _lib.csched_outside_command(self._page, what, run, opened)
        if given < 0:
            raise Refused("the kernel has not yet done what it was told before: it is stopped, or very busy")
        count, until = _ffi.new("uint32_t *"), time.monotonic() + patience
        while not (done := _lib.csched_outside_answer(self._page, count)):
            if self.ended or time.monotonic() > until:
                raise Refused(
                    "the kernel does not hear: it is stopped, or very busy; it does this when it goes on"
                )
            time.sleep(_STEP)
        if done == _lib.CSCHED_ESTALE:
            raise Refused("that run is over")
        if done < 0:
            raise Refused("the kernel could not do this")
        return int(count[0])

    # -- figures as plain data

    @property
    def at(self) -> int:
        """When the figures were taken, in monotonic nanoseconds."""
        return int(self._figures.at)

    def figures(self) -> dict[str, Any]:
        """Return the counts of all tasks."""
        f = self._figures
        s = f.stats
        over = s.succeeded + s.failed + s.cancelled
        return {
            "paused": bool(f.paused),
            "workers": s.ready_workers,
            "submitted": s.submitted,
            "waiting": s.waiting,
            "queued": max(0, s.submitted - over - s.running - s.waiting),
            "running": s.running,
            "succeeded": s.succeeded,
            "failed": s.failed,
            "lost": s.lost,
            "cancelled": s.cancelled,
            "stopping": s.stopping,
            "worker_seconds": f.spent / 1e9,
            "memory": s.arena_used,
            "journeys": s.journeys,
        }

    def runs(self) -> Iterator[dict[str, Any]]:
        """Yield the open runs, by their number in the scheduler."""
        for row in self._figures.runs[0 : self._figures.run_count]:
            c = row.counts
            yield {
                "key": row.run,
                "opened": row.opened,
                "running": row.running,
                "submitted": c.submitted,
                "succeeded": c.succeeded,
                "failed": c.failed,
                "cancelled": c.cancelled,
                "lost": c.lost,
            }

    def workers(self) -> Iterator[dict[str, Any]]:
        """Yield the workers that there are."""
        f = self._figures
        for index, info in enumerate(f.workers[0 : f.worker_count]):
            if not info.state:
                continue
            busy = bool(info.ticket) and info.state == 2
            yield {
                "worker": index,
                "state": "stopping" if info.stopping else "busy" if busy else _STATES[info.state],
                "held": info.held,
                "finished": info.finished,
                "ticket": info.ticket if busy else 0,
                "function": info.function if busy else 0,
                "key": info.run if busy and info.run != _NO_RUN else None,
                "seconds": max(0, f.at - info.since) / 1e9 if busy else None,
            }

    def journeys(self, name: Callable[[int, int, int], str], most: int) -> Sequence[dict[str, Any]]:
        """Return the stamps of the tasks that ended last, oldest first; ``name`` of a function, run, and time of
        submission.
        """
        count = self._figures.journey_count
        taken = min(count, most)
        data = memoryview(_ffi.buffer(self._figures.journeys))[: count * _JOURNEY.size]
        rows = _JOURNEY.iter_unpack(data[(count - taken) * _JOURNEY.size :])
        return [_journey(row, name) for row in rows]


def _journey(row: tuple[Any, ...], name: Callable[[int, int, int], str]) -> dict[str, Any]:
    ticket, run, function, element, worker, status, attempt, *stamps, _, _ = row
    return {
        "task": ticket >> 32,
        "function": name(function, run, stamps[0]),
        "element": element,
        "worker": None if worker == _NO_WORKER else worker,
        "status": STATUSES[status] if status < len(STATUSES) else "?",
        "attempt": attempt,
        **{stage: stamp or None for stage, stamp in zip(STAGES, stamps, strict=True)},
    }
