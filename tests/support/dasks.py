"""Dask clusters that Cellmill did not start, without dashboards and log lines; and how tests start workers of Dask."""

from __future__ import annotations

import multiprocessing
from typing import Any


def fork_workers() -> None:
    """Have the clusters of this process fork their workers from a process that has imported Dask.

    A worker that imports Dask itself, as those of users and of the programs that tests start do, takes the processor a
    second and a half: for most tests that is all of their cost.
    """
    import dask
    from distributed import utils

    utils._forkserver_preload_set = True  # Dask's own preload has pandas
    multiprocessing.get_context("forkserver").set_forkserver_preload(["distributed", "pandas"])
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})


def local_cluster(**options: Any) -> Any:
    """Start a `distributed.LocalCluster`; a context manager."""
    from distributed import LocalCluster

    return LocalCluster(
        dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}, silence_logs=50, **options
    )
