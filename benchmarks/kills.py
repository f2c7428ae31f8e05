"""Tasks of all kinds in a pool whose workers are killed at random: each ends once, in success or in an error that
names it, none runs more often than it may, and nothing is left behind.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cellmill.errors import DependencyError, WorkerLostError
from cellmill.executor import Executor
from cellmill.futures import Future

from . import census, ledger
from .killer import Killer

OUTSTANDING = 1000
WAIT_S = 120.0  # for one outcome
RETRIES = 3
MOST_NAMED = 20  # of what went wrong
BLOCK = 1 << 20


@dataclass(slots=True)
class Outcome:
    """What came of a run; ``wrong`` and ``leaks`` say in words what must not be."""

    tasks: int = 0
    kills: int = 0
    seconds: float = 0.0
    succeeded: int = 0
    lost: int = 0
    not_run: int = 0  # because an earlier link of the chain was lost
    again: int = 0  # runs beyond the first: retries, and elements of maps whose results died unsent
    wrong: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


class Course:
    """A course of tasks through a pool, checked one by one. Each has a number, which it returns or is named by."""

    def __init__(self, pool: Executor, runs: Any, seed: int) -> None:
        self.pool = pool
        self.outcome = Outcome()
        self._runs = runs  # the ledger: how often each task was run
        self._random = random.Random(seed)
        self._ended = bytearray(len(runs))
        self._most_runs = bytearray(b"\1" * len(runs))
        self._waiting: deque[tuple[int, str, Future, Any]] = deque()
        self._block = random.Random(seed).randbytes(BLOCK)

    def run(self, first: int, tasks: int, kills: int) -> None:
        """The tasks with the numbers from ``first`` on, and meanwhile so many kills."""
        killer = Killer(kills, tasks, seed=first + kills)
        killer.start()
        start, number = time.monotonic(), first
        kinds = (self._alone, self._retried, self._map, self._chain, self._large)
        try:
            while number < first + tasks:
                (kind,) = self._random.choices(kinds, (1000, 200, 2, 60, 2))
                number = min(number + kind(number, first + tasks - number), first + tasks)
                while len(self._waiting) > (OUTSTANDING if number < first + tasks else 0):
                    killer.keep_pace(number - first - len(self._waiting))
                    self._check_one()
            killer.finish()
        finally:
            killer.stop()
        self.outcome.seconds += time.monotonic() - start
        self.outcome.tasks += tasks
        self.outcome.kills += killer.kills
        self._audit(range(first, first + tasks))

    # -- kinds of tasks: each submits some and returns how many they were

    def _alone(self, number: int, most: int) -> int:
        self._wait_for(number, "enter", self.pool.submit(ledger.enter, number), number)
        return 1

    def _retried(self, number: int, most: int) -> int:
        self._most_runs[number] = RETRIES + 1
        future = self.pool.options(retries=RETRIES).submit(ledger.enter, number)
        self._wait_for(number, "enter", future, number)
        return 1

    def _large(self, number: int, most: int) -> int:
        future = self.pool.submit(ledger.carry, number, self._block)
        self._wait_for(number, "carry", future, self._block[::-1])
        return 1

    def _chain(self, number: int, most: int) -> int:
        links = min(self._random.randrange(2, 12), most)
        future = self.pool.submit(ledger.enter, number)
        self._wait_for(number, "enter", future, number)
        for link in range(number + 1, number + links):
            future = self.pool.submit(ledger.follow, future, link)
            self._wait_for(link, "follow", future, link)
        return links

    def _map(self, number: int, most: int) -> int:
        count = min(int(10 ** self._random.uniform(1, 3.5)), most)
        ordered, retries = self._random.random() < 0.5, self._random.choice((0, RETRIES))
        numbers = range(number, number + count)
        # what an element returned dies with its worker if it had not been sent yet: the element runs again
        self._most_runs[number : number + count] = b"\xff" * count
        results: Iterator[Any] = self.pool.options(retries=retries).map(
            ledger.enter, numbers, ordered=ordered, return_exceptions=True
        )
        for place, result in enumerate(results, number):
            if isinstance(result, int):
                self._end(result)
                self.outcome.succeeded += 1
                if ordered and result != place:
                    self._wrong(f"element {place} of a map has the result {result}")
            elif isinstance(result, WorkerLostError) and result.arguments.isdigit():
                self._end(int(result.arguments))
                self._lost(int(result.arguments), "enter", result)
            else:
                self._wrong(f"element {place} of a map ended with {result!r}")
        return count

    # -- outcomes

    def _wait_for(self, number: int, function: str, future: Future, expected: Any) -> None:
        future.add_done_callback(partial(self._end_future, number))
        self._waiting.append((number, function, future, expected))

    def _end_future(self, number: int, _: Any) -> None:
        self._end(number)

    def _end(self, number: int) -> None:
        self._ended[number] += 1

    def _check_one(self) -> None:
        number, function, future, expected = self._waiting.popleft()
        error = future.exception(WAIT_S)
        if error is None:
            self.outcome.succeeded += 1
            if future.result() != expected:
                self._wrong(f"task {number} has another's result")
        elif isinstance(error, WorkerLostError):
            self._lost(number, function, error)
        elif isinstance(error, DependencyError) and isinstance(error.__cause__, WorkerLostError):
            self.outcome.not_run += 1
        else:
            self._wrong(f"task {number} ended with {error!r}")

    def _lost(self, number: int, function: str, error: WorkerLostError) -> None:
        self.outcome.lost += 1
        if error.function != function or str(number) not in error.arguments:
            self._wrong(
                f"the loss of {function}({number}) is told as that of {error.function}({error.arguments})"
            )

    def _wrong(self, what: str) -> None:
        if len(self.outcome.wrong) < MOST_NAMED:
            self.outcome.wrong.append(what)

    def _audit(self, numbers: range) -> None:
        """Against the ledger, when all is over."""
        end = time.monotonic() + WAIT_S  # callbacks run after the results are there
        while self._ended.find(0, numbers.start, numbers.stop) >= 0 and time.monotonic() < end:
            time.sleep(0.01)
        for number in numbers:
            if self._ended[number] != 1:
                self._wrong(f"task {number} ended {self._ended[number]} times")
            runs = self._runs[number]
            if runs > self._most_runs[number]:
                self._wrong(f"task {number} was run {runs} times")
            self.outcome.again += max(runs - 1, 0)
        if self.outcome.lost > self.outcome.kills:
            self._wrong(f"{self.outcome.lost} tasks were lost by {self.outcome.kills} kills")
        stats = self.pool.stats()
        if stats.submitted != stats.done:
            self._wrong(f"{stats.submitted} tasks were submitted, {stats.done} are over")


def kill_at_random(tasks: int, kills: int, workers: int = 2, seed: int = 0) -> Outcome:
    """Run ``tasks`` with ``kills``, after a course a fifth as long in which all that grows comes to its size."""
    warm_up = max(tasks // 5, 2000)
    with tempfile.TemporaryDirectory(prefix="cellmill-kills-") as folder:
        path = Path(folder, "ledger")
        with ledger.create(path, warm_up + tasks) as runs:
            pool = Executor(workers, initializer=ledger.open_ledger, initargs=(str(path),))
            with pool:
                course = Course(pool, runs, seed)
                course.run(0, warm_up, max(kills // 5, 4))
                before, warm = census.take(pool), course.outcome
                course.outcome = Outcome(wrong=warm.wrong)
                course.run(warm_up, tasks, kills)
                course.outcome.leaks = census.leaks(before, census.take(pool))
    return course.outcome
