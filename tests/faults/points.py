"""Trials, one a line of JSON on stdin: tasks of all kinds while one worker ends at a named point of its path in C.

A program of its own, for the build of the package that has these points (csched/src/fault.h).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import census
from cellmill import DependencyError, Executor, Future, WorkerLostError
from cellmill.backends.scheduled.scheduler import with_gil
from tests.support import tasks
from tests.support.helpers import comes_down

TINY = 4 << 20  # memory for payloads of each process: what is larger goes to a file
AT_START = ("attached", "said_ready")  # before the kernel can say to one worker where to end
AT_END = ("retired", "detached")
ROUNDS = 30
WAIT_S = 60.0


def say(number: int, lines: int) -> int:
    """Print so many lines of 100 characters."""
    for _ in range(lines):
        print(f"{number:099}")
    return number


def descriptors() -> int:
    """That this process has open, when all that is dropped is gone."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


class Trial:
    """One point, one pool."""

    def __init__(self, point: str, how: str, visit: int) -> None:
        self.point, self.how, self.visit = point, how, visit
        self.lost = self.not_run = 0
        self.wrong: list[str] = []
        self.victim = 0  # process id
        self._over = False

    def run(self) -> dict[str, Any]:
        """What came of it."""
        before = descriptors()
        with self._pool() as pool:
            rounds, most = 0, 1 if self.point in AT_END else ROUNDS
            while not rounds or (rounds < most and not self._ended(0)):
                self._round(pool, rounds)
                rounds += 1
            reached = self._ended(0)
            if self.point not in AT_END:
                self._check(pool)
        if self.point in AT_END:
            reached = self._ended(WAIT_S)
        del pool
        return {
            "reached": reached,
            "rounds": rounds,
            "lost": self.lost,
            "not_run": self.not_run,
            "wrong": self.wrong,
            "descriptors": 0 if comes_down(descriptors, before) else descriptors() - before,
        }

    # -- the pool and its victim

    @contextlib.contextmanager
    def _pool(self) -> Iterator[Executor]:
        if self.point in AT_START:
            os.environ["CSCHED_FAULT"] = f"{self.point}:{self.visit}:{self.how}"
        pool = Executor(2, memory=TINY)
        members = pool._backend.pool.members  # type: ignore[attr-defined]
        try:
            if self.point in AT_START:
                self._until(lambda: any(member.pid for member in members.values()))
                self.victim = next(member.pid for member in members.values() if member.pid)
                del os.environ["CSCHED_FAULT"]
            else:
                self.victim = pool.run_on_workers(os.getpid)[0]
                index = next(i for i, member in members.items() if member.pid == self.victim)
                number = signal.SIGKILL if self.how == "kill" else signal.SIGSTOP
                handle = pool._backend.scheduler.handle  # type: ignore[attr-defined]
                assert with_gil.csched_fault_arm(handle, index, self.point.encode(), self.visit, number) == 0
            if self.how == "stop":
                threading.Thread(target=self._kill_stopped, args=(members,), daemon=True).start()
            if self.point.startswith("region_"):
                pool.set_workers(3)  # whose memory the others hear of
            yield pool
            self._over = self.point not in AT_END
        finally:
            os.environ.pop("CSCHED_FAULT", None)
            pool.shutdown()

    def _kill_stopped(self, members: dict[int, Any]) -> None:
        """SIGSTOP, then SIGKILL: in between the worker holds what it held. At the start more than one may stop."""
        while not self._over and not (self.point in AT_END and self._ended(0)):
            for member in list(members.values()):
                with contextlib.suppress(OSError):
                    stat = Path(f"/proc/{member.pid}/stat").read_text()
                    if stat.rpartition(")")[2].split()[0] == "T":
                        time.sleep(0.02)
                        os.kill(member.pid, signal.SIGKILL)
            time.sleep(0.005)

    def _ended(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while Path(f"/proc/{self.victim}").exists():
            if time.monotonic() >= end:
                return False
            time.sleep(0.005)
        return True

    def _until(self, condition: Any) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < end, "what was waited for did not come"
            time.sleep(0.002)

    # -- tasks

    def _round(self, pool: Executor, number: int) -> None:
        """Tasks of all kinds; each must end in its value, or in an error that names it."""
        block = bytes([number]) * 300_000
        plain: list[tuple[str, Future, Any]] = []

        def submit(expected: Any, function: Any, *args: Any) -> Future:
            future = pool.submit(function, *args)
            plain.append((function.__name__, future, expected))
            return future

        for i in range(10):
            submit(i, tasks.same, i)
            submit(i, say, i, 3)
        made = [submit(2 * block, tasks.double, block) for _ in range(4)]
        for future in made:  # on the other worker, half of them
            submit([2 * block], tasks.same, [future])
        submit(bytes(TINY + 1), bytes, TINY + 1)
        held_up = [submit("ran", tasks.spin, 0.01) for _ in range(2)]
        for future in [pool.submit(tasks.same, i) for i in range(6)]:
            if not future.cancel():
                plain.append(("same", future, future.result(WAIT_S)))
        submit(5, say, 5, 3000)
        self._map(pool, None)
        self._map(pool, 25)
        if self.point == "ring_full":
            for _ in range(10):
                for _ in range(100):
                    submit(bytes(8000), bytes, 8000)
                ctypes.PyDLL(None).usleep(
                    20_000
                )  # with the GIL: no results are taken out of the rings meanwhile
        del made, held_up
        for function, future, expected in plain:
            self._outcome(function, future, expected)

    def _outcome(self, function: str, future: Future, expected: Any) -> None:
        error = future.exception(WAIT_S)
        if error is None:
            if future.result() != expected:
                self.wrong.append(f"{function} has another's result")
        elif isinstance(error, WorkerLostError):
            self.lost += 1
            if error.function != function:
                self.wrong.append(f"the loss of {function} is told as that of {error.function}")
        elif isinstance(error, DependencyError) and isinstance(error.__cause__, WorkerLostError):
            self.not_run += 1
        else:
            self.wrong.append(f"{function} ended with {error!r}")

    def _map(self, pool: Executor, chunksize: int | None) -> None:
        results = list(pool.map(tasks.same, range(100), chunksize=chunksize, return_exceptions=True))
        for place, result in enumerate(results):
            if isinstance(result, WorkerLostError) and result.arguments == str(place):
                self.lost += 1
            elif result != place:
                self.wrong.append(f"element {place} ended with {result!r}")
        if len(results) != 100:
            self.wrong.append(f"{len(results)} of 100 results")

    def _check(self, pool: Executor) -> None:
        """All is over, all workers are ready, all memory came back."""
        after = census.take(pool, looks=3)
        stats = pool.stats()
        if (stats.done, stats.workers, after.file) != (
            stats.submitted,
            pool.max_workers,
            0,
        ) or after.arena > 1 << 20:
            self.wrong.append(f"at the end: {stats}, {after}")
        if after.processes != 1 + pool.max_workers:  # the zygote is one
            self.wrong.append(f"{after.processes} processes are there")


def main() -> None:
    with os.fdopen(os.dup(1), "w") as answers, open(os.devnull, "w") as nowhere:
        sys.stdout = nowhere  # what tasks print
        with Executor(1) as pool:  # what grows with the first pool
            pool.submit(int).result()
        gc.collect()
        gc.freeze()  # the collections of each trial pass over what is loaded
        for line in sys.stdin:
            print(json.dumps(Trial(**json.loads(line)).run()), file=answers, flush=True)


if __name__ == "__main__":
    main()
