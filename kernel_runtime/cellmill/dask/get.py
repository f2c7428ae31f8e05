"""`get`: what Dask calls to have a graph computed."""

from __future__ import annotations

from typing import Any

import dask.config
from dask.callbacks import local_callbacks, unpack_callbacks
from dask.core import flatten
from dask.local import get_async, get_sync, nested_get

from ..errors import UsageError, is_a
from ..executor import Executor, default_executor, in_worker
from .compute import Compute
from .graph import Options, annotations_of, nodes_of

OF_POOLS = ("pool", "initializer", "func_loads", "func_dumps")


def get(
    dsk: Any,
    keys: Any,
    cache: Any = None,
    callbacks: Any = None,
    *,
    executor: Executor | None = None,
    rerun_exceptions_locally: bool | None = None,
    **others: Any,
) -> Any:
    """Return the values of ``keys`` (a key, or nested lists of keys) of the graph ``dsk``, as Dask's schedulers do.

    ``executor``: a `cellmill.Executor`, else the default one. Options of Dask's own pools, as ``num_workers``, have no
    effect. Where there are callbacks that hear of each task with its value (Dask's profilers), each value is brought
    here, which takes longer. Raises the error of the task that failed; tasks that have not begun are cancelled. Raises
    `UsageError` for an option of Dask's own pools without which values would be others.
    """
    for name in OF_POOLS:
        if others.get(name) is not None:
            raise UsageError(
                f"{name}= is an option of Dask's own pools and has no meaning here. Make an Executor with the workers "
                "and the initializer that you want, and name it: cellmill.dask.scheduler(executor)"
            )
    if executor is not None and not isinstance(executor, Executor):
        raise UsageError(f"executor must be a cellmill.Executor, not {executor!r}")
    if cache is None:
        cache = dask.config.get("cache", None)
    if in_worker():  # the workers are taken: by the task that asks, among others
        return get_sync(dsk, keys, cache=cache, callbacks=callbacks)
    chosen = executor or default_executor()
    wanted = set(flatten(keys)) if isinstance(keys, list) else {keys}
    with local_callbacks(callbacks) as active:
        told = list(active)
        starts, on_state, on_task, on_value, ends = unpack_callbacks(told)
        if on_value:
            workers = chosen.max_workers
            return get_async(chosen.submit, workers, dsk, keys, cache=cache, callbacks=told)
        nodes = nodes_of(dsk, cache)
        work = Compute(nodes, wanted, Options(annotations_of(dsk)), chosen)
        succeeded = False
        try:
            for start in starts:
                start(nodes)
            work.begin(on_state, on_task)
            found = work.values()
            succeeded = True
        except BaseException as error:
            work.stop(error)
            if rerun_exceptions_locally is None:
                rerun_exceptions_locally = dask.config.get("rerun_exceptions_locally", False)
            if not rerun_exceptions_locally or not is_a(error, Exception):
                raise
        finally:
            work.finish()
            for end in ends:
                end(nodes, work.state, not succeeded)
        return nested_get(keys, found) if succeeded else get_sync(dsk, keys, cache=cache)
