"""Shared-memory rings and nothing else: the fastest that Python processes can hand each other calls through cffi.

The kernel pickles ``(function number, arguments)`` into the ring of a worker, one cffi call each, and makes an empty
result object; the worker unpickles, calls, and answers with the pickled value the same way. No scheduler, no records,
no dependencies, no journeys, no futures, no notice of deaths.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cellmill.backends.scheduled.scheduler import check
from cellmill.bench import bodies

from .csched_lab import lab, lab_ffi

RING_BYTES = 1 << 18
FUNCTIONS = (bodies.noop, bodies.busy)
NOOP, BUSY = range(2)


class Outcome:
    """The result of one call, and nothing that could be waited for."""

    __slots__ = ("value",)
    value: object


def rate(workers: int, seconds: float, most: int) -> tuple[float, int]:
    """Calls of a no-op per second over ``workers`` processes, all results held; and how many they were."""
    with rings(workers) as bare:
        probe = min(5000, most)
        bare.go(probe)
        count = max(probe, min(most, int(bare.go(probe) * seconds)))
        return bare.go(count), count


@contextmanager
def rings(workers: int) -> Iterator[Rings]:
    """Processes behind rings, for as long as this lasts."""
    kernels = [_start_worker() for _ in range(workers)]
    try:
        yield Rings(kernels)
    finally:
        for kernel in kernels:
            kernel.stop()


class _Side:
    """One end of a pair of rings: where it puts, where it takes."""

    def __init__(self, memories: tuple[mmap.mmap, mmap.mmap]) -> None:
        self._memory = [lab_ffi.from_buffer(memory) for memory in memories]
        self.out, self.into = (lab_ffi.new("csched_bare_t *") for _ in memories)
        for ring, memory in zip((self.out, self.into), self._memory, strict=True):
            check(lab.csched_bare_open(memory, RING_BYTES, ring), "opening a bare ring")
        self.room = lab_ffi.new("char[256]")
        self.message = memoryview(lab_ffi.buffer(self.room))


class _Kernel(_Side):
    """The kernel's end of one worker's rings, and the calls that wait for its answers."""

    def __init__(self, memories: tuple[mmap.mmap, mmap.mmap], pid: int) -> None:
        super().__init__(memories)
        self.pid = pid
        self.flying: deque[Outcome] = deque()

    def collect(self) -> None:
        """Take every answer that is there."""
        take, into, room, message = lab.csched_bare_take, self.into, self.room, self.message
        flying, loads = self.flying, pickle.loads
        while flying and take(into, room, 256) == 1:
            flying.popleft().value = loads(message)

    def stop(self) -> None:
        """End the worker."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Rings:
    """The kernel's ends of all workers' rings."""

    def __init__(self, kernels: list[_Kernel]) -> None:
        self._kernels = kernels

    def go(self, count: int, function: int = NOOP, arguments: tuple[Any, ...] = ()) -> float:
        """Submit all, collecting whenever a ring is full, then collect the rest: calls per second."""
        dumps, put, protocol = pickle.dumps, lab.csched_bare_put, pickle.HIGHEST_PROTOCOL
        ends = [(kernel, kernel.out, kernel.flying) for kernel in self._kernels]
        outcomes: list[Any] = []
        start = time.perf_counter_ns()
        for number in range(count):
            kernel, out, flying = ends[number % len(ends)]
            data = dumps((function, arguments), protocol)
            while put(out, data, len(data)) < 0:
                kernel.collect()
                os.sched_yield()
            outcome = Outcome()
            flying.append(outcome)
            outcomes.append(outcome)
        while any(flying for _kernel, _out, flying in ends):
            for kernel in self._kernels:
                kernel.collect()
            os.sched_yield()
        elapsed = time.perf_counter_ns() - start
        assert all(outcome.value is None for outcome in outcomes)
        return count * 1e9 / elapsed


def _start_worker() -> _Kernel:
    there, back = mmap.mmap(-1, RING_BYTES), mmap.mmap(-1, RING_BYTES)
    pid = os.fork()
    if pid == 0:
        try:
            _serve(_Side((back, there)))
        finally:
            os._exit(1)
    return _Kernel((there, back), pid)


def _serve(side: _Side) -> None:
    """The worker process: take, call, answer, again, until it is killed or its parent is gone."""
    take, put, loads, dumps = lab.csched_bare_take, lab.csched_bare_put, pickle.loads, pickle.dumps
    into, out, room, message = side.into, side.out, side.room, side.message
    protocol, parent = pickle.HIGHEST_PROTOCOL, os.getppid()
    while True:
        if take(into, room, 256) != 1:
            os.sched_yield()
            if os.getppid() != parent:
                return
            continue
        function, arguments = loads(message)
        data = dumps(FUNCTIONS[function](*arguments), protocol)
        while put(out, data, len(data)) < 0:
            os.sched_yield()
