"""How many no-op tasks, map elements and 1 MB arrays per second, and how far is that from what could be?

`cellmill.bench.throughput` with two ceilings: `bare_ring` (shared-memory rings and pickles, nothing else) and `ceiling`
(the C scheduler without Python around it).
"""

from __future__ import annotations

from cellmill.bench import throughput
from cellmill.bench.turn import Sizes, Turn

from . import bare_ring, ceiling
from .ceilings import with_ceilings

BARE, ALONE = "bare-ring", "csched"


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime or ceiling, everything once."""
    seconds, most = float(sizes["seconds"]), int(sizes["most"])
    if runtime == ALONE:
        rate, count = ceiling.rate(workers, seconds, most)
        return Turn({"submit": rate}, {"tasks": count})
    if runtime == BARE:
        return _bare_ring(workers, seconds, int(sizes["most_bare"]))
    return throughput.turn(runtime, workers, sizes)


def _bare_ring(workers: int, seconds: float, most: int) -> Turn:
    """The better of one worker and as many as the runtimes have: on two cores a second one may only be in the way."""
    rates = {str(n): bare_ring.rate(n, seconds, most)[0] for n in sorted({1, workers})}
    return Turn({"submit": max(rates.values())}, {"rate_by_workers": rates})


BENCHMARK = with_ceilings(
    throughput.BENCHMARK,
    __name__,
    {BARE: "bare ring (ceiling)", ALONE: "the C scheduler alone (ceiling)"},
    full={"most_bare": 2_000_000},
    quick={"most_bare": 200_000},
    note=(
        "bare ring: pickles of (function, arguments) through shared memory and cffi, bare result objects, no "
        "scheduler; the better of 1 and all workers. The C scheduler alone: records, rings, journeys and "
        "processes, but neither pickles nor results nor user code."
    ),
)
