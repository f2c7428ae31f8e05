"""joblib's own tests of its process backend, with Cellmill in its place."""

from __future__ import annotations

from pathlib import Path

import joblib.test
import pytest

from tests.support.their_tests import passed_beneath

PLUGIN = """
import joblib.parallel
import cellmill.joblib

joblib.parallel.BACKENDS["loky"] = joblib.parallel.BACKENDS.pop("cellmill")
"""
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
    theirs = Path(joblib.test.__file__).with_name("test_parallel.py")
    markers = ("thread_unsafe", "no_cover")
    passed = passed_beneath(tmp_path, PLUGIN, markers, NOT_HERE, [theirs], of="loky", timeout=600)
    assert passed >= 100
