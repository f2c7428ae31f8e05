"""How long is a round trip, while tasks flow and after idleness, and what does idleness cost?

`cellmill.bench.latency` with two processes and two pipes as the ceiling of a round trip after idleness.
"""

from __future__ import annotations

import os
import time

from cellmill.bench import latency, measure
from cellmill.bench.turn import Sizes, Turn

from .ceilings import with_ceilings

BARE = "bare-pipe"


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime, everything once; or the ceiling."""
    if runtime == BARE:
        return _bare_pipe(float(sizes["idle_s"]), int(sizes["idle_trips"]))
    return latency.turn(runtime, workers, sizes)


def _bare_pipe(idle_s: float, count: int) -> Turn:
    """A byte to a process that waits, and one back, each after a pause: two wake-ups and nothing else."""
    there, back = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(there[1])
        while os.read(there[0], 1):
            os.write(back[1], b"x")
        os._exit(0)
    spent = []
    try:
        for _ in range(count + 1):
            start = time.perf_counter_ns()
            os.write(there[1], b"x")
            os.read(back[0], 1)
            spent.append((time.perf_counter_ns() - start) / 1e3)
            time.sleep(idle_s)
        del spent[0]  # the process had just been forked
    finally:
        for fd in (*there, *back):
            os.close(fd)
        os.waitpid(pid, 0)
    return Turn({"after_idleness_p50": measure.p50(spent)}, {"after_idleness_us": spent})


BENCHMARK = with_ceilings(latency.BENCHMARK, __name__, {BARE: "two processes and two pipes (ceiling)"})
