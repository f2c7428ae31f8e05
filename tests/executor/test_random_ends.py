"""Several threads use one executor, drawn at random, while it ends: each task has one outcome, and nothing hangs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cellmill import DependencyError, Executor, Future, run_registry
from tests.support import tasks
from tests.support.helpers import SECONDS

OPERATIONS = 20
ENDS: list[dict[str, bool]] = [
    {},
    {"wait": False},
    {"cancel_futures": True},
    {"wait": False, "cancel_futures": True},
]


class Caller:
    """What one thread does; a task is kept with its value, or with the error that it ends with."""

    def __init__(self, ex: Executor, chance: random.Random) -> None:
        self.ex, self.chance = ex, chance
        self.made: list[tuple[Future, Any]] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        steps: list[Callable[[], None]] = [
            self.call,
            self.fail,
            self.follow,
            self.gather,
            self.map,
            self.cancel,
        ]
        steps.append(lambda: self.ex.set_workers(self.chance.randint(1, 3)))
        try:
            for _ in range(OPERATIONS):
                self.chance.choice(steps)()
        except RuntimeError as error:
            if "shutdown" not in str(error):
                self.wrong.append(repr(error))
        except CancelledError:
            pass  # a map that the end of the executor cancelled
        except BaseException as error:
            self.wrong.append(repr(error))

    def call(self) -> None:
        for x in range(self.chance.choice((1, 30))):
            self.made.append((self.ex.submit(tasks.double, x), 2 * x))

    def fail(self) -> None:
        retried = self.ex.options(retries=self.chance.randint(0, 2))
        self.made.append((retried.submit(tasks.fail), LookupError))

    def follow(self) -> None:
        if self.made:
            before, value = self.chance.choice(self.made)
            wanted = DependencyError if isinstance(value, type) else 2 * value
            self.made.append((self.ex.submit(tasks.double, before), wanted))

    def gather(self) -> None:
        self.made.append((self.ex.options(batch=True).submit(list, 7), 7))

    def map(self) -> None:
        count = self.chance.choice((1, 40, 300))
        items = iter(range(count)) if self.chance.random() < 0.5 else range(count)
        results = self.ex.options(retries=1).map(tasks.half_of_even, items, return_exceptions=True)
        for x, result in zip(range(self.chance.choice((0, 3, count))), results, strict=False):
            if (
                not isinstance(result, CancelledError)
                and result != x // 2
                and not (x % 2 and type(result) is ValueError)
            ):
                self.wrong.append(f"element {x}: {result!r}")

    def cancel(self) -> None:
        for future, _ in self.made[-5:]:
            future.cancel()


def outcome(future: Future) -> Any:
    if future.cancelled():
        return CancelledError
    error = future.exception(SECONDS)
    return type(error) if error is not None else future.result()


@pytest.mark.parametrize("backend", ["local", "threads"])
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.long) for s in range(3, 100))]
)
def test_each_has_one_outcome(backend: str, seed: int) -> None:
    chance = random.Random(seed)
    ex = Executor(chance.randint(1, 3), backend=backend)
    callers = [Caller(ex, random.Random(chance.random())) for _ in range(3)]
    threads = [threading.Thread(target=caller.run) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads[: chance.randint(0, 3)]:
        thread.join(SECONDS)
    ex.shutdown(**chance.choice(ENDS))
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    ex.shutdown()
    assert not [wrong for caller in callers for wrong in caller.wrong]
    for future, wanted in (made for caller in callers for made in caller.made):
        assert future.done()
        assert outcome(future) in (wanted, CancelledError, DependencyError), (future, wanted)
    stats = ex.stats()
    assert stats.submitted == stats.done
    assert not [run for run in run_registry.active_runs() if run._backend is ex._backend]
