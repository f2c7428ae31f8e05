"""TaPS's apps and its command with Cellmill's executor beneath, where TaPS is installed: PyPI does not have it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import taps as apps

if apps.missing_taps("cellmill"):
    pytest.skip(str(apps.missing_taps("cellmill")), allow_module_level=True)

import numpy
from taps.engine import Engine, as_completed, wait

from cellmill.taps import CellmillConfig

SECONDS = 120.0


@pytest.fixture(scope="module")
def engine() -> Any:
    with Engine(CellmillConfig(max_workers=2).get_executor()) as engine:
        yield engine


def squared(x: int) -> int:
    return x * x


def failing(x: int) -> int:
    raise LookupError(f"no {x}")


def test_tasks_that_take_results_of_others(engine: Any) -> None:
    first = engine.submit(squared, 3)
    assert engine.submit(squared, first).result(SECONDS) == 81
    assert list(engine.map(squared, range(20))) == [x * x for x in range(20)]


def test_as_completed_and_wait(engine: Any) -> None:
    tasks = [engine.submit(squared, x) for x in range(10)]
    assert sorted(task.result() for task in as_completed(tasks, SECONDS)) == [x * x for x in range(10)]
    done, not_done = wait(tasks, SECONDS)
    assert done == set(tasks)
    assert not not_done


def test_errors(engine: Any) -> None:
    task = engine.submit(failing, 5)
    with pytest.raises(LookupError, match="no 5"):
        task.result(SECONDS)
    assert isinstance(engine.submit(squared, task).exception(), Exception)
    assert engine.submit(squared, 2).result(SECONDS) == 4


def test_a_decomposition_is_right(engine: Any) -> None:
    _, residual = apps._decomposition(engine, 120, 30)
    assert residual < 1e-14


def test_its_apps_run(engine: Any, tmp_path: Path) -> None:
    apps._mapreduce(engine, 4, 500, str(tmp_path))  # raises where the counts differ
    app: Any = importlib.import_module("taps.apps.cholesky").CholeskyApp(60, 20)
    numpy.random.seed(1)
    app.run(engine=engine, run_dir=tmp_path)


def test_the_command(tmp_path: Path) -> None:
    command = "--app cholesky --app.matrix-size 60 --app.block-size 20 --engine.executor cellmill"
    ran = subprocess.run(
        [sys.executable, "-m", "cellmill.taps", *command.split(), "--engine.executor.max-workers", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (records,) = tmp_path.glob("runs/*/tasks.jsonl")
    rows = [json.loads(line) for line in records.read_text().splitlines()]
    assert rows
    assert all(row["success"] for row in rows)
