"""joblib's own tests of its process backend, with Cellmill in its place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import joblib.test
import pytest

PLUGIN = """
import joblib.parallel
import cellmill.joblib

joblib.parallel.BACKENDS["loky"] = joblib.parallel.BACKENDS.pop("cellmill")
"""
SETTINGS = "[pytest]\nmarkers =\n  thread_unsafe\n  no_cover\n"
NOT_HERE = {
    "of loky's class, its pool or its default number of jobs": (
        "test_backend_context_manager",
        "test_nested_backend_in_sequential",
        "test_nested_parallelism_limit",
        "test_error_capture",
        "test_backend_batch_statistics_reset",
        "test_nested_parallel_warnings",
    ),
    "arrays are not files mapped by numpy": (
        "test_auto_memmap_on_arrays_from_generator",
        "test_memmapping_leaks",
    ),
    "generators of one pool may overlap": ("test_multiple_generator_call_separated_gc",),
    "an initializer belongs to the executor": ("test_initializer_context", "test_initializer_parallel"),
}


@pytest.mark.long
def test_pass_with_cellmill_beneath(tmp_path: Path) -> None:
    (tmp_path / "beneath.py").write_text(PLUGIN)
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    left_out = " or ".join(name for names in NOT_HERE.values() for name in names)
    theirs = Path(joblib.test.__file__).with_name("test_parallel.py")
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
    command += ["-k", f"loky and not ({left_out})", str(theirs)]
    run = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout
    found = re.search(r"(\d+) passed", run.stdout)
    assert found is not None
    assert int(found[1]) >= 100, run.stdout
