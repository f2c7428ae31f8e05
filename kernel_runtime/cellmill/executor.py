"""`Executor`: a complete `concurrent.futures.Executor` over a backend."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor as BaseExecutor
from dataclasses import replace
from typing import Any, NoReturn

from . import backends, registry, run_registry
from .backends.map_calls import OPTIONS as MAP_OPTIONS
from .backends.map_calls import check_constants, with_constants
from .backends.map_iterator import MapIterator
from .backends.map_options import MapOptions
from .cell_output import present_cell
from .cell_output.transcript import Settings, whole_lines
from .diagnostics import notices
from .diagnostics.blame import cancelling
from .diagnostics.boundary import bounded, bounded_submit
from .diagnostics.naming import name_call
from .diagnostics.short_text import counted, short_repr
from .diagnostics.signatures import check_call
from .errors import CellmillError, UsageError, is_a
from .futures import Future
from .process_context import thread_context
from .process_context.interrupts import uninterrupted
from .records import recorder
from .run_registry import Run
from .serialization.function_code import function_name
from .serialization.shared import Shared, share
from .task import DEFAULT_OPTIONS, HitCount, Stats, TaskOptions, WorkerInfo, known_length

__all__ = ["Executor", "default_executor", "in_worker", "peek_default_executor", "set_default_executor"]


class Executor(BaseExecutor):
    """Runs calls as tasks.

    Parameters: ``max_workers`` (default: the CPUs this process may use, or all that a cluster has), ``backend``
    ("local": worker processes; "threads": threads of this process, for code that releases the GIL; "dask", "ray", or a
    `Client`, a cluster object or an address of theirs; "inline"), ``initializer`` and ``initargs`` (called in each
    worker before its first task), ``preload`` (modules imported once before workers are forked); of the local backend
    also ``memory_per_worker`` (bytes or "2GB": a task that takes more is stopped with its worker and fails with
    `WorkerLostError`, an idle worker that keeps more is replaced); of all
    ``resources`` (``{"gpu": 2, "memory": "64GB"}``: what tasks may ask for, see `TaskOptions`); of local and threads
    ``max_tasks_per_child`` (a worker is replaced after so many tasks), ``label_output`` (function and task before each
    line that tasks print) and ``output_lines`` (shown of each task, 1,000 if not set); of clusters ``ship`` (folders of
    packages that their workers lack); of Dask clusters that run by themselves ``name``, ``keep_seconds`` and
    ``keep_bytes`` (results of maps stay there for `cellmill.reattach`). Inside a task every executor runs inline.
    """

    _closed = _ended = True  # until it has a backend

    @bounded
    def __init__(
        self,
        max_workers: int | None = None,
        backend: Any = "local",
        *,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        preload: Iterable[str] = (),
        **backend_options: Any,
    ) -> None:
        if max_workers is not None and (not isinstance(max_workers, int) or isinstance(max_workers, bool)):
            raise UsageError(f"max_workers must be a whole number, not {max_workers!r}")
        if max_workers is not None and max_workers < 1:
            raise UsageError(f"max_workers must be greater than 0, not {max_workers}")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if in_worker():
            backend, max_workers, backend_options = "inline", None, {"resources": ...}
            initializer = None
            _note_inline()
        self._process = os.getpid()
        self._single_runs: dict[str, tuple[int, Run]] = {}
        try:
            # Stop finds it made or not begun; what has to be waited for is opened afterwards
            with uninterrupted():
                self._backend = backends.create(
                    backend,
                    max_workers,
                    initializer=initializer,
                    initargs=initargs,
                    preload=preload,
                    **backend_options,
                )
                self._submit: Callable[..., Future] = self._backend.submit
                self._submit_plain: Callable[..., Future] = self._backend.submit_plain
                self._closed = self._ended = False
            self._backend.open()
            self._announce(backend)
        except BaseException as error:
            if not self._ended:
                self.shutdown(wait=is_a(error, Exception))
            raise

    def _announce(self, backend: Any) -> None:
        registry.executors.add(self)
        if backend != "inline":
            recorder.start_by_setting()
            if os.environ.get("CELLMILL_SERVE"):
                importlib.import_module(
                    "cellmill.outside.serving"
                ).start_by_setting()  # by name: few ask for it
        for tell in list(registry.made):
            tell(self)
        if registry.in_kernel():
            registry.attend()

    # -- concurrent.futures.Executor

    @bounded_submit("_submit_plain")
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Run ``fn(*args, **kwargs)`` as a task; a future at once."""
        return self._submit_plain(fn, args, kwargs)

    @bounded
    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int | None = None,
        ordered: bool = True,
        return_exceptions: bool = False,
        prefetch: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **constants: Any,
    ) -> MapIterator:
        """Results of ``fn`` over the iterables, in order (or as they come with ``ordered=False``).

        Elements travel in chunks whose size is found by measuring, unless ``chunksize`` fixes it; each keeps its own
        outcome. ``timeout`` seconds are counted from this call. With ``return_exceptions`` errors are yielded.

        Lists, ranges and arrays are taken whole (up to 256 MB packed), of other iterables as much as stays within 2 s
        of measured work and 256 MB, taken and not yet read; the rest is taken as results are read. ``prefetch`` sets
        how many elements that are. An element is what it was when it was taken.

        ``checkpoint`` names a file that keeps results as they come: the same map, begun again in this process or
        another one, takes those and runs the rest.

        Other keywords are constants, given to each call: they are sent once, as they are when the map begins.
        """
        check_constants(fn, iterables, constants, star=False, batch=False)
        size = None if chunksize == 1 else chunksize
        how = MapOptions(timeout, size, ordered, return_exceptions, prefetch, checkpoint)
        return self.map_with(fn, iterables, DEFAULT_OPTIONS, how, constants)

    @bounded
    def starmap(
        self,
        fn: Callable[..., Any],
        arguments: Iterable[Iterable[Any]],
        /,
        *,
        timeout: float | None = None,
        chunksize: int | None = None,
        ordered: bool = True,
        return_exceptions: bool = False,
        prefetch: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **constants: Any,
    ) -> MapIterator:
        """Results of ``fn(*each)`` for each of ``arguments``, as `itertools.starmap`; the rest is as in `map`."""
        check_constants(fn, (), constants, star=True, batch=False)
        how = MapOptions(timeout, chunksize, ordered, return_exceptions, prefetch, checkpoint, star=True)
        return self.map_with(fn, (arguments,), DEFAULT_OPTIONS, how, constants)

    @bounded
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; with ``wait``, return when all are over and the workers gone."""
        self._closed = True
        with cancelling("shutdown(cancel_futures=True) of its executor"):
            self._backend.shutdown(wait, cancel_futures)
        self._ended = True  # not where Stop came before its end: what is collected then is shut down again

    # -- beyond it

    @bounded
    def options(self, **changes: Any) -> ExecutorView:
        """The same executor with task options: ``ex.options(retries=2, after=[f]).submit(fn, x)``."""
        return ExecutorView(self, DEFAULT_OPTIONS.changed(**changes))

    def submit_with(
        self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, name: str = ""
    ) -> Future:
        """`submit` with options, counted in the run of this function and cell; a call of a parallel function."""
        name = name or options.name or function_name(fn)
        if options.memo:
            kept, fn, args, kwargs = _look_up()(fn, args, kwargs, options)
            if kept is not None:
                self._single_run(name, fn).hits.note()
                kept._of_call = True
                return kept
        found = self._single_runs.get(name)
        if found is not None and found[0] == present_cell.epoch() and found[1].finished_ns is None:
            run = found[1]
        else:
            if not options.batch:  # no run is begun for what is no call
                check_call(fn, args, kwargs)
            run = self._single_run(name, fn)
        future = self._submit(fn, args, kwargs, options, run.key)
        future._of_call = True
        return future

    def open_run(
        self, name: str, function: Any, expected: int | None = None, hits: HitCount | None = None
    ) -> Run:
        """Begin a run for `submit_in`, of so many tasks as far as is known; its owner finishes it."""
        if self._closed:  # the run would never end
            raise RuntimeError("cannot schedule new futures after shutdown")
        return run_registry.begin(
            self._backend, self._backend.open_run(), name, expected, function=function, hits=hits
        )

    def submit_in(
        self,
        run: Run,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        options: TaskOptions,
        kwargs: dict[str, Any] | None = None,
    ) -> Future:
        """Submit a task of a run."""
        return self._submit(fn, args, kwargs or {}, options, run.key)

    def submit_alone(
        self, fn: Any, args: tuple[Any, ...], options: TaskOptions, name: str
    ) -> tuple[Future, Run]:
        """Submit one task as a run of its own; return both."""
        run: Run | None = None
        try:
            with uninterrupted():  # see `map_with`
                run = run_registry.begin(self._backend, self._backend.open_run(), name, 1, function=fn)
            future = self._backend.submit(fn, args, {}, options, run.key)
            with uninterrupted():
                future.add_done_callback(lambda _: run.finish())
        except BaseException:
            if run is not None:
                run.finish()
            raise
        return future, run

    def map_with(
        self,
        fn: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        how: MapOptions,
        constants: dict[str, Any],
        hits: HitCount | None = None,
    ) -> MapIterator:
        """`map`, or with ``star`` `starmap`, with options. ``hits`` counts results from the cache beside it."""
        if not iterables:
            raise UsageError("map needs at least one iterable after the function")
        if options.batch and (how.star or len(iterables) != 1):
            raise UsageError(f"{function_name(fn)} is a batch function: its map takes one iterable of items")
        if options.memo or options.checkpoint or how.checkpoint:
            from .memo.maps import map_kept

            return map_kept(self.map_with, self.open_run, fn, iterables, options, how, constants)
        called = fn
        if constants:
            fn, iterables = with_constants(fn, iterables, constants, alone=how.star or options.batch)
        if len(iterables) != 1:
            how = replace(how, star=True)
        expected = known_length(iterables)
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        name = options.name or function_name(fn)
        run: Run | None = None
        try:
            with uninterrupted():  # one that has begun is known here, or Stop would leave it open
                run = run_registry.begin(
                    self._backend,
                    self._backend.open_run(),
                    name,
                    expected,
                    priority=options.priority,
                    function=called,
                    hits=hits,
                )
            return self._backend.map(fn, iterables, options, run, how)
        except BaseException:
            if run is not None:
                counts = run.counts()
                if counts.done == counts.submitted:  # else it is finished with the last task that began
                    run.finish()
            raise

    def _single_run(self, name: str, fn: Any) -> Run:
        """The run that counts single calls of a function in this cell."""
        found = self._single_runs.get(name)
        if found is not None and found[0] == present_cell.epoch() and found[1].finished_ns is None:
            return found[1]
        if self._closed:  # the run would never end
            raise RuntimeError("cannot schedule new futures after shutdown")
        with uninterrupted():  # the end of the cell's epoch finishes it
            run = run_registry.begin(
                self._backend, self._backend.open_run(), name, None, open_ended=True, function=fn
            )
            self._single_runs[name] = (present_cell.epoch(), run)
        return run

    @property
    def backend(self) -> str:
        """Name of the backend."""
        return self._backend.name

    @property
    def max_workers(self) -> int:
        """Number of workers asked for."""
        return self._backend.max_workers

    @property
    def _max_workers(self) -> int:  # others (Dask, joblib) read it from any executor
        return self._backend.max_workers

    @property
    def closed(self) -> bool:
        """Whether it was shut down."""
        return self._closed

    @property
    def policy(self) -> str:
        """How workers are chosen: "least-loaded" (the default), "round-robin", "random" or "work-stealing"."""
        return self._backend.policy

    @policy.setter
    def policy(self, name: str) -> None:
        self._backend.set_policy(name)

    def stats(self) -> Stats:
        """Figures of this moment."""
        return self._backend.stats()

    def workers(self) -> list[WorkerInfo]:
        """The worker processes."""
        return self._backend.workers()

    @bounded
    def set_workers(self, count: int) -> None:
        """Grow or shrink the pool; what runs on surplus workers is finished first."""
        self._backend.set_workers(count)

    @property
    def resources(self) -> dict[str, float]:
        """Totals of the resources that tasks may ask for by ``resources=``; memory, if it was given, in bytes."""
        return self._backend.resources.totals()

    @bounded
    def set_resources(self, totals: Mapping[str, Any]) -> None:
        """Set the totals of these resources; others stay. Raises `UsageError` where a task asks for more."""
        self._backend.resources.set(totals)

    def journey_rows(self) -> Iterator[dict[str, Any]]:
        """The stamps of finished tasks, oldest first; see `cellmill.journeys`."""
        return self._backend.journey_rows()

    @bounded
    def run_on_workers(self, fn: Callable[[], Any]) -> list[Any]:
        """Call ``fn()`` once on each worker; the values in the workers' order."""
        try:
            return self._backend.run_on_workers(fn)
        except Exception as error:
            if not is_a(error, CellmillError):
                name_call(error, f"{function_name(fn)}() on each worker")
            raise

    @bounded
    def preload(self, modules: Iterable[str]) -> None:
        """Import modules before workers are forked; running workers are replaced."""
        self._backend.preload([modules] if isinstance(modules, str) else list(modules))

    @property
    def preloaded(self) -> list[str]:
        """Modules that workers have from the start."""
        return self._backend.preloaded()

    @property
    def label_output(self) -> bool:
        """Whether each line that tasks print is shown behind the name of its function and task."""
        return bool(self._shown().label)

    @label_output.setter
    def label_output(self, on: bool) -> None:
        self._shown().label = bool(on)

    @property
    def output_lines(self) -> int:
        """How many lines of one task are shown, and a tenth of those of a run; the rest is counted."""
        return int(self._shown().lines)

    @output_lines.setter
    def output_lines(self, most: int) -> None:
        self._shown().lines = whole_lines(most)

    def _shown(self) -> Settings:
        return self._backend.shown

    @bounded
    def share(self, obj: Any) -> Shared:
        """`cellmill.share`, put here at once. Raises `PayloadError` when it cannot be pickled."""
        shared = share(obj)
        self._backend.share(shared)
        return shared

    @bounded
    def dashboard(self) -> None:
        """Show this executor's tasks in the output of the cell: live, with buttons, until it is shut down.

        Raises `UsageError` outside of notebooks.
        """
        # by name: drawing is in a room above, and nothing here needs it before the first question
        importlib.import_module("cellmill.views.inline_dashboard").show(self)

    @bounded
    def pause(self) -> None:
        """Send no more tasks to workers until `resume`; what runs goes on."""
        self._backend.pause(True)

    @bounded
    def resume(self) -> None:
        """Go on after `pause`."""
        self._backend.pause(False)

    @property
    def paused(self) -> bool:
        """Between `pause` and `resume`, whichever caller made these calls."""
        if self._process != os.getpid():
            return False
        observer = self._backend.observer
        return observer is not None and observer.paused

    @bounded
    def restart(self) -> None:
        """Replace all workers by new ones; tasks that run are finished first."""
        self._backend.restart()

    @bounded
    def stop(self) -> int:
        """Cancel every task that has not begun; how many those were."""
        with cancelling("stop() of its executor"):
            return self._backend.cancel_everything()

    def __repr__(self) -> str:
        state = "closed" if self._closed else counted(self.max_workers, "worker")
        return f"<cellmill.Executor {self.backend}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an executor stays in its process: leave it out of what tasks are given, as an argument of the code that "
            "makes the calls; in a task, cellmill.default_executor() makes them at once"
        )

    def __del__(self) -> None:
        # like the standard executors: work that was submitted is finished, in the background
        if not self._ended and os.getpid() == self._process:
            self.shutdown(wait=False)


class ExecutorView:
    """An executor with task options laid over it."""

    def __init__(self, executor: Executor, options: TaskOptions) -> None:
        self._executor = executor
        self._options = options

    def __repr__(self) -> str:
        return f"<{repr(self._executor)[1:-1]}, with {self._options.in_words() or 'no options'}>"

    @bounded
    def options(self, **changes: Any) -> ExecutorView:
        """More options on top."""
        return ExecutorView(self._executor, self._options.changed(**changes))

    @bounded
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """`Executor.submit` with these options."""
        executor, options = self._executor, self._options
        if options.memo:
            kept, fn, args, kwargs = _look_up()(fn, args, kwargs, options)
            if kept is not None:
                return kept
        run = executor._single_run(options.name or function_name(fn), fn)
        return executor._submit(fn, args, kwargs, options, run.key)

    @bounded
    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **how: Any) -> MapIterator:
        """`Executor.map` with these options."""
        return self._map(fn, iterables, how, star=False)

    @bounded
    def starmap(
        self, fn: Callable[..., Any], arguments: Iterable[Iterable[Any]], /, **how: Any
    ) -> MapIterator:
        """`Executor.starmap` with these options."""
        return self._map(fn, (arguments,), how, star=True)

    def _map(
        self, fn: Any, iterables: tuple[Iterable[Any], ...], how: dict[str, Any], *, star: bool
    ) -> MapIterator:
        constants = {name: how.pop(name) for name in list(how) if name not in MAP_OPTIONS}
        check_constants(fn, iterables, constants, star=star, batch=self._options.batch)
        return self._executor.map_with(fn, iterables, self._options, MapOptions(**how, star=star), constants)


@functools.cache
def _look_up() -> Callable[..., tuple[Future | None, Any, tuple[Any, ...], dict[str, Any]]]:
    """Look a result up that is kept; imported at its first use, since few programs keep any."""
    from .memo.calls import look_up

    return look_up


def in_worker() -> bool:
    """Whether this code runs inside a task."""
    worker = sys.modules.get("cellmill.worker_process.worker")
    # another thread may be importing it now
    if getattr(worker, "current", None) is not None or (thread_context.used and thread_context.in_thread()):
        return True
    in_task = getattr(sys.modules.get("cellmill.backends.cluster.remote.entry"), "in_task", None)
    return in_task is not None and bool(in_task())


_noted_inline = False


def _note_inline() -> None:
    """Say once in this worker that there is no pool within the pool, at the line of the task that asked for one."""
    global _noted_inline
    if _noted_inline:
        return
    _noted_inline = True
    notices.warn(
        "an executor inside a task runs its calls at once in that task: there are no workers within workers. To spread "
        "them over the pool, submit them from the notebook. This note is shown once per worker."
    )


def default_executor() -> Executor:
    """The executor that the magics and `parallel` use; made on first use, inline inside tasks."""
    if thread_context.used and thread_context.in_thread():
        return Executor()  # inline: the default one of this process is for code outside of tasks
    found: Executor | None = registry.default
    if found is not None and not found._closed:
        return found
    with registry.default_lock:
        if registry.ended:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        found = registry.default
        if found is None or found._closed:
            found = registry.default = Executor()
        return found


def peek_default_executor() -> Executor | None:
    """The default executor if there is one."""
    found: Executor | None = registry.default
    return found


def checked_executor(executor: Any, what: str = "executor=") -> Executor | None:
    """The executor, or None; raises `UsageError` for what is no executor of Cellmill's."""
    if executor is None or isinstance(executor, Executor):
        return executor
    hint = ""
    if isinstance(executor, str) and executor in backends.KNOWN:
        hint = f": cellmill.Executor(backend={executor!r}) makes one"
    elif isinstance(executor, ExecutorView):
        hint = ": give the executor itself, and the options to the function, f.options(…)"
    raise UsageError(f"{what} takes a cellmill.Executor, not {short_repr(executor)}{hint}")


def set_default_executor(executor: Executor | None) -> None:
    """Use another executor as the default; the earlier one is left as it is."""
    checked_executor(executor, "set_default_executor")
    with registry.default_lock:
        registry.default = executor
