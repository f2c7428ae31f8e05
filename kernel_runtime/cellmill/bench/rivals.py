"""One small adapter per runtime, all with the same methods. Nothing is imported before `Runtime.load`.

What is measured against what: each rival in the form its own documentation gives for many calls, on processes of
this machine, with its defaults. Where a rival has no futures (joblib), `submit_all` is its one call for all.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import bodies

Calls = Sequence[tuple[Any, ...]]


class Runtime(ABC):
    """Starts workers, runs calls, stops. ``submit`` returns a handle that `take` turns into the result."""

    name: str
    module: str
    package: str | None = None
    submit: Callable[..., Any]

    def load(self) -> None:
        """Import what the runtime consists of."""
        self.library = importlib.import_module(self.module)

    @abstractmethod
    def start(self, workers: int) -> None:
        """Make the pool; ``submit`` works afterwards."""

    @abstractmethod
    def stop(self) -> None:
        """End the pool and its processes."""

    @abstractmethod
    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """``function`` of every item, in order, the way this runtime maps."""

    def take(self, handle: Any) -> Any:
        """The result of one call."""
        return handle.result()

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """The results of many."""
        return [handle.result() for handle in handles]

    def submit_all(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """Submit one task per call and return all results. The handles are kept, so that freeing them is not
        measured.
        """
        submit = self.submit
        self.handles = [submit(function, *call) for call in calls]
        return self.gather(self.handles)

    def round_trip(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Make one call and return its result."""
        return self.take(self.submit(function, *arguments))

    def stream(self, function: Callable[[Any], Any], items: Iterable[Any], window: int) -> Iterable[Any]:
        """Results in order, with ``window`` calls outstanding."""
        flying: deque[Any] = deque()
        for item in items:
            flying.append(self.submit(function, item))
            if len(flying) == window:
                yield self.take(flying.popleft())
        while flying:
            yield self.take(flying.popleft())

    def warm(self, workers: int) -> None:
        """Every worker runs and knows the no-op."""
        self.submit_all(bodies.noop, [()] * 20 * workers)
        self.map_all(bodies.noop_of, range(20 * workers))


class Cellmill(Runtime):
    """Ours."""

    name = "cellmill"
    module = "cellmill"

    def start(self, workers: int) -> None:
        self.start_preloaded(workers)

    def start_preloaded(self, workers: int, *libraries: str) -> None:
        """Start with libraries that are imported once, before workers are forked."""
        self.pool = self.library.Executor(workers, preload=libraries)
        self.submit = self.pool.submit

    def stop(self) -> None:
        self.pool.shutdown()

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self.pool.map(function, items))


class ProcessPool(Runtime):
    """concurrent.futures.ProcessPoolExecutor; its map with chunks as large as multiprocessing.Pool makes them."""

    name = "ProcessPoolExecutor"
    module = "concurrent.futures"

    def start(self, workers: int) -> None:
        self.workers = workers
        self.pool = self.library.ProcessPoolExecutor(workers)
        self.submit = self.pool.submit

    def stop(self) -> None:
        self.pool.shutdown()

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self.pool.map(function, items, chunksize=-(-len(items) // (4 * self.workers))))


class Loky(ProcessPool):
    """loky's executor, the one that joblib brings."""

    name = "loky"
    module = "joblib.externals.loky"
    package = "joblib"


class MultiprocessingPool(Runtime):
    """multiprocessing.Pool: apply_async, and its chunked map."""

    name = "multiprocessing.Pool"
    module = "multiprocessing"

    def start(self, workers: int) -> None:
        self.pool = self.library.Pool(workers)
        apply_async = self.pool.apply_async
        self.submit = lambda function, *arguments: apply_async(function, arguments)

    def stop(self) -> None:
        self.pool.close()
        self.pool.join()

    def take(self, handle: Any) -> Any:
        return handle.get()

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        return [handle.get() for handle in handles]

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self.pool.map(function, items))


class Joblib(Runtime):
    """joblib.Parallel on loky, batches chosen by joblib. It has no futures: one call for all."""

    name = "joblib (one call for all)"
    module = "joblib"
    package = "joblib"

    def start(self, workers: int) -> None:
        self.pool = self.library.Parallel(n_jobs=workers)
        self.pool.__enter__()
        self.submit = lambda function, *arguments: self.pool([self.library.delayed(function)(*arguments)])

    def stop(self) -> None:
        self.pool.__exit__(None, None, None)
        importlib.import_module("joblib.externals.loky").get_reusable_executor().shutdown()

    def take(self, handle: Any) -> Any:
        return handle[0]

    def submit_all(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        delayed = self.library.delayed(function)
        return list(self.pool(delayed(*call) for call in calls))

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        delayed = self.library.delayed(function)
        return list(self.pool(delayed(item) for item in items))

    def stream(self, function: Callable[[Any], Any], items: Iterable[Any], window: int) -> Iterable[Any]:
        waiting = list(items)
        for start in range(0, len(waiting), window):
            yield from self.map_all(function, waiting[start : start + window])


class Dask(Runtime):
    """dask.distributed: a LocalCluster of processes with one thread each."""

    name = "Dask"
    module = "distributed"
    package = "distributed"

    def start(self, workers: int) -> None:
        import logging

        logging.getLogger("distributed").setLevel(logging.ERROR)
        self.cluster = self.library.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self.client = self.library.Client(self.cluster)
        submit = self.client.submit
        self.submit = lambda function, *arguments: submit(function, *arguments, pure=False)

    def stop(self) -> None:
        self.handles = []
        self.client.close()
        self.cluster.close()

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        return list(self.client.gather(list(handles)))

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self.client.gather(self.client.map(function, list(items), pure=False)))


class Ray(Runtime):
    """Ray on this machine; one remote task per call."""

    name = "Ray"
    module = "ray"
    package = "ray"

    def start(self, workers: int) -> None:
        import logging

        self.library.init(
            "local",  # without it Ray joins one that runs, or that left its address behind
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        self._remote: dict[Any, Any] = {}
        self.submit = self._submit

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        remote = self._remote.get(function)
        if remote is None:
            remote = self._remote[function] = self.library.remote(function)
        return remote.remote(*arguments)

    def stop(self) -> None:
        self.library.shutdown()

    def take(self, handle: Any) -> Any:
        return self.library.get(handle)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        return list(self.library.get(list(handles)))

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return self.gather([self._submit(function, item) for item in items])


class Parsl(Runtime):
    """Parsl's HighThroughputExecutor on this machine."""

    name = "Parsl"
    module = "parsl"
    package = "parsl"

    def start(self, workers: int) -> None:
        import os
        import sys
        import tempfile

        scripts = os.path.dirname(sys.executable)  # Parsl starts its programs by name
        os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)])
        executors = importlib.import_module("parsl.executors")
        config = importlib.import_module("parsl.config")
        self._folder = tempfile.TemporaryDirectory(prefix="cellmill-parsl-", ignore_cleanup_errors=True)
        pool = executors.HighThroughputExecutor(
            label="bench", max_workers_per_node=workers, address="127.0.0.1", cores_per_worker=0.1
        )
        self.library.load(
            config.Config(
                executors=[pool], run_dir=self._folder.name, initialize_logging=False, strategy="none"
            )
        )
        self._apps: dict[Any, Any] = {}
        self.submit = self._submit

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        app = self._apps.get(function)
        if app is None:
            app = self._apps[function] = self.library.python_app(function)
        return app(*arguments)

    def stop(self) -> None:
        self.library.dfk().cleanup()
        with contextlib.suppress(Exception):
            self.library.clear()
        self._folder.cleanup()

    def map_all(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return self.gather([self._submit(function, item) for item in items])


RUNTIMES: dict[str, type[Runtime]] = {
    "cellmill": Cellmill,
    "ppe": ProcessPool,
    "pool": MultiprocessingPool,
    "loky": Loky,
    "joblib": Joblib,
    "dask": Dask,
    "ray": Ray,
    "parsl": Parsl,
}


ELSEWHERE = {"mpire": "mpire", "ipyparallel": "ipyparallel"}
"""Names and packages of rivals that are not measured by these adapters, but in notebooks: see `faults`."""


def kind(key: str) -> str:
    """The runtime of a contender: ``ppe:100`` is a variant of ``ppe``."""
    return key.partition(":")[0]


def is_rival(key: str) -> bool:
    """Whether a contender is another runtime, rather than Cellmill or something of the benchmark's own."""
    return kind(key) in {*RUNTIMES, *ELSEWHERE} and kind(key) != "cellmill"


def title(key: str) -> str:
    """The name of a runtime for people."""
    return ELSEWHERE.get(key) or RUNTIMES[key].name


def package(key: str) -> str | None:
    """The distribution that brings a contender's runtime; None for the standard library's and ours."""
    runtime = RUNTIMES.get(kind(key))
    return runtime.package if runtime else ELSEWHERE.get(key)


def missing(key: str) -> str | None:
    """None when the runtime is installed, else what to do."""
    needed = package(key)
    if needed is None or importlib.util.find_spec(needed) is not None:
        return None
    return f"not installed (`pip install {needed}`)"


@contextlib.contextmanager
def running(key: str, workers: int) -> Any:
    """The runtime ``key`` with warm workers."""
    runtime = RUNTIMES[key]()
    runtime.load()
    runtime.start(workers)
    try:
        runtime.warm(workers)
        yield runtime
    finally:
        runtime.stop()
