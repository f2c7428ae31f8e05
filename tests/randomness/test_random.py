"""Random numbers of tasks in worker processes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
    cellmill.seed(None)


def test_a_worker_that_dies_draws_the_same_when_its_task_is_retried(tmp_path: Path) -> None:
    rng = random.Random(8)

    def draw(folder: str) -> float:
        value = float(rng.random())
        with open(os.path.join(folder, "drawn"), "a") as file:
            file.write(f"{value}\n")
        if tasks.count_call(folder) == 1:
            tasks.die("SIGKILL")
        return value

    with Executor(2) as ex:
        retried = ex.options(retries=2)
        for i in range(2):
            folder = tmp_path / str(i)
            folder.mkdir()
            if i:
                value = next(iter(retried.map(draw, [str(folder)])))
            else:
                value = retried.submit(draw, str(folder)).result(SECONDS)
            assert (folder / "drawn").read_text().split() == [str(value)] * 2


def test_elements_of_a_lost_chunk_draw_the_same(tmp_path: Path) -> None:
    """The rest of the chunk goes to another worker, with the numbers it would have had."""
    rng, folder = random.Random(8), str(tmp_path)

    def draw(x: int) -> float:
        value = float(rng.random())
        if x == 5 and tasks.count_call(folder) == 1:
            tasks.die("SIGKILL")
        return value

    with Executor(2) as ex:
        lost = list(ex.options(retries=1).map(draw, range(12), chunksize=4))
        assert lost == list(ex.map(draw, range(12), chunksize=1))


def test_any_number_of_workers() -> None:
    def draw(x: int) -> float:
        return float(rng.random())

    rng = np.random.default_rng(4)
    with Executor(2) as ex:
        drawn = list(ex.map(draw, range(20), chunksize=7))
    for workers in (1, 3):
        with Executor(workers) as ex:
            assert list(ex.map(draw, range(20))) == drawn


def test_each_worker_draws_its_own_beside_tasks() -> None:
    rng = random.Random(4)
    with Executor(2) as ex:
        assert len(set(ex.run_on_workers(lambda: float(rng.random())))) == 2


def test_a_map_has_the_state_at_its_start() -> None:
    """Whatever the notebook draws while the rest of the elements is sent."""
    with Executor(1) as ex:
        drawn: list[list[float]] = []
        for _ in range(2):
            rng = np.random.default_rng(1)

            def draw(x: int, rng: Any = rng) -> float:
                return float(rng.random())

            results = ex.map(draw, iter(range(40)), chunksize=2)
            first = next(results)
            if drawn:
                rng.random(3)
            drawn.append([first, *results])
        assert drawn[0] == drawn[1]


def test_calls_go_the_short_way_again() -> None:
    """A seed that ended, or a generator that is bound no more, costs nothing afterwards."""
    with Executor(1) as ex:
        sender: Any = ex._backend.sender  # type: ignore[attr-defined]
        cellmill.seed(1)
        assert sender.plain.call(tasks.double, (1,), 0, 0) is None
        cellmill.seed(None)
        ex.submit(tasks.double, 1).result(SECONDS)
        future = sender.plain.call(tasks.double, (2,), ex._backend.open_run(), 0)
        assert future is not None
        assert future.result(SECONDS) == 4


def test_numpy_is_seeded_where_a_task_imports_it_first() -> None:
    """The kernel itself imports it nowhere."""
    program = (
        "import cellmill, sys\n"
        "def draw(x):\n"
        "    import numpy\n"
        "    return float(numpy.random.rand())\n"
        "rows = []\n"
        "if __name__ == '__main__':\n"
        "    for workers in (1, 2):\n"
        "        with cellmill.Executor(workers) as ex:\n"
        "            cellmill.seed(7)\n"
        "            rows.append(list(ex.map(draw, range(4), chunksize=1)))\n"
        "    assert rows[0] == rows[1] and len(set(rows[0])) == 4, rows\n"
        "    assert 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr


def test_functions_that_refer_to_cellmill() -> None:
    def version() -> str:
        return cellmill.__version__

    with Executor(1) as ex:
        assert ex.submit(version).result(SECONDS) == cellmill.__version__
