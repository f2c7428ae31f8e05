"""Mixed load for a given time, with kills and Stops all along; at the end there is as much as at the beginning."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
from collections import Counter, deque
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from benchmarks import census
from benchmarks.killer import Killer
from cellmill import DependencyError, Executor, Future, WorkerLostError, run_registry
from tests.support import tasks

MB = 1 << 20
OUTSTANDING = 500
WAIT_S = 60.0
KILLS_PER_S, STOPS_PER_S = 4.0, 1.0


def deaf(seconds: float) -> None:
    """Hear no signal, as native code that never looks."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    tasks.spin(seconds)


class Soak:
    """Submits by a plan that a seed decides and checks each outcome. An expected type is that of the error."""

    def __init__(self, pool: Executor, seed: int) -> None:
        self.pool = pool
        self.random = random.Random(seed)
        self.outstanding: deque[tuple[Future, Any]] = deque()
        self.tasks = self.lost = self.kills = self.stops = 0

    def run(self, seconds: float) -> None:
        """Everything at once, then to the last outcome."""
        kinds = [
            self.nothing,
            self.bytes_in,
            self.bytes_out,
            self.failing,
            self.dependent,
            self.retried,
            self.cancelled,
        ]
        killer = Killer(int(seconds * KILLS_PER_S), int(seconds * 1000), self.random.randrange(1 << 30))
        killer.start()
        start = time.monotonic()
        next_stop = start
        try:
            # a busy machine may take longer for the first of each
            while (now := time.monotonic()) < start + seconds or not (killer.kills and self.stops):
                if self.tasks % 100 == 0:
                    killer.keep_pace(int((now - start) * 1000))
                if now > next_stop:
                    next_stop = now + self.random.expovariate(STOPS_PER_S)
                    self.stopped_cell()
                if self.random.random() < 0.001:
                    self.map()
                (kind,) = self.random.choices(kinds, [60, 15, 10, 5, 8, 5, 2])
                self.outstanding.append(kind())
                self.tasks += 1
                while len(self.outstanding) > OUTSTANDING:
                    self.check()
            while self.outstanding:
                self.check()
        finally:
            killer.stop()
        self.kills += killer.kills
        run_registry.bump_epoch()  # the runs of the last cell are over, too

    def check(self) -> None:
        """The oldest outcome."""
        future, expected = self.outstanding.popleft()
        try:
            error = future.exception(WAIT_S)
        except CancelledError:
            assert expected is CancelledError
            return
        if isinstance(error, WorkerLostError):
            self.lost += 1
        elif isinstance(error, DependencyError):
            assert expected is DependencyError or isinstance(error.__cause__, WorkerLostError), error
        elif error is not None:
            assert isinstance(expected, type), error
            assert isinstance(error, expected), error
        else:
            assert future.result() == expected

    # -- kinds of tasks

    def size(self) -> int:
        """100 bytes to a megabyte, small ones mostly."""
        return int(100 * 10 ** (self.random.random() ** 3 * 4))

    def nothing(self) -> tuple[Future, Any]:
        return self.pool.submit(tasks.same, None), None

    def bytes_in(self) -> tuple[Future, Any]:
        size = self.size()
        return self.pool.submit(len, bytes(size)), size

    def bytes_out(self) -> tuple[Future, Any]:
        size = self.size()
        return self.pool.submit(bytes, size), bytes(size)

    def failing(self) -> tuple[Future, Any]:
        return self.pool.submit(tasks.fail), LookupError

    def retried(self) -> tuple[Future, Any]:
        return self.pool.options(retries=2, timeout=WAIT_S).submit(tasks.same, 1), 1

    def dependent(self) -> tuple[Future, Any]:
        before, expected = self.outstanding[-1] if self.outstanding else self.nothing()
        if isinstance(expected, type):
            return self.pool.submit(tasks.same, [before]), DependencyError
        return self.pool.submit(tasks.same, [before]), [expected]

    def cancelled(self) -> tuple[Future, Any]:
        size = self.size()
        future = self.pool.submit(len, bytes(size))
        return future, CancelledError if future.cancel() else size

    def map(self) -> None:
        """Some thousand elements, one of them large; now and then left in the middle."""
        count = self.random.randrange(1, 2000)
        self.tasks += count
        items: list[Any] = list(range(count))
        items[count // 2] = bytes(self.size())
        ordered = self.random.random() < 0.5
        results = self.pool.map(tasks.same, items, ordered=ordered, return_exceptions=True)
        if self.random.random() < 0.2:
            next(results)
            results.close()  # type: ignore[attr-defined]
            return
        found = list(results)
        values = [result for result in found if not isinstance(result, WorkerLostError)]
        assert len(found) == count
        assert Counter(values) <= Counter(items)
        if ordered:
            assert all(isinstance(r, WorkerLostError) or r == items[i] for i, r in enumerate(found))
        self.lost += count - len(values)

    # -- Stop

    def stopped_cell(self) -> None:
        """A cell that waits for long tasks until Stop is pressed: it is over soon, others go on."""
        run_registry.bump_epoch()
        function = deaf if self.random.random() < 0.1 else tasks.spin
        stop = threading.Timer(self.random.random() * 0.05, os.kill, (os.getpid(), signal.SIGINT))
        cell = [self.pool.options(priority=1).submit(function, WAIT_S) for _ in range(4)]
        try:
            stop.start()
            with suppress(WorkerLostError):  # the killer may be sooner than Stop
                cell[-1].result(2 * WAIT_S)
            threading.Event().wait(WAIT_S)
        except KeyboardInterrupt:
            run_registry.stop_cell()
        else:
            raise AssertionError("Stop was not heard")
        stop.join()
        for future in cell:
            try:
                error = future.exception(WAIT_S / 2)
            except CancelledError:
                continue
            assert isinstance(error, (KeyboardInterrupt, WorkerLostError)), error
        run_registry.bump_epoch()
        self.stops += 1


def soak(seconds: float, warm_up: float, seed: int = 1) -> None:
    """``warm_up`` seconds first, in which tables, caches, arenas and the journey ring come to their size."""
    gc.collect()
    gc.freeze()  # the many collections of a census pass over what is loaded
    with Executor(2, memory=64 * MB) as pool:
        Soak(pool, seed).run(warm_up)
        before = census.take(pool)
        course = Soak(pool, seed + 1)
        course.run(seconds)
        leaks = census.leaks(before, census.take(pool))
        assert not leaks, leaks
        stats = pool.stats()
        assert stats.waiting == stats.queued == stats.running == 0
        assert stats.done == stats.submitted
        print(f"{course.tasks} tasks, {course.lost} lost, {course.kills} kills, {course.stops} stops")
        assert min(course.kills, course.stops) > seconds / 10
