"""`CellmillBackend`: what joblib calls to have batches of calls run."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future as BaseFuture
from typing import Any

from joblib.parallel import BatchedCalls, FallbackToBackend, ParallelBackendBase, SequentialBackend

from ..errors import UsageError
from ..executor import Executor, default_executor, in_worker
from ..futures import Future
from ..process_context.interrupts import uninterrupted
from ..run_registry import Run
from ..serialization.function_code import function_name
from ..task import DEFAULT_OPTIONS
from .batches import SentOnce
from .listener import Listener

JOBLIBS_LOOK = 0.01  # seconds between looks of joblib's
BATCH_SECONDS = 0.03  # of work; joblib takes about 0.1 ms to make and settle a batch
OF_PROCESSES = ("temp_folder", "verbose", "context")  # options of joblib's own that have no meaning here
GROWTH = 32  # times as large as the last batch, at most
_LARGER_LOCK = threading.Lock()
_larger: Executor | None = None  # for calls that want more workers than the default executor has


class CellmillBackend(ParallelBackendBase):
    """Runs batches of joblib's calls as tasks of an executor, one run for each call of `joblib.Parallel`.

    Large arrays are sent once for each such call and are read-only in the worker, as with joblib's own processes;
    ``max_nbytes`` of `joblib.Parallel` says from which size on, and None that none are. Where Cellmill runs a task,
    calls run in place.
    """

    default_n_jobs = -1
    supports_retrieve_callback = True
    supports_inner_max_num_threads = True

    def __init__(
        self,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        *,
        executor: Executor | None = None,
        **unknown: Any,
    ) -> None:
        if executor is not None and not isinstance(executor, Executor):
            raise UsageError(f"executor must be a cellmill.Executor, not {executor!r}")
        _refuse(unknown)
        super().__init__(nesting_level, inner_max_num_threads)
        self._given = executor
        self._nested: tuple[Any, int | None] | None = None
        self._most = 1  # batches at once
        self._call = _Call(None, None)
        self._batch_size = 1
        self._item_seconds = 0.0

    # -- how many

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many calls run at once: ``n_jobs``, counted from the end where it is negative."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None or in_worker():
            return 1
        workers = (self._given or default_executor()).max_workers
        if n_jobs < 0:
            return max(workers + 1 + n_jobs, 1)
        return min(n_jobs, workers) if self._given is not None else n_jobs

    def get_nested_backend(self) -> tuple[Any, int | None]:
        """Return the backend of calls inside calls, and their ``n_jobs``."""
        if self._nested is None:
            self._nested = super().get_nested_backend()
        return self._nested

    def configure(
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        prefer: str | None = None,
        require: str | None = None,
        max_nbytes: int | None = 1_000_000,
        mmap_mode: str | None = "r",
        **others: Any,
    ) -> int:
        """Get ready for calls of ``parallel``. Raises `UsageError` on options that mean something else here."""
        _refuse({name: value for name, value in others.items() if name not in OF_PROCESSES})
        if mmap_mode in ("r+", "w+"):
            raise UsageError(
                f"mmap_mode={mmap_mode!r}: what a task writes to an array does not reach the caller here; return "
                'it, or use "r" (arrays that are read only) or "c" (copies of their own)'
            )
        if mmap_mode != "r":
            max_nbytes = None
        self._nested = None
        self._most = self.effective_n_jobs(n_jobs)
        if self._most == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        self._call = self._new_call(max_nbytes)
        return self._most

    def _new_call(self, max_nbytes: int | None) -> _Call:
        executor = self._given or default_executor()
        if self._most > executor.max_workers:
            executor = _with_workers(self._most)
        return _Call(executor, max_nbytes, self._most if self._most < executor.max_workers else None)

    # -- batches

    def submit(self, func: BatchedCalls, callback: Callable[[Any], Any] | None = None) -> Any:
        """Run a batch; ``callback`` is called with its future when it is over."""
        return self._call.submit(func, callback, self.inner_max_num_threads)

    apply_async = submit  # its name before joblib 1.5

    def retrieve_result_callback(self, out: Future) -> list[Any]:
        """Return the results of a batch, or raise its error."""
        results: list[Any]
        *results, seconds = out.result()
        if results:
            self._measured(seconds / len(results))
        return results

    @contextlib.contextmanager
    def retrieval_context(self) -> Iterator[None]:
        """Around the reading of results, for which joblib looks every 10 ms. What it returns as a list is waited for
        here, what it yields one by one for a moment.

        joblib forgets an error of the iterable where all calls that were taken from it are over when it looks
        (``pre_dispatch="all"``): it would return the results so far, or none.
        """
        parallel = self.parallel
        bounded = parallel.return_generator or parallel.timeout is not None
        self._call.wait(
            lambda: parallel._aborting or not parallel._wait_retrieval(), JOBLIBS_LOOK if bounded else None
        )
        yield
        if self.parallel._aborting:
            self.parallel._raise_error_fast()

    def compute_batch_size(self) -> int:
        """Return how many calls make a task of about `BATCH_SECONDS`, by the times of those before."""
        if self._item_seconds > 0:
            wanted = int(BATCH_SECONDS / self._item_seconds)
            self._batch_size = max(1, min(wanted, GROWTH * self._batch_size))
        return self._batch_size

    def _measured(self, seconds: float) -> None:
        last = self._item_seconds
        # The first call of a function may import for a second; one that is short again counts at once.
        self._item_seconds = seconds if not last or seconds < last / 4 else 0.7 * last + 0.3 * seconds

    # -- the end

    def start_call(self) -> None:
        """Begin another call; ``with Parallel()`` makes several with one `configure`."""
        if self._call.over:
            self._call = self._new_call(self._call.max_nbytes)

    def stop_call(self) -> None:
        """End the run; called when all results are there, or none is wanted."""
        self._call.finish()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Stop what runs and what waits: a call has failed, or its results are not read any more."""
        self._call.stop()
        self._call = self._new_call(self._call.max_nbytes)

    def terminate(self) -> None:
        """Forget what was measured; workers stay."""
        self._call.finish()
        self._batch_size, self._item_seconds = 1, 0.0


class _Call:
    """The tasks of one call of `joblib.Parallel`."""

    def __init__(self, executor: Executor | None, max_nbytes: int | None, most: int | None = None) -> None:
        """``most``: batches at once, where the executor has more workers than that; else None."""
        self.max_nbytes = max_nbytes
        self._executor = executor
        self._most = most
        self._sent = SentOnce(max_nbytes)
        self._run: Run | None = None
        self._options = DEFAULT_OPTIONS
        self._lock = threading.Lock()
        self._under_way = 0
        self._waiting: deque[Callable[[], BaseFuture[Any]]] = deque()  # for one of those at once to end
        self.over = False
        self._listener: Listener | None = None
        if executor is not None:
            self._listener = Listener(lambda: executor._backend.listen())
            weakref.finalize(self, self._listener.close).atexit = False

    def submit(
        self, batch: BatchedCalls, callback: Callable[[Any], Any] | None, threads: int | None
    ) -> BaseFuture[Any] | None:
        """Run a batch now, or when fewer run; its future, None where it waits."""
        failure: Exception | None = None
        function: Any = None
        args: tuple[Any, ...] = ()
        try:  # now, as arguments may change while the batch waits
            function, args = self._sent.packed(batch, threads)
        except Exception as error:
            failure = error
        if self._most is None:
            return self._begun(batch, function, args, callback, failure)

        def begin() -> BaseFuture[Any]:
            future = self._begun(batch, function, args, callback, failure)
            future.add_done_callback(self._next)
            return future

        with self._lock:
            if self._under_way == self._most:
                self._waiting.append(begin)
                return None
            self._under_way += 1
        return begin()

    def wait(self, over: Callable[[], bool], seconds: float | None) -> None:
        """Return when ``over()`` is true, or the time is."""
        if self._listener is not None:
            self._listener.wait(over, seconds)

    def stop(self) -> None:
        """Cancel what waits and interrupt what runs."""
        with self._lock:
            self.over = True
            self._waiting.clear()
        if self._run is not None:
            self._run.stop()
        self.finish()

    def finish(self) -> None:
        """End the run and let go of what was sent; tasks under way go on."""
        with uninterrupted():
            self.over = True
            if self._listener is not None:
                self._listener.close()
            self._sent.close()
            if self._run is not None:
                self._run.finish()

    def _begun(
        self,
        batch: BatchedCalls,
        function: Any,
        args: tuple[Any, ...],
        callback: Callable[[Any], Any] | None,
        failure: Exception | None,
    ) -> BaseFuture[Any]:
        """Submit a batch; its future has failed already where there is a failure."""
        future: BaseFuture[Any]
        try:
            if failure is not None:
                raise failure
            future = self._submitted(batch, function, args)
        except Exception as error:  # joblib asks in its callbacks, too, where an error would be lost
            future = BaseFuture()
            future.set_exception(error)
        if callback is not None:
            if isinstance(future, Future) and self._listener is not None:
                self._listener.add(future, callback)
            else:
                future.add_done_callback(callback)
        return future

    def _submitted(self, batch: BatchedCalls, function: Any, args: tuple[Any, ...]) -> Future:
        executor = self._executor
        if executor is None or self.over:
            raise RuntimeError("this call of joblib.Parallel is over, and takes no more tasks")
        if self._run is None:
            name, called = _called(batch)
            self._options = DEFAULT_OPTIONS.changed(name=name)
            with uninterrupted():  # a run that has begun is known here, and is ended
                self._run = executor.open_run(name, called)
        return executor.submit_in(self._run, function, args, self._options)

    def _next(self, _: BaseFuture[Any]) -> None:
        with self._lock:
            if self.over or not self._waiting:
                self._under_way -= 1
                return
            begin = self._waiting.popleft()
        begin()


def _refuse(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` on options that are unknown here: they would have no effect."""
    if options:
        word = next(iter(options))
        where = f": give Executor({word}=...) as executor=" if word in ("initializer", "initargs") else ""
        raise UsageError(f"the backend cellmill does not take {word}={where}; it takes executor=")


def _called(batch: BatchedCalls) -> tuple[str, Any]:
    """Return the name and the function of the first call in a batch, without the wrappers of scikit-learn."""
    function = batch.items[0][0]
    for name in ("function", "__wrapped__"):
        function = getattr(function, name, function)
    return function_name(function), function


def _with_workers(count: int) -> Executor:
    """Return the executor for calls that want more workers than the default one has; it grows, and stays."""
    global _larger
    with _LARGER_LOCK:
        if _larger is None or _larger.closed:
            _larger = Executor(count)
        elif _larger.max_workers < count:
            _larger.set_workers(count)
        return _larger
