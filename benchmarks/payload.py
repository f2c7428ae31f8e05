"""How long does an array take to a worker with a new one back, alone and many in flight?

`cellmill.bench.payload` with `bare_copy` as the ceiling: what the memory allows.
"""

from __future__ import annotations

from cellmill.bench import payload
from cellmill.bench.turn import Sizes, Turn

from . import bare_copy
from .ceilings import with_ceilings

BARE = "bare-copy"


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime, sizes from small to large; or the ceiling."""
    if runtime != BARE:
        return payload.turn(runtime, workers, sizes)
    seconds, most = float(sizes["seconds"]), int(sizes["most"])
    rate, count = bare_copy.rate(workers, int(sizes["stream_bytes"]), seconds, most)
    return Turn({"stream": rate}, {"tasks": count})


BENCHMARK = with_ceilings(
    payload.BENCHMARK,
    __name__,
    {BARE: "bare processes (ceiling)"},
    note=(
        "bare processes: the kernel copies the array into shared memory, a process adds into other shared memory, "
        "the kernel reads one number there; a byte in a pipe each way per 8 arrays, nothing else."
    ),
)
