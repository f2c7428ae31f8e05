"""Dask clusters that Cellmill did not start, without dashboards and log lines."""

from __future__ import annotations

from typing import Any


def local_cluster(**options: Any) -> Any:
    """Start a `distributed.LocalCluster`; a context manager."""
    from distributed import LocalCluster

    return LocalCluster(
        dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}, silence_logs=50, **options
    )
