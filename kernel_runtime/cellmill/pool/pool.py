"""`Pool`: what programs call that were written for `multiprocessing.Pool`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future as BaseFuture
from concurrent.futures import wait
from typing import Any, NoReturn
from weakref import WeakSet

from .. import run_registry
from ..backends.map_options import MapOptions
from ..diagnostics.blame import cancelling
from ..errors import UsageError
from ..executor import Executor
from ..task import DEFAULT_OPTIONS
from .results import AsyncResult, Callbacks, Raised, ResultIterator, all_of, in_thread


class Pool:
    """A `multiprocessing.Pool` with Cellmill's workers.

    Functions of notebook cells, lambdas and closures can be sent, a worker that dies loses one call, and calls are
    seen in the panel. Parameters: as of `multiprocessing.Pool`, and options of `Executor`, such as
    ``backend="dask"``. Inside a task it runs calls in place.
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
        context: None = None,
        **options: Any,
    ) -> None:
        if context is not None:
            raise UsageError("a cellmill.Pool has no multiprocessing context: its workers are Cellmill's own")
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        if maxtasksperchild is not None:
            options["max_tasks_per_child"] = maxtasksperchild
        self._executor = Executor(processes, initializer=initializer, initargs=tuple(initargs), **options)
        self._open = True
        self._callbacks = Callbacks()
        self._awaited: WeakSet[BaseFuture[Any]] = WeakSet()  # by `join`
        self._iterators: WeakSet[ResultIterator] = WeakSet()
        self._ending: BaseFuture[None] | None = None  # since `close`, where it takes a while

    @property
    def _processes(self) -> int:
        """The number of workers: libraries that take a `multiprocessing.Pool` read it there, for their chunks."""
        return self._executor.max_workers

    # -- one call

    def apply(
        self, func: Callable[..., Any], args: Iterable[Any] = (), kwds: dict[str, Any] | None = None
    ) -> Any:
        """Return ``func(*args, **kwds)``, run by a worker."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Iterable[Any] = (),
        kwds: dict[str, Any] | None = None,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Begin a call; ``callback`` is called with its value, ``error_callback`` with its error, in another thread and
        one at a time, before the result is ready.
        """
        self._check()
        future: BaseFuture[Any]
        try:
            future = self._executor.submit_with(func, tuple(args), kwds or {}, DEFAULT_OPTIONS)
        except Exception as error:  # what cannot be sent is told by the result
            future = BaseFuture()
            future.set_exception(error)
        return self._told(future, callback, error_callback)

    # -- many

    def map(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = None
    ) -> list[Any]:
        """Return the list of ``func(item)``, in order. All calls are made before an error of one is raised."""
        self._check()
        return all_of(self._results(func, list(iterable), chunksize))

    def starmap(
        self, func: Callable[..., Any], iterable: Iterable[Iterable[Any]], chunksize: int | None = None
    ) -> list[Any]:
        """Return the list of ``func(*item)``, in order, as `map` does."""
        self._check()
        return all_of(self._results(func, list(iterable), chunksize, star=True))

    def map_async(
        self,
        func: Callable[[Any], Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callable[[list[Any]], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Begin a `map`. A callback is called where there are items."""
        self._check()
        return self._map_async(func, list(iterable), chunksize, callback, error_callback)

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Iterable[Any]],
        chunksize: int | None = None,
        callback: Callable[[list[Any]], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Begin a `starmap`. A callback is called where there are items."""
        self._check()
        return self._map_async(func, list(iterable), chunksize, callback, error_callback, star=True)

    def imap(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1
    ) -> ResultIterator:
        """Return an iterator over ``func(item)``, in order. Items are taken in a thread of their own, as far ahead of
        the results that are read as those of `Executor.map`.
        """
        return self._imap(func, iterable, chunksize, ordered=True)

    def imap_unordered(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1
    ) -> ResultIterator:
        """Return an iterator over ``func(item)``, as they come."""
        return self._imap(func, iterable, chunksize, ordered=False)

    # -- the end

    def close(self) -> None:
        """Take no more calls; what was begun goes on. The input of an `imap` is taken to its end."""
        if not self._open:
            return
        self._open = False
        iterators = list(self._iterators)
        if iterators and self._executor.backend != "inline":
            self._ending = in_thread(lambda: self._run_out(iterators))
        else:
            self._run_out(iterators)

    def terminate(self) -> None:
        """Take no more calls, cancel what has not begun and interrupt what runs."""
        self._open = False
        with cancelling("terminate() of its pool"):
            self._executor.stop()  # before a worker is free for what waits
            for run in run_registry.runs_of(self._executor._backend):
                run.stop()
            self._executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for what was begun, and its callbacks. Raises `ValueError` where the pool is open still, `RuntimeError`
        in a callback.
        """
        if self._open:
            raise ValueError("Pool is still running")
        if self._callbacks.run_here:
            raise RuntimeError("a callback cannot join its pool: it would wait for itself")
        if self._ending is not None:
            wait([self._ending])
        self._executor.shutdown()
        wait(list(self._awaited))

    def __enter__(self) -> Pool:
        self._check()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

    def __reduce__(self) -> NoReturn:
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")

    def __repr__(self) -> str:
        return f"<cellmill.Pool of {self._executor.max_workers}, {'open' if self._open else 'closed'}>"

    def _results(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        chunksize: int | None,
        *,
        star: bool = False,
        ordered: bool = True,
        fed: bool = False,
    ) -> Iterator[Any]:
        """Begin a map; an error is a `Raised` among its results."""
        size = None if chunksize == 1 else chunksize  # as of `Executor.map`
        how = MapOptions(chunksize=size, ordered=ordered, star=star, fed=fed, instead=Raised)
        return self._executor.map_with(func, (iterable,), DEFAULT_OPTIONS, how, {})

    def _map_async(
        self,
        func: Callable[..., Any],
        items: list[Any],
        chunksize: int | None,
        callback: Callable[[list[Any]], object] | None,
        error_callback: Callable[[BaseException], object] | None,
        *,
        star: bool = False,
    ) -> AsyncResult:
        results = self._results(func, items, chunksize, star=star)
        if not items:  # multiprocessing calls no callback then
            callback = error_callback = None
        return self._told(in_thread(lambda: all_of(results)), callback, error_callback)

    def _told(
        self,
        future: BaseFuture[Any],
        callback: Callable[[Any], object] | None,
        error_callback: Callable[[BaseException], object] | None,
    ) -> AsyncResult:
        result = AsyncResult(future, self._callbacks, callback, error_callback)
        self._awaited.add(result.over)
        return result

    def _run_out(self, iterators: list[ResultIterator]) -> None:
        for results in iterators:
            results.run_out()
        self._executor.shutdown(wait=False)  # which takes no more of an input

    def _imap(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None, *, ordered: bool
    ) -> ResultIterator:
        self._check()
        made = ResultIterator(self._results(func, iterable, chunksize, ordered=ordered, fed=True))
        self._iterators.add(made)
        return made

    def _check(self) -> None:
        if not self._open:
            raise ValueError("Pool not running")
