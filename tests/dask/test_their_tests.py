"""Dask's own tests of its local schedulers, with Cellmill in their place."""

from __future__ import annotations

from pathlib import Path

import dask
import pytest

from tests.support.their_tests import passed_beneath

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
    package = Path(dask.__file__).parent
    files = [package / name for name in FILES if (package / name).exists()]
    assert passed_beneath(tmp_path, PLUGIN, MARKERS.split(), NOT_HERE, files, timeout=1500) >= 1400
