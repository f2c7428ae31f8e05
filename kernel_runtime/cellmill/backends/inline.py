"""Runs every task at once in the caller: for debugging, and inside tasks, where no second pool may grow."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..by_value.references import constants_of
from ..diagnostics import inner_calls, notices
from ..diagnostics.naming import call_of, call_text, name_call
from ..diagnostics.short_text import short_arguments
from ..diagnostics.signatures import check_call
from ..diagnostics.tracebacks import shorten
from ..errors import DependencyError, UsageError, in_words, is_a
from ..futures import Future
from ..process_context import thread_context
from ..randomness import streams
from ..run_registry import Run, finish_all, note_failure
from ..serialization import shared as sharing
from ..serialization.function_code import check_batch, function_name
from ..serialization.shared import Shared
from ..task import DEFAULT_OPTIONS, NO_RUN, RunCounts, Stats, TaskOptions, WorkerEnd, WorkerInfo
from .common_options import DEFAULTS, CommonOptions
from .inline_map import InlineMap
from .map_iterator import MapIterator
from .map_options import MapOptions
from .resources import Resources
from .settled import SettledOwner

LONGEST_KEPT = 200  # characters of an argument


class InlineBackend(SettledOwner):
    """No processes, no pickling; pdb works."""

    name = "inline"
    forks = True
    needs_threads = False
    observer = None
    profiling = None
    use = None
    policy = "none"
    dashboard = cluster = ""
    borrowed = False

    def __init__(
        self,
        max_workers: int | None = None,
        options: CommonOptions = DEFAULTS,
    ) -> None:
        self.resources = Resources(options.resources)  # one call at a time: all there is can be its own
        self.shown = options.shown  # unused: tasks print by themselves here
        self.max_workers = 1
        self._lock = threading.Lock()
        self._runs: dict[int, list[int]] = {}
        self._last_ends: dict[int, int] = {}  # of these
        self._numbers = itertools.count(1)
        self._totals = [0, 0, 0]
        self._maps: weakref.WeakSet[InlineMap] = weakref.WeakSet()  # which run as they are read
        self._closed = self._told_of_limits = False
        self._seeding = streams.InCaller()
        self.preload(options.modules)
        if options.initializer is not None:
            options.initializer(*options.initargs)

    def call_text(self, future: Future) -> str:
        name, args, kwargs = future.__dict__.get("call", ("", (), {}))
        return f"{name}({short_arguments(args, kwargs)})" if name else ""

    def submit_plain(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future:
        return self.submit(function, args, kwargs, DEFAULT_OPTIONS, NO_RUN)

    def submit(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        if not options.batch:
            check_call(function, args, kwargs)
        if (
            streams.seed is not None and thread_context.here.worker is None
        ):  # a call in a task draws what the task draws
            function = self._seeding.one(function, function_name(function))
        return self._call(function, args, kwargs, options, run)

    def _call(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: TaskOptions,
        run: int,
        of_map: bool = False,
    ) -> Future:
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if options.asks:
            self.resources.check(options)
        future = Future(self)
        given = args, kwargs
        if all(map(_is_small, (*args, *kwargs.values()))):
            future.__dict__["call"] = function_name(function), args, kwargs
        if sharing.used:
            function, args, kwargs = sharing.unshared((function, args, kwargs))
        try:
            for before in options.after:
                before.result()
            args = tuple(_resolved(a) for a in args)
            kwargs = {k: _resolved(v) for k, v in kwargs.items()}
        except Exception as error:
            while is_a(error, DependencyError) and isinstance(error.__cause__, Exception):
                error = error.__cause__
            failed = call_of(error)
            failure = DependencyError(
                f"the task did not run: its input{f' {failed}' if failed else ''} failed with {in_words(error)}"
            )
            failure.__cause__ = error
            name_call(failure, self._named(function, given))
            self._count(run, 2)
            note_failure(run, self, failure)
            future.settle(None, failure)
            return future
        if options.timeout is not None:
            self._tell_of_limits()
        for attempt in itertools.count():
            try:
                with self._inside_a_task():
                    value = _of_one(function, args[0]) if options.batch else function(*args, **kwargs)
            except Exception as error:
                delay = options.retry.delay(attempt, error)
                if delay is None:
                    inner_calls.explain(error)
                    shorten(error)
                    if not of_map:
                        name_call(error, self._named(function, given))
                    self._count(run, 2)
                    note_failure(run, self, error)
                    future.settle(None, error)
                    break
                time.sleep(delay)
            else:
                self._count(run, 1)
                future.settle(value)
                break
        return future

    def map(
        self,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        how: MapOptions,
    ) -> MapIterator:
        if options.asks:
            self.resources.check(options)
        in_task = thread_context.here.worker is not None
        seeded = self._seeding.of_map(function) if not in_task else lambda: function
        results = InlineMap(
            lambda items: self._call(seeded(), items, {}, options, run.key, of_map=True),
            function_name(function),
            iterables,
            run,
            how,
            constants_of(function),
        )
        self._maps.add(results)
        return results.read()

    @staticmethod
    def _named(function: Any, given: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
        return call_text(function_name(function), *given, Future)

    @contextlib.contextmanager
    def _inside_a_task(self) -> Iterator[None]:
        """Code in a call finds what it would find in a worker: parallel functions there are plain ones."""
        outside = thread_context.here.worker
        thread_context.enter(self)
        try:
            yield
        finally:
            thread_context.here.worker = outside

    def _tell_of_limits(self) -> None:
        if not self._told_of_limits:
            self._told_of_limits = True
            notices.warn(
                "the inline backend does not watch time limits: tasks run in the caller, which cannot be interrupted. "
                "This note is shown once."
            )

    def _count(self, run: int, place: int) -> None:
        with self._lock:
            if run in self._runs:
                self._last_ends[run] = time.monotonic_ns()
            for counts in (self._totals, self._runs.get(run)):
                if counts is not None:
                    counts[0] += 1
                    counts[place] += 1

    def open_run(self) -> int:
        number = next(self._numbers)
        self._runs[number] = [0, 0, 0]
        return number

    def run_counts(self, run: int) -> RunCounts:
        return RunCounts(*self._runs.get(run, [0, 0, 0]))

    def running_in_run(self, run: int) -> int:
        return 0

    def busy_share(self, run: int) -> float | None:
        return None

    def moved(self, run: int) -> None:
        return None

    def peak_memory(self, run: int) -> None:
        return None  # tasks run in the kernel

    def last_end(self, run: int) -> int | None:
        return self._last_ends.get(run)

    def run_figures(self, run: int) -> None:
        return None

    def time_spent(self, run: int, wall: float) -> None:
        return None

    def cancel_run(self, run: int) -> int:
        return 0

    def stop_run(self, run: int) -> int:
        return 0

    def cancel_everything(self) -> int:
        return 0

    def set_run_priority(self, run: int, priority: int) -> None:
        """Tasks run as they are called."""

    def close_run(self, run: int) -> None:
        self._runs.pop(run, None)
        self._last_ends.pop(run, None)

    def stats(self) -> Stats:
        submitted, succeeded, failed = self._totals
        return Stats(time.monotonic_ns(), 1, submitted, 0, 0, 0, succeeded, failed, 0)

    def journey_rows(self) -> Iterator[dict[str, Any]]:
        """None: calls run at once, there is no journey."""
        return iter(())

    def workers(self) -> list[WorkerInfo]:
        return [WorkerInfo(0, os.getpid(), "idle", self._totals[0], 0)]

    def worker_ends(self) -> list[WorkerEnd]:
        return []

    @property
    def restarts(self) -> int:
        return 0

    def replace_worker(self, index: int) -> None:
        raise UsageError("the inline backend runs in the caller: there is no worker to replace")

    def set_workers(self, count: int) -> None:
        if count != 1:
            raise UsageError("the inline backend runs in the caller: it always has one worker")

    def run_on_workers(self, function: Callable[..., Any]) -> list[Any]:
        return [function()]

    def share(self, shared: Shared) -> None:
        """Calls get the object itself: nothing is put anywhere."""

    def preload(self, modules: Iterable[str]) -> None:
        import importlib

        for module in modules:
            importlib.import_module(module)

    def preloaded(self) -> list[str]:
        return []

    def set_policy(self, name: str) -> None:
        raise UsageError("the inline backend has no policy")

    def open(self) -> None:
        """There are no workers."""

    def settle(self, seconds: float) -> None:
        """Calls were over when they returned."""

    def listen(self) -> None:
        """The same."""

    def pause(self, on: bool) -> None:
        if on:
            raise UsageError("the inline backend cannot pause: tasks run as they are called")

    def restart(self) -> None:
        pass

    def work_off(self) -> None:
        """Nothing waits: calls were over when they returned."""

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        for results in list(self._maps):
            if cancel_futures:
                results.cancelled = True
            else:
                results.take_rest()
        self._closed = True
        finish_all(self)


def _is_small(value: Any) -> bool:
    """A future may keep it to tell its call: nothing else hangs on it."""
    kind = type(value)
    return kind in (bool, int, float, type(None)) or (kind in (str, bytes) and len(value) <= LONGEST_KEPT)


def _of_one(function: Any, item: Any) -> Any:
    """The result of a batch function for one item."""
    return check_batch(function_name(function), function([item]), 1)[0]


def _resolved(value: Any) -> Any:
    """The value itself, or where futures are in it, also inside lists, tuples and dicts, a copy with their results."""
    if isinstance(value, Future):
        return value.result()
    kind = type(value)
    if kind not in (list, tuple, dict):
        return value
    held = list(value.values() if kind is dict else value)
    parts = [_resolved(each) for each in held]
    if all(map(operator.is_, parts, held)):
        return value
    return dict(zip(value, parts, strict=True)) if kind is dict else kind(parts)
