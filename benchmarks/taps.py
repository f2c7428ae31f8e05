"""How long do TaPS's apps take with Cellmill beneath, and with the executors that TaPS has?

TaPS (the Task Performance Suite) is not on PyPI: see `missing_taps`. Its Cholesky decomposition passes on tiles that
are wrong where there is more than one block, whatever runs it, so it is timed as a flow of data, and a right one, of
TaPS's engine and the same kernels, is checked by its residual. Its docking app calls VMD and MGLTools: here a ligand is
prepared and docked by the functions of the docking example, and the app's own rounds, model and choice are kept.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellmill.bench.harness import OURS, Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn
from cellmill.examples import examples_folder

MOST_RESIDUAL = 1e-12
SEED = 7
SOURCE = "https://github.com/proxystore/taps"


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    matrix, block = int(sizes["matrix"]), int(sizes["block"])
    dockings = int(sizes["start"] + sizes["rounds"] * sizes["batch"])
    return [
        Metric("cholesky", f"TaPS's Cholesky app: {matrix} x {matrix}, blocks of {block}", "s", "lower"),
        Metric("decomposition", "a right decomposition of the same size, without a barrier", "s", "lower"),
        Metric("residual", "of that, |LL' - A| / |A|", "1e-16", "lower"),
        Metric("mapreduce", f"its MapReduce app: words of {int(sizes['files'])} files", "s", "lower"),
        Metric(
            "docking", f"its docking app: {dockings} molecules in {int(sizes['rounds'])} rounds", "s", "lower"
        ),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """All apps on one executor of TaPS's."""
    engine_of = importlib.import_module("taps.engine").Engine
    with tempfile.TemporaryDirectory() as folder, engine_of(executor_of(runtime, workers)) as engine:
        values = {}
        for _ in range(2):  # in the first round workers import what they need, and get memory
            values["cholesky"] = _cholesky(engine, int(sizes["matrix"]), int(sizes["block"]), folder)
            values["decomposition"], residual = _decomposition(
                engine, int(sizes["matrix"]), int(sizes["block"])
            )
        values["residual"] = 1e16 * residual
        values["mapreduce"] = _mapreduce(engine, int(sizes["files"]), int(sizes["words"]), folder)
        values["docking"] = _docking(engine, sizes, folder)
    return Turn(values)


def executor_of(runtime: str, workers: int) -> Any:
    """Make an executor from its configuration, as TaPS's command does."""
    if runtime == "cellmill":
        return importlib.import_module("cellmill.taps").CellmillConfig(max_workers=workers).get_executor()
    if runtime == "dask":
        found = importlib.import_module("taps.executor.dask").DaskDistributedConfig(workers=workers)
    else:
        found = importlib.import_module("taps.executor.python").ProcessPoolConfig(max_processes=workers)
    return found.get_executor()


def _cholesky(engine: Any, matrix: int, block: int, folder: str) -> float:
    app = importlib.import_module("taps.apps.cholesky").CholeskyApp(matrix, block)
    start = time.perf_counter()
    app.run(engine=engine, run_dir=Path(folder))
    return time.perf_counter() - start


def _decomposition(engine: Any, size: int, block: int) -> tuple[float, float]:
    """Return the seconds of a tiled decomposition, and its residual; raises `RuntimeError` if that is large."""
    import numpy

    kernels = importlib.import_module("taps.apps.cholesky")
    numpy.random.seed(SEED)
    matrix = kernels.create_psd_matrix(size)
    steps = range(size // block)
    start = time.perf_counter()
    tile: dict[tuple[int, int], Any] = {
        (i, j): matrix[i * block : (i + 1) * block, j * block : (j + 1) * block]
        for i in steps
        for j in range(i + 1)
    }
    for k in steps:
        tile[k, k] = engine.submit(kernels.potrf, tile[k, k])
        for i in steps[k + 1 :]:
            tile[i, k] = engine.submit(kernels.trsm, tile[k, k], tile[i, k])
        for i in steps[k + 1 :]:
            for j in range(k + 1, i + 1):
                tile[i, j] = engine.submit(updated, tile[i, j], tile[i, k], tile[j, k])
    lower = numpy.zeros_like(matrix)
    for (i, j), found in tile.items():
        lower[i * block : (i + 1) * block, j * block : (j + 1) * block] = found.result()
    took = time.perf_counter() - start
    residual = float(numpy.linalg.norm(lower @ lower.T - matrix) / numpy.linalg.norm(matrix))
    if residual > MOST_RESIDUAL:
        raise RuntimeError(f"the decomposition is wrong: its residual is {residual}")
    return took, residual


def updated(tile: Any, left: Any, right: Any) -> Any:
    """What remains of a tile behind one step."""
    return tile - left @ right.T


def _mapreduce(engine: Any, files: int, words: int, folder: str) -> float:
    """Return the seconds of the app; the counts are compared with those of one process first."""
    taps = importlib.import_module("taps.apps.mapreduce")
    texts = taps.generate_files(Path(folder, "texts"), files, words)
    counted = [engine.submit(taps.map_task, text) for text in texts]
    found = engine.submit(taps.reduce_task, *counted).result()
    if found != sum((Counter(text.read_text().split()) for text in texts), Counter()):
        raise RuntimeError("the words are counted wrong")
    app = taps.MapreduceApp(Path(folder, "texts"))
    start = time.perf_counter()
    app.run(engine=engine, run_dir=Path(folder))
    return time.perf_counter() - start


def _docking(engine: Any, sizes: Sizes, folder: str) -> float:
    """Return the seconds of the app, with the docking example's functions in the place of VMD and MGLTools."""
    sys.path.insert(0, examples_folder())
    os.environ.setdefault("CONDA_PREFIX", sys.prefix)  # the app's module asks for it
    app: Any = importlib.import_module("taps.apps.docking.app").DockingApp

    class Docking(app):
        def _submit_task_for_smiles(self, engine: Any, smiles: str, working_dir: Path) -> Any:
            return engine.submit(docked, engine.submit(prepared, smiles), smiles)

    library = Path(folder, "library.csv")
    library.write_text(
        "\n".join(["TITLE,SMILES", *(f"m{i},{text}" for i, text in enumerate(_molecules(200)))])
    )
    running = Docking(
        library,
        library,
        library,
        initial_simulations=int(sizes["start"]),
        num_iterations=int(sizes["rounds"]),
        batch_size=int(sizes["batch"]),
        seed=SEED,
    )
    engine.submit(docked, engine.submit(prepared, "CCO"), "CCO").result()  # workers have their maps
    start = time.perf_counter()
    running.run(engine=engine, run_dir=Path(folder))
    return time.perf_counter() - start


def _molecules(count: int) -> Sequence[str]:
    library = importlib.import_module("docking.library")
    found: Sequence[str] = library.couple(library.pairs(count, seed=SEED))
    return found


def prepared(smiles: str) -> str:
    """Return a ligand as PDBQT text."""
    sys.path.insert(0, examples_folder())
    ligand = importlib.import_module("docking.ligand")
    found: str = ligand.prepare(ligand.canonical(smiles), SEED)
    return found


def docked(ligand: str, smiles: str) -> tuple[str, float]:
    """Return a molecule and its score in kcal/mol."""
    return smiles, _vina().dock_pdbqt(ligand)[0][0]


@functools.cache
def _vina() -> Any:
    """Vina with the maps of the tutorial's receptor: one in each process."""
    sys.path.insert(0, examples_folder())
    dock, receptor, records = (
        importlib.import_module(f"docking.{name}") for name in ("dock", "receptor", "records")
    )
    return dock.Engine(receptor.tutorial_complex()[0], records.DockSettings(exhaustiveness=1))


def missing_taps(_: str) -> str | None:
    """Why no contender can be measured here; None where all can."""
    if importlib.util.find_spec("taps") and importlib.util.find_spec("taps.engine"):
        return None
    return f"needs TaPS, which is not on PyPI: pip install 'taps @ git+{SOURCE}'"


BENCHMARK = Benchmark(
    name="taps",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, "processes", "dask"),
    full={"matrix": 2000, "block": 200, "files": 40, "words": 50_000, "start": 8, "rounds": 2, "batch": 8},
    quick={"matrix": 300, "block": 100, "files": 4, "words": 2_000, "start": 4, "rounds": 1, "batch": 2},
    own={"processes": "TaPS's process pool", "dask": "TaPS's Dask"},
    missing=missing_taps,
)
