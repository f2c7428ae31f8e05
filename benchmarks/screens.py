"""How busy does a docking screen keep many workers, while its rounds overlap and while each waits for the one before?

Dockings sleep, for times as real ones have them, so that the workers may be more than the processors. Everything else
is the screen's own: what it trains, predicts and chooses takes the processors' time.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from random import Random
from typing import Any

import cellmill
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn
from cellmill.examples import examples_folder

PACKAGES = ("rdkit", "sklearn", "meeko", "vina")
SEARCHES = 2  # of each molecule


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    workers, rounds, each = sizes["workers"], sizes["rounds"], sizes["per_round"]
    return [
        Metric("busy", f"of the time of {workers} workers, docking: {rounds} rounds of {each}", "%"),
        Metric("seconds", "the same: from the first docking to the last", "s", "lower"),
    ]


def turn(runtime: str, _: int, sizes: Sizes) -> Turn:
    """One screen; with ``barrier`` a round is chosen when the one before has landed."""
    sys.path.insert(0, examples_folder())
    inputs, library, records, screen = (
        importlib.import_module(f"docking.{name}") for name in ("inputs", "library", "records", "screen")
    )
    workers, per_round, seconds = int(sizes["workers"]), int(sizes["per_round"]), float(sizes["seconds"])
    smiles = library.couple(library.pairs(int(sizes["library"]), seed=2))
    entries = [records.Entry(row, text, f"m{row}") for row, text in enumerate(smiles, start=1)]
    with cellmill.Executor(workers, preload=inputs.PRELOADED) as ex:
        cellmill.set_default_executor(ex)
        ex.run_on_workers(int)

        def dock(text: str, search: Any) -> Any:
            drawn = Random(f"{text} {search.number}")
            took = seconds * drawn.uniform(0.5, 1.5)
            time.sleep(took)
            return records.Docked(text, -len(text) / 8 - drawn.random(), seconds=took)

        campaign = screen.Screen(
            entries,
            cellmill.parallel(dock),
            searches=SEARCHES,
            overlap=0 if runtime == "barrier" else workers,
        )
        start = time.perf_counter()
        campaign.dock_start(2 * per_round)
        for _round in range(int(sizes["rounds"])):
            campaign.train(check=False)
            campaign.infer()
            campaign.dock_best(per_round)
        campaign.finish()
        took = time.perf_counter() - start
        cellmill.set_default_executor(None)
    return Turn({"busy": 100 * campaign.busy_share(workers), "seconds": took})


def _missing(_: str) -> str | None:
    lacking = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    return f"needs {', '.join(lacking)}: pip install 'cellmill[docking]'" if lacking else None


BENCHMARK = Benchmark(
    name="screens",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "barrier"),
    full={"workers": 64, "per_round": 64, "rounds": 4, "library": 2000, "seconds": 4.0},
    quick={"workers": 16, "per_round": 16, "rounds": 2, "library": 300, "seconds": 0.5},
    own={"barrier": "rounds that do not overlap"},
    missing=_missing,
)
