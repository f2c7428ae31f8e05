"""Why workers were idle: each moment of their idle time has one reason, found from the stamps of all tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from heapq import merge

DIFFERS = (
    0.02  # of the workers' time: by more the tasks' stamps do not tell all that the scheduler's sums tell
)


@dataclass(frozen=True, slots=True)
class Stamps:
    """When one task, or chunk of a map, went from stage to stage; seconds on one clock."""

    worker: int
    submitted: float
    ready: float  # its inputs were there
    dispatched: float  # put into its worker's queue
    received: float
    returned: float


@dataclass(frozen=True, slots=True)
class Idle:
    """Worker-seconds without a task, by reason."""

    unused: float = 0.0  # workers for which there was no task at all
    submission: float = 0.0  # the next task was not yet submitted
    delivery: float = 0.0  # a task was ready and had not reached the worker
    chain: float = 0.0  # the tasks that were left waited for results of others
    imbalance: float = 0.0  # the tasks that were left ran on other workers, or were queued there
    last: float = 0.0  # the same, with one task that ran and no other left

    @property
    def seconds(self) -> float:
        """The sum."""
        return self.unused + self.submission + self.delivery + self.chain + self.imbalance + self.last

    def scaled(self, seconds: float) -> Idle:
        """Return the same shares of another sum."""
        scale = seconds / self.seconds if self.seconds else 0.0
        return Idle(**{each.name: scale * getattr(self, each.name) for each in fields(self)})

    def words(self) -> Iterator[tuple[float, str]]:
        """Yield each part, and what the workers were."""
        for reason, what in _WORDS.items():
            yield getattr(self, reason), what

    def parts(self) -> Iterator[tuple[str, str, float]]:
        """Yield the name, the words and the worker-seconds of each reason that took time."""
        for reason, what in _WORDS.items():
            seconds: float = getattr(self, reason)
            if seconds > 0:
                yield reason, what, seconds


_WORDS = {  # what workers were, by reason
    "unused": "idle for want of tasks",
    "submission": "idle until more tasks were submitted",
    "delivery": "idle until ready tasks reached them",
    "chain": "idle while tasks waited for results of others",
    "imbalance": "idle beside workers that had more to do",
    "last": "idle while the last task ran",
}


def reasons(tasks: Sequence[Stamps], workers: int, began: float, ended: float, idle: float) -> Idle | None:
    """Return why ``workers``, all there from ``began`` to ``ended``, were idle for ``idle`` worker-seconds.

    None where the tasks' stamps do not add up to that: some attempts have left none.
    """
    if not tasks:
        return None
    found = _sweep(tasks, workers, began, ended)
    if abs(found.seconds - idle) > DIFFERS * workers * (ended - began):
        return None
    return found.scaled(idle)


def _changes(tasks: Sequence[Stamps]) -> Iterator[tuple[float, int, int, int]]:
    """Yield time, state before, state after, and position of each change, in the order of time."""
    times = [[task.submitted, task.ready, task.dispatched, task.received, task.returned] for task in tasks]
    for row in times:  # the clock of a worker elsewhere is estimated
        for at in range(1, len(row)):
            row[at] = max(row[at], row[at - 1])
    columns = (sorted((row[at], at, at + 1, place) for place, row in enumerate(times)) for at in range(5))
    return merge(*columns)


_LATER, _WAITS, _READY, _SENT, _RUNS, _OVER = range(6)


class _Moment:
    """How many tasks are in each state, and which workers have them."""

    def __init__(self, tasks: Sequence[Stamps], workers: int) -> None:
        self._tasks = tasks
        self._workers = workers
        self._of_state = [len(tasks), 0, 0, 0, 0, 0]
        self._running: Counter[int] = Counter()
        self._sent: Counter[int] = Counter()
        self._unused = max(0, workers - len({task.worker for task in tasks}))

    def change(self, before: int, after: int, place: int) -> None:
        self._of_state[before] -= 1
        self._of_state[after] += 1
        worker = self._tasks[place].worker
        for state, counted in ((_SENT, self._sent), (_RUNS, self._running)):
            counted[worker] += (after == state) - (before == state)
            if not counted[worker]:
                del counted[worker]

    def idle(self) -> Idle:
        """Return the number of idle workers by reason."""
        rest = max(0, self._workers - len(self._running))

        def take(most: int) -> int:
            nonlocal rest
            taken = min(rest, most)
            rest -= taken
            return taken

        to_come = sum(worker not in self._running for worker in self._sent)
        behind = sum(count for worker, count in self._sent.items() if worker in self._running)
        found = Idle(
            delivery=take(to_come + self._of_state[_READY]),
            imbalance=take(behind),
            chain=take(self._of_state[_WAITS]),
            submission=take(self._of_state[_LATER]),
            unused=take(self._unused),
        )
        if len(self._running) == 1 and not behind:
            return replace(found, last=rest)
        return replace(found, imbalance=found.imbalance + rest)


def _sweep(tasks: Sequence[Stamps], workers: int, began: float, ended: float) -> Idle:
    moment, now = _Moment(tasks, workers), began
    sums = {reason.name: 0.0 for reason in fields(Idle)}
    for time, before, after, place in merge(_changes(tasks), [(ended, _LATER, _LATER, 0)]):
        until = min(max(time, now), ended)
        if until > now:
            idle = moment.idle()
            for reason in sums:
                sums[reason] += (until - now) * getattr(idle, reason)
            now = until
        moment.change(before, after, place)
    return Idle(**sums)
