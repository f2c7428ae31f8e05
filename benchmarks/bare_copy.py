"""Arrays between processes with no protocol at all: what the machine's memory leaves possible.

The kernel copies an array into shared memory, a worker adds one to it and leaves the result in other shared memory,
the kernel looks at one number of it. Blocks are used again and again, as a good allocator would.
"""

from __future__ import annotations

import mmap
import os
import signal
import time
from typing import Any

BLOCKS = 16
"""Arrays per round and worker: while the kernel fills one half of them, the worker works on the other."""


class _Worker:
    """One process, its blocks of shared memory, and a pipe each way."""

    def __init__(self, size: int) -> None:
        import numpy

        self.memory = mmap.mmap(-1, 2 * BLOCKS * size)
        blocks = numpy.frombuffer(self.memory, dtype=float).reshape(2, BLOCKS, size // 8)
        self.inputs, self.results = blocks[0], blocks[1]
        order_out, self.order = os.pipe()
        self.answer, answer_in = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.order)
                self._serve(order_out, answer_in)
            finally:
                os._exit(1)
        os.close(order_out)
        os.close(answer_in)

    def _serve(self, order: int, answer: int) -> None:
        import numpy

        half = BLOCKS // 2
        while which := os.read(order, 1):
            for block in range(which[0] * half, (which[0] + 1) * half):
                numpy.add(self.inputs[block], 1, out=self.results[block])
            os.write(answer, which)
        os._exit(0)

    def stop(self) -> None:
        """End the process."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.order)
        os.close(self.answer)


def rate(workers: int, size: int, seconds: float, most: int) -> tuple[float, int]:
    """Arrays of ``size`` bytes per second, in and out; and how many they were."""
    import numpy

    arrays = [numpy.full(size // 8, float(i)) for i in range(BLOCKS)]
    processes = [_Worker(size) for _ in range(workers)]
    try:
        _go(processes, arrays, 2 * BLOCKS * workers)  # every page is there
        probe = _go(processes, arrays, 4 * BLOCKS * workers)
        count = max(BLOCKS * workers, min(most, int(probe * seconds)))
        return _go(processes, arrays, count), count
    finally:
        for process in processes:
            process.stop()


def _go(processes: list[_Worker], arrays: list[Any], count: int) -> float:
    half = BLOCKS // 2
    rounds = -(-count // (half * len(processes)))
    start = time.perf_counter_ns()
    for number in range(rounds):
        first = number % 2 * half
        for process in processes:
            if number >= 2:
                _check(process, arrays, first)
            for block in range(first, first + half):
                process.inputs[block][:] = arrays[block]
            os.write(process.order, bytes([number % 2]))
    for number in range(max(0, rounds - 2), rounds):
        for process in processes:
            _check(process, arrays, number % 2 * half)
    return rounds * half * len(processes) * 1e9 / (time.perf_counter_ns() - start)


def _check(process: _Worker, arrays: list[Any], first: int) -> None:
    """Wait for the worker's oldest answer and look at each result."""
    assert os.read(process.answer, 1)
    for block in range(first, first + BLOCKS // 2):
        assert float(process.results[block][-1]) == float(arrays[block][-1]) + 1
