"""Clusters of Dask start their workers quickly."""

from __future__ import annotations

import contextlib

import pytest

from tests.support.dasks import fork_workers


@pytest.fixture(scope="session", autouse=True)
def quick_workers() -> None:
    """Not on import of this file: pytest's `caplog` stayed empty then in tests on Dask."""
    with contextlib.suppress(ModuleNotFoundError):
        fork_workers()
