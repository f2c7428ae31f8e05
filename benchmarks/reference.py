"""The rules of the C scheduler in plain Python, for comparison: what would it cost without C?

It keeps what the C keeps and in the same order of steps: a record per task with ticket, state, counts and stamps; edges
to dependents; ready queues by priority; windows of the workers and a choice of the least loaded; results that are
drained in batches, with one look at the clock for a batch; the journeys of the last 262,144 tasks; counts per run. It
has no rings, no locks and no other processes: its zero worker is a call. Written as one would write it for speed, with
the usual means: slots, lists indexed by number, bound names in loops.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

WINDOW = 1024
JOURNEY_ROWS = 262_144
FREE, WAITING, QUEUED, SENT, DONE = range(5)
VALUE, NONE = 0, 1
PRIORITIES = 201

_NOW = time.monotonic_ns


class Task:
    """A record."""

    __slots__ = (
        "attempt",
        "dependents",
        "dispatched",
        "function",
        "inputs",
        "missing",
        "priority",
        "ready",
        "result",
        "row",
        "run",
        "slot",
        "state",
        "status",
        "submitted",
        "ticket",
        "worker",
    )
    worker: Worker  # these when it is sent and done
    dispatched: int
    result: Any
    status: int
    row: int

    def __init__(self, slot: int, ticket: int, function: int, run: int, priority: int, now: int) -> None:
        self.slot = slot
        self.ticket = ticket
        self.function = function
        self.run = run
        self.priority = priority
        self.attempt = 0
        self.state = QUEUED
        self.submitted = self.ready = now
        self.dependents: list[tuple[int, int]] | None = None
        self.inputs: list[Any] | None = None
        self.missing = 0


class Worker:
    """A worker as the scheduler sees it, and its two rings."""

    __slots__ = ("finished", "held", "results", "tasks")

    def __init__(self) -> None:
        self.held = self.finished = 0
        self.tasks: deque[tuple[int, int, int, Any]] = deque()
        self.results: deque[tuple[int, int, int, Any, int, int, int, int]] = deque()


class Scheduler:
    """Batches in, slots of finished tasks out, like csched_submit_many, csched_poll and csched_discard."""

    def __init__(self, slots: int, workers: int) -> None:
        self.tasks: list[Task | None] = [None] * slots
        self.workers = [Worker() for _ in range(workers)]
        self.ready: list[deque[Task]] = [deque() for _ in range(PRIORITIES)]
        self.ready_map = self.ready_count = self.waiting = 0
        self.completions: deque[Task] = deque()
        self.journey: list[Any] = [None] * JOURNEY_ROWS
        self.written = self.serial = 0
        self.runs: dict[int, list[int]] = {}

    def submit_many(
        self,
        slots: Sequence[int],
        inputs: Sequence[Sequence[int]] | None = None,
        function: int = 0,
        run: int = 0,
        priority: int = 0,
    ) -> list[int]:
        """Make the tasks; inputs are positions of earlier tasks of the batch. Their tickets."""
        tickets: list[int] = []
        for begin in range(0, len(slots), 256):
            now = _NOW()
            for slot in slots[begin : begin + 256]:
                if self.tasks[slot] is not None:
                    raise ValueError(f"slot {slot} is in use")
                self.serial += 1
                ticket = self.serial << 32 | slot
                task = Task(slot, ticket, function, run, priority + 100, now)
                self.tasks[slot] = task
                row = inputs[len(tickets)] if inputs else None
                tickets.append(ticket)
                if row and self._link(task, row, tickets):
                    task.state = WAITING
                    self.waiting += 1
                else:
                    self._push(task)
            counts = self.runs.setdefault(run, [0, 0, 0])
            counts[0] += min(256, len(slots) - begin)
            self.poll()
        return tickets

    def _link(self, task: Task, row: Sequence[int], tickets: list[int]) -> int:
        task.inputs = [None] * len(row)
        for position, earlier in enumerate(row):
            producer = self.tasks[tickets[earlier] & 0xFFFFFFFF]
            if producer is None or producer.ticket != tickets[earlier]:
                raise ValueError(f"input {position} was collected")
            if producer.state == DONE:
                task.inputs[position] = producer.result
                continue
            if producer.dependents is None:
                producer.dependents = []
            producer.dependents.append((task.ticket, position))
            task.missing += 1
        return task.missing

    def _push(self, task: Task) -> None:
        task.state = QUEUED
        self.ready[task.priority].append(task)
        self.ready_map |= 1 << task.priority
        self.ready_count += 1

    def _dispatch(self, now: int) -> None:
        workers = self.workers
        while self.ready_count:
            queue = self.ready[self.ready_map.bit_length() - 1]
            worker = min(workers, key=_load) if len(workers) > 1 else workers[0]
            if worker.held >= WINDOW:
                return
            task = queue.popleft()
            if not queue:
                self.ready_map &= ~(1 << task.priority)
            self.ready_count -= 1
            task.state = SENT
            task.worker = worker
            task.dispatched = now
            worker.held += 1
            worker.tasks.append((task.slot, task.ticket, task.function, task.inputs))

    def serve(self) -> None:
        """The zero workers: each task is answered at once with None."""
        for worker in self.workers:
            take, publish = worker.tasks.popleft, worker.results.append
            seen = _NOW()
            for _ in range(len(worker.tasks)):
                slot, ticket, _function, _inputs = take()
                now = _NOW()
                publish((slot, ticket, NONE, None, seen, seen, now, now))
                seen = now

    def poll(self) -> None:
        """Take results, release dependents, send what is ready."""
        now = _NOW()
        for index, worker in enumerate(self.workers):
            taken = len(worker.results)
            take = worker.results.popleft
            for _ in range(taken):
                slot, ticket, status, result, received, started, finished, returned = take()
                task = self.tasks[slot]
                if task is None or task.ticket != ticket:
                    continue
                if returned > now:
                    now = _NOW()
                task.row = self.written
                self.journey[self.written % JOURNEY_ROWS] = [
                    *(ticket, task.run, task.function, 0, index, status, task.attempt),
                    *(task.submitted, task.ready, task.dispatched, received, started, finished, returned, 0),
                ]
                self.written += 1
                task.state = DONE
                task.status = status
                task.result = result
                self.runs[task.run][1] += 1
                self.completions.append(task)
                if task.dependents is not None:
                    self._release(task, now)
            worker.held -= taken
            worker.finished += taken
        if self.ready_count:
            self._dispatch(_NOW())

    def _release(self, task: Task, now: int) -> None:
        for ticket, position in task.dependents or ():
            dependent = self.tasks[ticket & 0xFFFFFFFF]
            if dependent is None or dependent.ticket != ticket:
                continue
            if dependent.inputs is not None:
                dependent.inputs[position] = task.result
            dependent.missing -= 1
            if not dependent.missing:
                self.waiting -= 1
                dependent.ready = now
                self._push(dependent)
        task.dependents = None

    def discard(self, most: int) -> list[int]:
        """The slots of the oldest finished tasks, which are free now."""
        now = _NOW()
        slots = []
        for _ in range(min(most, len(self.completions))):
            task = self.completions.popleft()
            if self.written - task.row <= JOURNEY_ROWS:
                self.journey[task.row % JOURNEY_ROWS][14] = now
            self.tasks[task.slot] = None
            slots.append(task.slot)
        return slots


def _load(worker: Worker) -> int:
    return worker.held
