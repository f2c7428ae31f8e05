"""How each runtime is used in a notebook, as code for cells: two workers, functions that were defined in a cell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """Cells of one runtime.

    ``start`` makes the pool; ``submit`` is an expression of ``function`` and ``argument`` that yields a handle,
    ``result`` one of ``handle`` and ``limit`` (seconds). Without handles, ``all`` is one of ``function`` and ``items``.
    """

    start: str
    submit: str = ""
    result: str = "handle.result(limit)"
    all: str = ""

    @property
    def definitions(self) -> str:
        """The cell after ``start``: ``outcomes(function, items)``, for each item (True, value) or (False, error)."""
        if self.all:
            return _ALL.format(all=self.all)
        return _EACH.format(submit=self.submit, result=self.result)


_EACH = """
import time
def outcomes(function, items, limit):
    handles, found, end = [], [], time.monotonic() + limit
    for argument in items:
        try:
            handles.append({submit})
        except Exception as error:
            handles.append(error)
    for handle in handles:
        try:
            if isinstance(handle, Exception):
                raise handle
            limit = max(end - time.monotonic(), 0.01)
            found.append((True, {result}))
        except Exception as error:
            found.append((False, type(error).__name__))
    return found
"""
_ALL = """
def outcomes(function, items, limit):
    try:
        return [(True, value) for value in {all}]
    except Exception as error:
        return [(False, type(error).__name__)] * len(items)
"""

PEERS = {
    "cellmill": Peer(
        "%load_ext cellmill\n%cellmill workers 2\nimport cellmill", "cellmill.parallel(function)(argument)"
    ),
    "ppe": Peer(
        "import multiprocessing, warnings\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork'))",
        "pool.submit(function, argument)",
    ),
    "loky": Peer(
        "from joblib.externals.loky import get_reusable_executor\nget_reusable_executor(2)",
        "get_reusable_executor(2).submit(function, argument)",
    ),
    "joblib": Peer(
        "from joblib import Parallel, delayed",
        all="Parallel(n_jobs=2, batch_size=1)(delayed(function)(item) for item in items)",
    ),
    "mpire": Peer(
        "from mpire import WorkerPool\npool = WorkerPool(2, keep_alive=True)",
        all="pool.map(function, items, chunk_size=1)",
    ),
    "dask": Peer(
        "from distributed import Client, LocalCluster\n"
        "client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))",
        "client.submit(function, argument, pure=False)",
    ),
    "ray": Peer(
        "import ray\nray.init('local', num_cpus=2, include_dashboard=False)",
        "ray.remote(function).remote(argument)",
        "ray.get(handle, timeout=limit)",
    ),
    "ipyparallel": Peer(
        "import ipyparallel\n"
        "client = ipyparallel.Cluster(n=2).start_and_connect_sync()\n"
        "view = client.load_balanced_view()",
        "view.apply_async(function, argument)",
        "handle.get(limit)",
    ),
    "parsl": Peer(
        "import os, sys, tempfile, parsl\n"
        "from parsl.config import Config\n"
        "from parsl.executors import HighThroughputExecutor\n"
        "os.environ['PATH'] = os.pathsep.join([os.path.dirname(sys.executable), os.environ['PATH']])\n"
        "pool = HighThroughputExecutor(max_workers_per_node=2, address='127.0.0.1', cores_per_worker=0.1)\n"
        "parsl.load(Config(executors=[pool], run_dir=tempfile.mkdtemp(), initialize_logging=False, strategy='none'))",
        "parsl.python_app(function)(argument)",
    ),
}
