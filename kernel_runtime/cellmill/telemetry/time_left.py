"""The time that outstanding tasks still take: they are scheduled on paper with the mean times of their functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .forecast import Ran, makespan

_PIECES = 256  # equal parts that stand for a function's many tasks without dependencies
_OVERDUE = 0.25  # of the time that a task has run beyond its function's mean: a guess of what it still takes
_LATE = 4  # times its function's mean: a task that has run for longer tells that the mean says nothing of it
_LATE_SECONDS = 2.0  # at least so much longer
_WINDOW = 5.0  # seconds over which the workers' real use is measured
_LEAST_WINDOW = 0.5


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """An estimate for all outstanding tasks."""

    seconds: float | None  # None: of no function with outstanding tasks has one ended
    unknown: tuple[str, ...] = ()  # functions whose tasks are not in it, since none has ended
    late: tuple[str, ...] = ()  # functions of which a task runs far longer than those that have ended


@dataclass(frozen=True, slots=True)
class Backlog:
    """The outstanding tasks of one function; elements of maps count one by one."""

    name: str
    tasks: int
    ended: int = 0  # tasks of the same kind that have ended
    spent: float = 0.0  # seconds that these took on their workers
    elapsed: tuple[float, ...] = ()  # seconds for which those that run now have run

    @property
    def seconds(self) -> float | None:
        """The mean time of a task; None where none has ended.

        Short tasks end first: those that have run for longer than the ended ones count as if they ended soon.
        """
        if not self.ended:
            return None
        mean = self.spent / self.ended
        late = [elapsed + _to_go(mean, elapsed) for elapsed in self.elapsed if elapsed > mean]
        return (self.spent + sum(late)) / (self.ended + len(late))

    @property
    def late(self) -> bool:
        """Whether a task has run for so long that the mean of those that have ended says nothing of it."""
        if not self.ended:
            return False
        mean = self.spent / self.ended
        return max(self.elapsed, default=0.0) > max(_LATE * mean, mean + _LATE_SECONDS)


@dataclass(frozen=True, slots=True)
class Graph:
    """The unfinished tasks that have inputs or dependents, in the order of submission."""

    functions: Sequence[int]
    running: Sequence[bool]
    edges: Sequence[tuple[int, int]]  # positions of an input and of the task that takes it

    def __len__(self) -> int:
        return len(self.functions)


def time_left(
    backlogs: Mapping[int, Backlog], graph: Graph, workers: int, pace: float | None = None
) -> TimeLeft | None:
    """Return how long ``workers`` still take; None where nothing is outstanding.

    ``backlogs`` are by function number. ``pace`` is how many workers' time has come to tasks on average lately, while
    others waited for a worker: less than ``workers`` where the kernel cannot feed them or a resource limits them.
    """
    known = {number: backlog for number, backlog in backlogs.items() if backlog.seconds is not None}
    unknown = tuple(sorted({b.name for n, b in backlogs.items() if n not in known and b.tasks}))
    if not any(backlog.tasks for backlog in known.values()):
        return TimeLeft(None, unknown) if unknown else None
    tasks = _linked(known, graph) + _loose(known, graph)
    seconds = makespan(tasks, max(1, workers))
    if pace is not None:
        seconds *= max(1.0, workers / max(pace, workers / 20))
    return TimeLeft(seconds, unknown, tuple(sorted({b.name for b in known.values() if b.late})))


def _to_go(mean: float, elapsed: float) -> float:
    return max(mean - elapsed, _OVERDUE * (elapsed - mean))


def _mean_to_go(backlog: Backlog) -> float:
    """Return the seconds that one running task of a function still takes."""
    mean = backlog.seconds or 0.0
    if not backlog.elapsed:
        return mean / 2
    return sum(_to_go(mean, elapsed) for elapsed in backlog.elapsed) / len(backlog.elapsed)


def _linked(known: Mapping[int, Backlog], graph: Graph) -> list[Ran]:
    inputs: dict[int, list[int]] = {}
    for first, then in graph.edges:
        inputs.setdefault(then, []).append(first)
    tasks = []
    for at, (function, runs) in enumerate(zip(graph.functions, graph.running, strict=True)):
        backlog = known.get(function)
        seconds = 0.0 if backlog is None else _mean_to_go(backlog) if runs else backlog.seconds or 0.0
        tasks.append(Ran(seconds, tuple(inputs.get(at, ()))))
    return tasks


def _loose(known: Mapping[int, Backlog], graph: Graph) -> list[Ran]:
    """Return the tasks that are not in the graph: those that run, then the others, many as equal pieces."""
    linked = dict.fromkeys(known, 0)
    linked_running = dict.fromkeys(known, 0)
    for function, runs in zip(graph.functions, graph.running, strict=True):
        if function in linked:
            linked[function] += 1
            linked_running[function] += runs
    running, waiting = [], []
    for number, backlog in known.items():
        mean = backlog.seconds or 0.0
        going = sorted(backlog.elapsed)[linked_running[number] :]
        running += [Ran(_to_go(mean, elapsed)) for elapsed in going]
        count = backlog.tasks - linked[number] - len(going)
        pieces = min(_PIECES, max(0, count))
        waiting += [Ran(count * mean / max(1, pieces))] * pieces
    return running + waiting


class Latest:
    """The latest half of a function's tasks that have ended: the first ones import what the function needs."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, float]] = []

    def push(self, ended: int, spent: float) -> tuple[int, float]:
        """Take the number of all that have ended and their seconds; return those of about the latest half."""
        if self._samples and ended < self._samples[-1][0]:
            self._samples.clear()
        while len(self._samples) > 1 and 2 * self._samples[1][0] <= ended:
            del self._samples[0]
        first = self._samples[0] if self._samples and 2 * self._samples[0][0] <= ended else (0, 0.0)
        if ended and (not self._samples or 4 * ended >= 5 * self._samples[-1][0]):
            self._samples.append((ended, spent))
        return ended - first[0], spent - first[1]


class Pace:
    """How many workers' time comes to tasks while others wait for a worker, over the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque()
        self._wanted = 0

    def push(self, time: float, spent: float, wanted: int) -> None:
        """Take the worker-seconds spent on tasks until this moment, and how many workers are ready for tasks that
        wait; 0: none waits.
        """
        if wanted != self._wanted or (self._samples and spent < self._samples[-1][1]):
            self._samples.clear()
        self._wanted = wanted
        if wanted:
            self._samples.append((time, spent))
        while len(self._samples) > 2 and time - self._samples[1][0] > _WINDOW:
            self._samples.popleft()

    @property
    def workers(self) -> float | None:
        """Workers in use on average; None where tasks have not waited for long enough."""
        if not self._samples:
            return None
        (begin, before), (end, after) = self._samples[0], self._samples[-1]
        return (after - before) / (end - begin) if end - begin >= _LEAST_WINDOW else None
