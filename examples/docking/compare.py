"""The same inference on every backend: how many molecules a second, and where the time of a task goes.

The journey of a task has the same eight stamps everywhere, so its seven intervals can stand side by side.
"""

from __future__ import annotations

import importlib.util
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import cellmill
from cellmill.backends import KNOWN
from cellmill.telemetry.schema import INTERVALS, STAGES
from docking.plots import INK, MODEL
from docking.records import DockingInputError
from docking.surrogate import Surrogate

ENGINES = {"dask": "distributed", "ray": "ray"}
"""The packages that some backends need."""

COLORS = ("#c9cfd6", "#8a94a0", "#f0a35e", "#7b61c9", "#1f6feb", "#2f9e6e", "#d9480f")
"""Of the seven intervals, in their order."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one backend did: ``rate`` in molecules a second through a batched map, ``start`` in seconds until every
    worker had the model, and the mean ``intervals`` of a task of some molecules, in milliseconds; None where the
    backend cannot tell."""

    backend: str
    start: float
    rate: float
    tasks: int
    intervals: tuple[float | None, ...]
    scores: list[float]

    @property
    def latency(self) -> float:
        """Milliseconds of a task from submit to result."""
        return sum(value or 0.0 for value in self.intervals)


def available(names: Iterable[str] = ("local", "threads", "dask", "ray")) -> dict[str, str]:
    """For each backend why it cannot run here; empty where it can."""
    reasons = {}
    for name in names:
        engine = ENGINES.get(name)
        if name not in KNOWN:
            reasons[name] = "not in this version"
        elif engine is not None and importlib.util.find_spec(engine) is None:
            reasons[name] = f"{engine} is not installed: pip install 'cellmill[{name}]'"
        else:
            reasons[name] = ""
    return reasons


def measure(
    backend: str, model: Surrogate, smiles: Sequence[str], *, workers: int = 2, size: int = 10
) -> Measured:
    """Infer ``smiles`` twice on a new executor: as tasks of ``size`` molecules, and as one batched map.

    Of the tasks one a worker is outstanding, so that what is seen is the way there and back, and not the queue.
    """

    shared = cast(Surrogate, cellmill.share(model))  # sent once: no call has to look whether it has changed

    def infer(molecules: list[str]) -> list[float]:
        return shared.scores(molecules)

    begun = time.monotonic()
    with cellmill.Executor(workers, backend=backend) as executor:
        warm = smiles[:size]
        executor.run_on_workers(lambda: None)
        for _ in _stream(executor, infer, [warm] * 4 * workers, workers):
            pass
        start = time.monotonic() - begun
        seen = sum(1 for _ in executor.journey_rows())
        parts = [smiles[at : at + size] for at in range(0, len(smiles), size)]
        scores = [score for part in _stream(executor, infer, parts, workers) for score in part]
        rows = list(executor.journey_rows())[seen:]
        batched = executor.options(batch=True)
        list(batched.map(infer, smiles[: 10 * size]))  # so that sizes are known
        begun = time.monotonic()
        again = list(batched.map(infer, smiles))
        rate = len(smiles) / (time.monotonic() - begun)
    if again != scores:
        raise DockingInputError(f"the {backend} backend gave other scores in batches than in tasks")
    return Measured(backend, start, rate, len(parts), _intervals(rows), scores)


def _stream(executor: Any, function: Any, parts: Sequence[Any], most: int) -> Iterator[Any]:
    """Results in order, with at most so many calls outstanding."""
    flying: deque[Any] = deque()
    for part in parts:
        if len(flying) == most:
            yield flying.popleft().result()
        flying.append(executor.submit(function, part))
    while flying:
        yield flying.popleft().result()


def _intervals(rows: Sequence[dict[str, Any]]) -> tuple[float | None, ...]:
    """The mean of each interval over the rows of finished tasks, in milliseconds."""
    means: list[float | None] = []
    for before, after in pairwise(STAGES):
        spans = [row[after] - row[before] for row in rows if row[before] and row[after]]
        means.append(sum(spans) / len(spans) / 1e6 if spans else None)
    return tuple(means)


def table(measured: Sequence[Measured]) -> Any:
    """One row per backend as a pandas DataFrame: start, rate, and the intervals in milliseconds."""
    import pandas

    rows = [
        {
            "backend": m.backend,
            "start, s": round(m.start, 1),
            "molecules/s": round(m.rate),
            "task, ms": round(m.latency, 2),
            **{
                name: "unknown" if value is None else round(value, 3)
                for name, value in zip(INTERVALS, m.intervals, strict=True)
            },
        }
        for m in measured
    ]
    return pandas.DataFrame(rows).set_index("backend")


def chart(measured: Sequence[Measured]) -> Any:
    """Side by side: where the time of a task goes on each backend, and how many molecules a second it infers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 1.5 + 0.55 * len(measured)), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.7, 1))
    places = range(len(measured))
    ends = [0.0] * len(measured)
    for number, name in enumerate(INTERVALS):
        widths = [m.intervals[number] or 0.0 for m in measured]
        left.barh(places, widths, left=ends, color=COLORS[number], height=0.6, label=name)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    for place, end in zip(places, ends, strict=True):
        left.annotate(f" {end:.1f} ms", (end, place), va="center", color=INK)
    left.set_xlim(0, 1.2 * max(ends))
    left.set_xlabel("mean time of a task, from submit to result (ms)")
    bars = right.barh(places, [m.rate for m in measured], color=MODEL, height=0.6)
    right.bar_label(bars, labels=[f" {m.rate:,.0f}" for m in measured], color=INK)
    right.set_xlim(0, 1.3 * max(m.rate for m in measured))
    right.set_xlabel("molecules a second, in batches")
    for axes, labels in ((left, [m.backend for m in measured]), (right, [""] * len(measured))):
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=len(INTERVALS), frameon=False, fontsize=8.5)
    return figure
