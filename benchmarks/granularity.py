"""How much of the processors' time is left to tasks of 10 us to 10 ms, and how short may they be?

`cellmill.bench.granularity` with `bare_ring` as the ceiling of how short tasks may be.
"""

from __future__ import annotations

from cellmill.bench import granularity, metg
from cellmill.bench.turn import Sizes, Turn

from . import bare_ring
from .ceilings import with_ceilings

BARE = "bare-ring"


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime, every duration; or the ceiling."""
    return _bare_ring(workers, sizes) if runtime == BARE else granularity.turn(runtime, workers, sizes)


def _bare_ring(workers: int, sizes: Sizes) -> Turn:
    """How short tasks may be where nothing but rings and pickles is between them."""
    if "submit" not in sizes["sweep"]:
        return Turn({})
    with bare_ring.rings(workers) as bare:
        points = metg.sweep(
            lambda rounds, tasks: tasks / bare.go(tasks, bare_ring.BUSY, (rounds,)),
            workers,
            float(sizes["rounds_per_us"]),
            float(sizes["sweep_seconds"]),
            int(sizes["most"]),
        )
    return Turn({"metg_submit": metg.half(points)})


BENCHMARK = with_ceilings(granularity.BENCHMARK, __name__, {BARE: "bare ring (ceiling)"})
