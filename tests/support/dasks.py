"""Dask clusters that Cellmill did not start, without dashboards and log lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest


def local_cluster(**options: Any) -> Any:
    """Start a `distributed.LocalCluster`; a context manager."""
    from distributed import LocalCluster

    return LocalCluster(
        dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}, silence_logs=50, **options
    )


@contextlib.contextmanager
def lent(**options: Any) -> Iterator[Any]:
    """A client of such a cluster. It drops no worker that takes long to come again on a busy machine."""
    distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
    from dask import config

    with (
        config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        local_cluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def all_there(client: Any) -> Any:
    """The same client, once its cluster has its workers: a test before may have ended one."""
    client.wait_for_workers(len(client.cluster.worker_spec), timeout=60)
    return client
