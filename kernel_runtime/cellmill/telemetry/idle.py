"""Why workers were idle: each moment of their idle time has one reason, found from the stamps of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

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


_LATER, _WAITS, _READY, _SENT, _RUNS, _OVER = range(6)


def _changes(tasks: Sequence[Stamps]) -> list[tuple[float, int, int]]:
    """Return time, new state, and worker of each change, in the order of time."""
    found = []
    for task in tasks:
        worker, before = task.worker, task.submitted
        found.append((before, _WAITS, worker))
        for state, time in (
            *((_READY, task.ready), (_SENT, task.dispatched)),
            *((_RUNS, task.received), (_OVER, task.returned)),
        ):
            before = max(before, time)  # the clock of a worker elsewhere is estimated
            found.append((before, state, worker))
    found.sort()
    return found


class _Moment:
    """How many tasks are in each state, and which workers have them."""

    def __init__(self, tasks: Sequence[Stamps], workers: int) -> None:
        self._workers = workers
        self._of_state = [len(tasks), 0, 0, 0, 0, 0]
        known = {task.worker for task in tasks}
        self._sent = dict.fromkeys(known, 0)  # tasks that each worker has in its queue
        self._runs = dict.fromkeys(known, 0)  # tasks that it runs
        self._running = 0  # workers that run one
        self._to_come = 0  # workers that run none, and have one in their queue
        self._behind = 0  # tasks in the queues of workers that run one
        self._unused = max(0, workers - len(known))

    def change(self, state: int, worker: int) -> None:
        """A task comes to its next state."""
        self._of_state[state - 1] -= 1
        self._of_state[state] += 1
        if state <= _READY:
            return
        sent, runs = self._sent[worker], self._runs[worker]
        self._account(worker, -1)
        self._sent[worker] = sent + (state == _SENT) - (state == _RUNS)
        self._runs[worker] = runs + (state == _RUNS) - (state == _OVER)
        self._account(worker, 1)

    def _account(self, worker: int, sign: int) -> None:
        """Add a worker to the sums, or take it out."""
        sent = self._sent[worker]
        if self._runs[worker]:
            self._running += sign
            self._behind += sign * sent
        elif sent:
            self._to_come += sign

    def idle(self) -> tuple[int, ...]:
        """Return the number of idle workers by reason, in the order of `Idle`."""
        rest = max(0, self._workers - self._running)
        if not rest:
            return _NO_IDLE
        delivery = min(rest, self._to_come + self._of_state[_READY])
        rest -= delivery
        imbalance = min(rest, self._behind)
        rest -= imbalance
        chain = min(rest, self._of_state[_WAITS])
        rest -= chain
        submission = min(rest, self._of_state[_LATER])
        rest -= submission
        unused = min(rest, self._unused)
        rest -= unused
        if self._running == 1 and not self._behind:
            return unused, submission, delivery, chain, imbalance, rest
        return unused, submission, delivery, chain, imbalance + rest, 0


_NO_IDLE = (0, 0, 0, 0, 0, 0)


def _sweep(tasks: Sequence[Stamps], workers: int, began: float, ended: float) -> Idle:
    moment, now = _Moment(tasks, workers), began
    sums = [0.0] * 6
    for time, state, worker in _changes(tasks):
        if now < time and now < ended:
            until = min(time, ended)
            for reason, count in enumerate(moment.idle()):
                if count:
                    sums[reason] += (until - now) * count
            now = until
        moment.change(state, worker)
    for reason, count in enumerate(moment.idle()):
        sums[reason] += max(0.0, ended - now) * count
    return Idle(*sums)
