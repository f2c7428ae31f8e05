"""Does the advice keep its promise?

Prepared runs of all kinds: a run, its best advice, the change made (by `Advice.apply` where that does it, else the
prepared change of its code), the run again; that three times. The median of what was measured by what was promised is
to be within a quarter of 1; a repetition without advice counts as a miss in it. Where nothing is to be advised, no
repetition may advise anything, and the best try may not shorten the run by a sixth.
"""

from __future__ import annotations

import ast
import itertools
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cellmill.bench.harness import Benchmark, Metric, Report
from cellmill.bench.turn import Sizes, Turn

from .notebook import Notebook
from .prepared_runs import FUNCTIONS, PREPARE, RUNS, Prepared

WITHIN = 0.25  # of the promise
HELPS = 5 / 6  # of the time: what a change must bring it to
SILENT = 100.0  # times the promise, where there was none and should have been one
LIMIT_S = 60.0
IMPORTS = (0.4, 0.2)  # seconds of the two modules that a run may import
_ASK = (
    "(lambda found: (found.wall, [(each.kind, each.seconds, each.can_apply) for each in found.advice]))"
    "(cellmill.account())"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run, with the medians of all repetitions."""

    name: str
    before: float
    kind: str  # of the advice, or none; those of all repetitions
    promised: float  # where there was none: at least so much
    after: float
    ratio: float  # of `after` to what was promised then
    kept: bool


class _Try(NamedTuple):
    before: float
    kind: str
    promised: float
    after: float


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [Metric(run.name, run.name, "times the promise", "lower") for run in _chosen(sizes)]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """All runs, in one kernel."""
    with tempfile.TemporaryDirectory(prefix="cellmill-bench-") as folder, Notebook() as notebook:
        _run(notebook, f"{PREPARE}\nsys.path.insert(0, {folder!r})")
        _run(notebook, FUNCTIONS.strip())
        modules = _modules(Path(folder))
        outcomes = [_outcome(notebook, run, int(sizes["times"]), modules) for run in _chosen(sizes)]
    values = {outcome.name: outcome.ratio for outcome in outcomes}
    return Turn(values, {"outcomes": [asdict(outcome) for outcome in outcomes]})


def _chosen(sizes: Sizes) -> list[Prepared]:
    return [run for run in RUNS if not sizes["runs"] or run.name in sizes["runs"]]


def _run(notebook: Notebook, code: str, ask: str = "") -> str:
    cell = notebook.run(code, LIMIT_S, ask)
    if cell.status != "ok":
        raise RuntimeError(f"{cell.error or cell.status} in {code!r}: {cell.output}")
    return cell.answer


def _modules(folder: Path) -> Iterator[list[str]]:
    """Yield the names of two modules that no process has imported."""
    for number in itertools.count():
        names = [f"slow_{number}", f"slower_{number}"]
        for name, seconds in zip(names, IMPORTS, strict=True):
            (folder / f"{name}.py").write_text(f"import time\ntime.sleep({seconds})\n")
        yield names


def _outcome(notebook: Notebook, run: Prepared, times: int, modules: Iterator[list[str]]) -> Outcome:
    tries = [_try(notebook, run, next(modules)) for _ in range(times)]
    before = statistics.median(tried.before for tried in tries)
    promised = statistics.median(tried.promised for tried in tries)
    after = statistics.median(tried.after for tried in tries)
    if run.tried:  # nothing is to be advised
        ratio = after / promised
        kept = not any(tried.kind for tried in tries) and after > HELPS * before
    else:  # where nothing was advised, a repetition is as far off as can be
        ratio = statistics.median(tried.after / tried.promised if tried.kind else SILENT for tried in tries)
        kept = abs(ratio - 1) <= WITHIN
    kind = " or ".join(sorted({tried.kind or "none" for tried in tries}))
    return Outcome(run.name, before, kind, promised, after, ratio, kept)


def _run_with(notebook: Notebook, workers: int, cell: str) -> None:
    _run(notebook, f"%cellmill workers {workers}")
    _run(notebook, "_ = default_executor().run_on_workers(int)")
    _run(notebook, cell)


def _try(notebook: Notebook, run: Prepared, modules: list[str]) -> _Try:
    if run.earlier:
        _run_with(notebook, run.earlier, run.cell)
    _run(notebook, f"%cellmill workers {run.workers}\nmodules = {modules!r}")
    if run.renewed:
        _run(notebook, "%cellmill restart")
    _run(notebook, "_ = default_executor().run_on_workers(int)")
    _run(notebook, run.cell)
    before, advice = ast.literal_eval(_run(notebook, "", _ASK))
    kind, promised, applies = advice[0] if advice else ("", before, False)
    if not advice:
        _run(notebook, run.tried or "pass")
    elif applies:
        _run(notebook, "cellmill.account().advice[0].apply()")
    elif kind not in run.changed:
        return _Try(before, f"{kind}?", promised, before)
    _run(notebook, "_ = default_executor().run_on_workers(int)")
    if kind == "loop":
        return _Try(before, kind, promised, float(_run(notebook, run.changed[kind], "took")))
    _run(notebook, run.changed.get(kind, run.cell))
    after, _ = ast.literal_eval(_run(notebook, "", _ASK))
    return _Try(before, kind, promised, after)


def _finish(report: Report) -> None:
    """Put the table of promises first."""
    outcomes: list[dict[str, Any]] = [o for turn in report.turns for o in turn["details"]["outcomes"]]
    kept = sum(outcome["kept"] for outcome in outcomes)
    lines = [f"{kept} of {len(outcomes)} promises are kept within {WITHIN:.0%}."]
    for outcome in outcomes:
        kind = outcome["kind"]
        times = " ".join(f"{outcome[key]:8.3f}" for key in ("before", "promised", "after"))
        mark = "kept" if outcome["kept"] else "NOT KEPT"
        lines.append(f"  {outcome['name']:42} {kind:20} {times} s  {mark}")
    report.summary = "\n".join(lines)


BENCHMARK = Benchmark(
    name="advice",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill",),
    full={"times": 3, "runs": []},
    quick={"times": 1, "runs": []},
    notes=(
        (
            "seconds are of the run, of the promise, and of the run after the change; where nothing was advised, after "
            "the best try, which may not shorten it by a sixth."
        ),
        "the number of workers is each run's own; most bodies sleep, and need no quiet machine.",
    ),
    finish=_finish,
    once=True,
)
