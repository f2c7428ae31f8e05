"""Dask's own tests of its local schedulers, with Cellmill in their place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dask
import pytest

PLUGIN = """
import dask.base
import dask.multiprocessing
import dask.threaded
import cellmill.dask

for name in ("threads", "threading", "processes", "multiprocessing"):
    dask.base.named_schedulers[name] = cellmill.dask.get
dask.threaded.get = dask.multiprocessing.get = cellmill.dask.get
dask.config.set(scheduler=cellmill.dask.get)
"""
MARKERS = (
    "slow network gpu array_expr normal_and_array_expr skip_with_pyarrow_strings xfail_with_pyarrow_strings"
)
SETTINGS = "[pytest]\nmarkers =\n" + "".join(f"  {name}\n" for name in MARKERS.split())
FILES = (
    "tests/test_threaded.py",
    "tests/test_multiprocessing.py",
    "tests/test_callbacks.py",
    "tests/test_delayed.py",
    "bag/tests/test_bag.py",
    "diagnostics/tests/test_progress.py",
    "diagnostics/tests/test_profiler.py",
    "array/tests/test_array_core.py",
    "array/tests/test_reductions.py",
)
NOT_HERE = {
    "of the pools that Dask makes itself": (
        "test_pool_kwarg",
        "test_process_initializer",
        "test_custom_context_used_python3_posix",
    ),
    "tasks that wait for each other by locks of one process": (
        "test_interrupt",
        "test_contextvars",
        "test_context_aware_warnings",
    ),
    "a worker's warning is shown, and not raised here": (
        "test_array_cumreduction_axis",
        "test_nanquantile_all_nan",
    ),
    "the very object of the caller is returned": ("test_traverse_false",),
    "a plugin of pytest is not installed": ("test_binary_operator_delegation",),
    "what tasks change in the caller's memory": (
        "test_nested_schedulers",
        "test_to_delayed_optimize_graph",
        "test_store",
        "test_from_array_with_lock",
        "test_memmap",
    ),
}


@pytest.mark.long
def test_pass_with_cellmill_beneath(tmp_path: Path) -> None:
    (tmp_path / "beneath.py").write_text(PLUGIN)
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    left_out = " or ".join(name for names in NOT_HERE.values() for name in names)
    package = Path(dask.__file__).parent
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        "pytest.ini",
        "-p",
        "beneath",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "-k",
        f"not ({left_out})",
        *[str(package / name) for name in FILES if (package / name).exists()],
    ]
    run = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=1500
    )
    assert run.returncode == 0, run.stdout
    found = re.search(r"(\d+) passed", run.stdout)
    assert found is not None
    assert int(found[1]) >= 1400, run.stdout
