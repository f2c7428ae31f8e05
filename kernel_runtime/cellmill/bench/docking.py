"""How fast are 100,000 molecules scored, against the serial loop at its best batch size?

Workload: figure 12 of the Parsl paper (inference of the ParslDock tutorial), with the surrogate and the generated
library of ``examples/docking``.
"""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .harness import OURS, Benchmark, BenchmarkError, Metric, Report, Settings
from .turn import Sizes, Turn

NEEDED = ("rdkit", "sklearn", "numpy", "scipy", "threadpoolctl")
BATCHES = (1, 10, 100, 1000)
BEST = "serial:best"


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [Metric("molecules", f"inference over {sizes['molecules']:,} molecules", "molecules/s")]


def _examples() -> Path:
    """The folder that has the ``docking`` package."""
    spec = importlib.util.find_spec("docking")
    if spec is not None and spec.origin is not None and Path(spec.origin).with_name("inference.py").exists():
        return Path(spec.origin).parents[1]
    for above in (Path.cwd(), *Path(__file__).resolve().parents):
        if (above / "examples" / "docking" / "inference.py").exists():
            return above / "examples"
    raise BenchmarkError(
        "the example package `docking` is not at hand: run this in the repository, or put its examples/ folder on "
        "PYTHONPATH"
    )


def prepare(settings: Settings, sizes: dict[str, Any], folder: Path) -> None:
    """Train the surrogate, generate the molecules, and find the best batch size of the serial loop."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise BenchmarkError(f"{', '.join(missing)} missing: `pip install 'cellmill[docking]'` first")
    examples = _examples()
    sys.path.insert(0, str(examples))
    from .. import set_default_executor
    from ..executor import Executor

    inference = importlib.import_module("docking.inference")
    with Executor(settings.workers) as pool:
        set_default_executor(pool)
        try:
            smiles = inference.molecules(sizes["molecules"])
        finally:
            set_default_executor(None)
    surrogate = inference.model()
    sizes["examples"], sizes["work"] = str(examples), str(folder / "work.pickle")
    Path(sizes["work"]).write_bytes(pickle.dumps((surrogate, smiles)))
    sample = smiles[: sizes["serial_molecules"]]
    seconds = dict.fromkeys(BATCHES, float("inf"))
    for _ in range(2):
        for batch in BATCHES:
            took, _scores = _serial(surrogate, sample, batch)
            seconds[batch] = min(seconds[batch], took)
    sizes["best_batch"] = min(BATCHES, key=lambda batch: seconds[batch])


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Score all molecules in one way: ``runtime:batch``, or ``cellmill`` with automatic batches."""
    sys.path.insert(0, sizes["examples"])
    surrogate, smiles = pickle.loads(Path(sizes["work"]).read_bytes())
    kind, _, batch = runtime.partition(":")
    if kind == "serial":
        count = len(smiles) if batch == "best" else sizes["serial_molecules"]
        size = sizes["best_batch"] if batch == "best" else int(batch)
        took, scores = _serial(surrogate, smiles[:count], size)
    elif runtime == OURS:
        took, scores = _automatic(surrogate, smiles, workers)
    else:
        count = sizes["slow_molecules"] if runtime in SLOW else len(smiles)
        took, scores = _in_batches(kind, int(batch), surrogate, smiles[:count], workers)
    check = zlib.crc32(repr(scores).encode())
    return Turn({"molecules": len(scores) / took}, {"molecules": len(scores), "crc32": check})


def _timed(call: Callable[[], list[float]]) -> tuple[float, list[float]]:
    start = time.perf_counter()
    scores = call()
    return time.perf_counter() - start, scores


def _serial(surrogate: Any, smiles: list[str], batch: int) -> tuple[float, list[float]]:
    inference = importlib.import_module("docking.inference")
    inference.serial(surrogate, smiles[:50], 50)
    return _timed(lambda: inference.serial(surrogate, smiles, batch))


def _automatic(surrogate: Any, smiles: list[str], workers: int) -> tuple[float, list[float]]:
    """Score as a notebook does: a batch function that refers to the surrogate, and one map."""
    from .. import parallel
    from ..executor import Executor

    with Executor(workers) as pool:

        @parallel(batch=True, executor=pool)
        def score(molecules: list[str]) -> list[float]:
            return surrogate.scores(molecules)  # type: ignore[no-any-return]

        list(score.map(smiles[: 50 * workers]))
        return _timed(lambda: list(score.map(smiles)))


def score_batch(order: tuple[Any, list[str]]) -> list[float]:
    """Score one batch in a rival's task: the surrogate (2 kB) is sent with each batch."""
    surrogate, smiles = order
    return surrogate.scores(smiles)  # type: ignore[no-any-return]


def _in_batches(
    kind: str, batch: int, surrogate: Any, smiles: list[str], workers: int
) -> tuple[float, list[float]]:
    from .rivals import running

    orders = [(surrogate, smiles[i : i + batch]) for i in range(0, len(smiles), batch)]
    with running(kind, workers) as pool:
        pool.submit_all(score_batch, [((surrogate, smiles[:50]),)] * 4 * workers)

        def go() -> list[float]:
            results = pool.submit_all(score_batch, [(order,) for order in orders])
            return [score for part in results for score in part]

        return _timed(go)


def finish(report: Report) -> None:
    """Describe the rivals, and check that all found the same scores."""
    whole = [t for t in report.turns if t["details"]["molecules"] == report.sizes["molecules"]]
    same = len({t["details"]["crc32"] for t in whole}) == 1
    serial = [r for r in report.results if r.runtime.startswith("serial:")]
    ours = report.result("molecules", OURS)
    if serial and ours is not None:
        best = max(serial, key=lambda r: r.median)  # so that a badly chosen batch size cannot flatter us
        report.notes.insert(
            0,
            f"Cellmill with automatic batches is {ours.median / best.median:.2f}x the best row of the serial loop "
            f"on {report.settings.workers} workers; its best batch size was {report.sizes['best_batch']}.",
        )
    report.notes.append(
        "all scores are equal, to the last bit." if same else "THE SCORES DIFFER between the runtimes."
    )
    report.notes.append(
        f"serial at batch 1 to 1,000: over the first {report.sizes['serial_molecules']:,} molecules; Dask and Ray at "
        f"batch 1 and 10: over the first {report.sizes['slow_molecules']:,}."
    )


_NAMES = {OURS: "cellmill", "ppe": "ProcessPoolExecutor", "joblib": "joblib", "dask": "Dask", "ray": "Ray"}
_BATCHED = tuple(f"{key}:{batch}" for key in _NAMES for batch in BATCHES)
SLOW = ("dask:1", "dask:10", "ray:1", "ray:10")

BENCHMARK = Benchmark(
    name="docking",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", BEST, *(f"serial:{batch}" for batch in BATCHES), *_BATCHED),
    full={"molecules": 100_000, "serial_molecules": 5_000, "slow_molecules": 5_000},
    quick={"molecules": 4_000, "serial_molecules": 1_000, "slow_molecules": 1_000},
    own={
        "cellmill": "cellmill, automatic batches",
        BEST: "serial loop, best batch",
        **{f"serial:{batch}": f"serial loop, batch {batch}" for batch in BATCHES},
        **{key: f"{_NAMES[key.partition(':')[0]]}, batch {key.partition(':')[2]}" for key in _BATCHED},
    },
    prepare=prepare,
    finish=finish,
)
