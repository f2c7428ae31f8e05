"""Clusters of Dask start their workers quickly."""

from __future__ import annotations

import contextlib

from tests.support.dasks import fork_workers

with contextlib.suppress(ModuleNotFoundError):
    fork_workers()
