"""Dask's graphs on Cellmill's workers: ``compute`` and ``persist`` of delayed, bag, array, dataframe and the like.

::

    import cellmill.dask

    with cellmill.dask.scheduler():
        total.compute()

`get` is a scheduler as Dask knows them: ``dask.config.set(scheduler=cellmill.dask.get)``, or
``total.compute(scheduler=cellmill.dask.get)``. It hands the whole graph to the scheduler at once; values pass from
worker to worker, and only those asked for come to this process.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.config

from ..errors import UsageError
from ..executor import Executor
from .get import get

__all__ = ["get", "scheduler"]


def scheduler(executor: Executor | None = None) -> Any:
    """Make Dask use `get` from now on, or in a ``with`` block; on ``executor``, or on the default one."""
    if executor is not None and not isinstance(executor, Executor):
        raise UsageError(f"executor must be a cellmill.Executor, not {executor!r}")
    chosen = get if executor is None else partial(get, executor=executor)
    return dask.config.set(scheduler=chosen)
