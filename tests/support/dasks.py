"""Dask clusters that Cellmill did not start, without dashboards and log lines."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
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


def miss_callers_after(seconds: float) -> None:
    """Have a worker, where this runs, look so often whether kernels are there that send it nothing."""
    from cellmill.backends.cluster.remote import dask_callers

    dask_callers.LOOK_SECONDS = seconds


def found_there(dask_worker: Any) -> dict[str, Any]:
    """What a worker's process is like, where this runs, and what callers have in it until they go."""
    from cellmill.backends.cluster.remote import entry

    return {
        "pid": os.getpid(),
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "filters": warnings.filters[:],
        "levels": {
            name: level
            for name in list(logging.root.manager.loggerDict)
            if (level := logging.getLogger(name).level)
        },
        "lanes": sorted(entry._runners),
        "looks": [name for name in dask_worker.periodic_callbacks if "cellmill" in name],
    }
