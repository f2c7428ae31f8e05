"""Clusters that Cellmill did not start, for all tests that leave them as they were: each takes seconds to start.

Their tests come last, those of one cluster after another: a cluster takes some of the processor's time as long as it is
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from tests.support.dasks import lent
from tests.support.rays import OwnRay
from tests.support.waiting import until

CLUSTERS = ("on_ray", "threads", "processes")
BY_PARAMETER = {  # of tests that ask for one by the name of a parameter
    ("test_own_modules", "dask"): "threads",
    ("test_own_modules", "ray"): "on_ray",
    ("test_staying", "dask"): "processes",
    ("test_staying", "ray"): "on_ray",
}
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if HERE not in item.path.parents:
        return 0
    names = set(getattr(item, "fixturenames", ()))
    given = getattr(getattr(item, "callspec", None), "params", {}).values()
    names.update(BY_PARAMETER.get((item.path.stem, str(each)), "") for each in given)
    return max((1 + at for at, name in enumerate(CLUSTERS) if name in names), default=0)


@pytest.fixture(scope="session")
def threads() -> Iterator[Any]:
    """A client of a cluster of one process with three threads."""
    with lent(n_workers=1, threads_per_worker=3) as client:
        yield client


@pytest.fixture(scope="session")
def processes() -> Iterator[Any]:
    """A client of a cluster of two processes with a thread each."""
    with lent(n_workers=2, threads_per_worker=1) as client:
        yield client


@pytest.fixture(scope="session")
def on_ray(own_ray: OwnRay) -> Iterator[Executor]:
    """Two actors more on the Ray of all tests."""
    with Executor(2, backend=own_ray.backend, actor={"num_cpus": 0}) as executor:
        until(lambda: executor.stats().workers == 2)
        yield executor
