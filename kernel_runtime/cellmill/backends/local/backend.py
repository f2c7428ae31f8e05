"""The local backend itself.

A task's path in the kernel reads from here: `LocalBackend.submit` packs a call and hands it to the scheduler;
`resolver` turns completions into results; `stream` does both for many calls at once; `pool` keeps the workers.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from ... import payload
from ...errors import CellmillError, PayloadError, UsageError, WorkerLostError
from ...functions import FunctionTable, function_name
from ...futures import Future
from ...payload import INLINE_MAX, Encoded
from ...runs import Run
from ...schema import STAGES
from ...task import RunCounts, Stats, TaskOptions, WorkerInfo, short_arguments
from . import ending, outcomes
from .cpus import available_cpus
from .mapping import MapResults, iterate, streams_of
from .packing import FailedInput, add_input, pack
from .pool import Pool
from .resolver import Resolver
from .scheduler import NO_BLOCK, NO_WORKER, Full, Scheduler, StaleInput, check, ffi, held
from .stream import Chunk, Stream

__all__ = ["LocalBackend"]

STATUSES = (
    "done",
    "done",
    "failed",
    "lost",
    "cancelled",
    "dependency",
    "timeout",
)  # of a journey, by CSCHED_ code

_NOW = time.monotonic_ns


class LocalBackend:
    """Tasks on worker processes of this machine."""

    name = "local"

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        preload: Iterable[str] = (),
        memory: int = 0,
    ) -> None:
        cpus = available_cpus()
        self.max_workers = cpus if max_workers is None else max_workers
        if (
            not isinstance(self.max_workers, int)
            or isinstance(self.max_workers, bool)
            or self.max_workers < 1
        ):
            raise UsageError(f"max_workers must be a whole number of at least 1, not {max_workers!r}")
        crowded = self.max_workers >= cpus
        self.worker_spin_us = 10 if crowded else 50
        self.policy = "least-loaded"
        self.scheduler = Scheduler(arena_bytes=memory, spin_us=10 if crowded else 50)
        self._handle = self.scheduler.handle
        self.functions = FunctionTable(self._add_function)
        self.resolver = Resolver(self, self.scheduler)
        self.broken: BaseException | None = None
        self.closed = False
        self.foreign = False  # this is a forked child: everything here is its parent's
        self.batches: dict[tuple[Any, TaskOptions, int], Stream] = {}
        self._options = threading.local()
        self.pool = Pool(self, initializer=initializer, initargs=initargs, preload=preload)
        self.pool.resize(self.max_workers)
        _live.add(self)

    # -- one call

    def submit(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        if self.closed or self.broken is not None:
            self._refuse()
        if options.batch:
            return self._submit_to_batch(function, args, kwargs, options, run)
        start = _NOW()
        if start - self.pool.world_checked_ns > 1_000_000:
            self.pool.sync_world()
        future = Future(self)
        number = self.functions.number(function)
        if not args and not kwargs and number and options.plain:  # nothing to pack: the shortest path
            resolver = self.resolver
            try:
                slot = resolver.slots.pop()
            except IndexError:
                slot = resolver.take_slot()
            resolver.table[slot] = future
            ticket = held.csched_submit(self._handle, slot, number, run, ffi.NULL, 0, 0)
            if ticket < 0:
                self._undo(slot, ticket)
            future._ticket = ticket
            return future
        body: Any = args if number and not kwargs else [args, kwargs] if number else [function, args, kwargs]
        while True:
            inputs: list[Future] = []
            try:
                encoded = pack(self, function, body, args, kwargs, inputs)
                for before in options.after:
                    add_input(self, before, inputs)
                return self._send(future, number, run, encoded, inputs, options, _NOW() - start)
            except StaleInput:  # an input was resolved meanwhile: its value is at hand now
                continue
            except FailedInput as failed:
                return self._failed(run, failed.cause)

    def _send(
        self,
        future: Future,
        number: int,
        run: int,
        encoded: Encoded,
        inputs: list[Future],
        options: TaskOptions,
        pack_ns: int,
    ) -> Future:
        block = NO_BLOCK
        data: Any = encoded.data
        if encoded.buffers or encoded.size > INLINE_MAX:
            data, block = ffi.NULL, self.store(encoded)
        slot = self.resolver.take_slot()
        self.resolver.table[slot] = future
        handle = self.scheduler.handle
        if options.plain and not inputs and block == NO_BLOCK:
            ticket = held.csched_submit(handle, slot, number, run, data, encoded.size, pack_ns)
        else:
            future._inputs = tuple(inputs)
            form, _keep = self._form(options, inputs, 1, block)
            ticket = held.csched_submit_with(handle, slot, number, run, data, encoded.size, pack_ns, form)
        if ticket < 0:
            if block != NO_BLOCK:
                self.scheduler.drop(block)
            self._undo(slot, ticket)
        future._ticket = ticket
        return future

    def _form(self, options: TaskOptions, inputs: list[Future], count: int, block: int) -> tuple[Any, Any]:
        """A csched_options_t and what it points to."""
        tickets = ffi.new("uint64_t[]", [future._ticket for future in inputs]) if inputs else ffi.NULL
        form = ffi.new(
            "csched_options_t *",
            {
                "inputs": tickets,
                "input_count": len(inputs),
                "count": count,
                "priority": options.priority,
                "retries": options.retries if count == 1 else 0,
                "timeout_ns": int(options.timeout * 1e9) if options.timeout is not None else 0,
                "block": block,
            },
        )
        return form, tickets

    def _undo(self, slot: int, code: int) -> None:
        """A submit was refused: its slot is free again, and the reason is raised."""
        self.resolver.table[slot] = None
        self.resolver.slots.append(slot)
        check(code, "submitting a task")

    def check_process(self) -> None:
        """Waiting in a forked child would be for ever, and draining there would steal the parent's results."""
        if self.foreign:
            raise CellmillError(
                "this future belongs to the process that forked this one: wait for it there, or make an Executor here"
            )

    def _refuse(self) -> None:
        self.check_process()
        if self.closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        assert self.broken is not None
        raise WorkerLostError(f"this executor is broken: {self.broken}") from self.broken

    def _failed(self, run: int, cause: Future) -> Future:
        self.adjust_run(run, submitted=1, failed=1)
        future = Future(self)
        future.settle(None, outcomes.dependency_failed(cause, 0))
        return future

    def store(self, encoded: Encoded) -> int:
        """A block for a large payload; while the arena is full, wait for tasks to end."""
        while True:
            try:
                return self.scheduler.store(encoded)
            except Full:
                stats = self.stats()
                if stats.done == stats.submitted:
                    raise PayloadError(
                        f"no room for a payload of {encoded.size:,} bytes: results that this process still refers "
                        "to hold all shared memory. Delete or copy some of them, then call again."
                    ) from None
                self.resolver.resolve()
                self.scheduler.wait(50)

    def _add_function(self, encoded: Encoded) -> int:
        return self.scheduler.add_function(encoded)

    # -- many calls

    def map(
        self,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        *,
        chunksize: int | None,
        timeout: float | None,
        ordered: bool,
        return_exceptions: bool,
    ) -> Iterator[Any]:
        if self.closed or self.broken is not None:
            self._refuse()
        self.pool.sync_world()
        self.functions.number(function)  # one that cannot be sent raises here, once
        results = MapResults(
            self,
            function,
            iterables,
            options,
            run,
            chunksize=chunksize,
            timeout=timeout,
            ordered=ordered,
            return_exceptions=return_exceptions,
        )
        return iterate(results)

    def _submit_to_batch(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        """Single calls of a batch function gather while workers are busy, and go out together."""
        if len(args) != 1 or kwargs:
            raise UsageError(
                f"{function_name(function)} is a batch function: call it with one item (it receives a list of them), "
                "or use .map(items)"
            )
        self.functions.number(function)  # one that cannot be sent raises here, once
        key = (function, options, run)
        stream = self.batches.get(key)
        if stream is None or not stream.unfinished:
            if len(self.batches) > 32:
                self.batches = {k: s for k, s in self.batches.items() if s.unfinished}
            stream = self.batches[key] = Stream(self, function, options, run, _settle_element, star=False)
        element = BatchElement(stream)
        stream.add([(element, args[0])])
        stream.send()
        return element

    def submit_chunk(
        self, function: Any, body: dict[str, Any], chunk: Chunk, options: TaskOptions, run: int
    ) -> None:
        """Send one chunk of a stream; raises `PayloadError` when an element cannot be pickled."""
        start = _NOW()
        number = self.functions.number(function)
        if not number:
            body = {**body, "function": function}
        inputs: list[Future] = []
        count = len(body["items"])
        while True:
            inputs.clear()
            try:
                encoded = pack(self, function, body, (body["items"],), {}, inputs)
                for before in options.after:
                    add_input(self, before, inputs)
            except FailedInput as failed:
                error = outcomes.dependency_failed(failed.cause, 0)
                raise error from error.__cause__
            block, data = NO_BLOCK, encoded.data
            if encoded.buffers or encoded.size > INLINE_MAX:
                data, block = ffi.NULL, self.store(encoded)
            slot = self.resolver.take_slot()
            self.resolver.table[slot] = chunk
            self.adjust_run(run, submitted=-count)  # counted when they were added to the stream
            form, _keep = self._form(options, inputs, count, block)
            ticket = held.csched_submit_with(
                self.scheduler.handle, slot, number, run, data, encoded.size, _NOW() - start, form
            )
            if ticket >= 0:
                return
            if block != NO_BLOCK:
                self.scheduler.drop(block)
            self.adjust_run(run, submitted=count)
            try:
                self._undo(slot, ticket)
            except StaleInput:
                continue

    def cancel_sent(self, run: int) -> int:
        """Cancel tasks of a run that are in the scheduler."""
        count = int(held.csched_cancel_run(self.scheduler.handle, run))
        self.resolver.resolve()
        return count

    # -- questions of futures

    def wait(self, future: Future, timeout: float | None) -> None:
        self.resolver.wait(future, timeout)

    def cancel(self, future: Future) -> bool:
        if self.foreign or not future._ticket:
            return False
        return bool(held.csched_cancel(self.scheduler.handle, future._ticket))

    def is_running(self, future: Future) -> bool:
        if self.foreign or self.resolver.stopped:
            return False
        return int(held.csched_task_state(self.scheduler.handle, future._ticket)) == 3

    # -- runs and figures

    def open_run(self) -> int:
        number = ffi.new("uint32_t *")
        check(held.csched_run_open(self.scheduler.handle, number), "opening a run")
        return int(number[0])

    def run_counts(self, run: int) -> RunCounts:
        counts = ffi.new("csched_run_t *")
        held.csched_run_counts(self.scheduler.handle, run, counts)
        return RunCounts(counts.submitted, counts.succeeded, counts.failed, counts.cancelled)

    def adjust_run(
        self, run: int, *, submitted: int = 0, succeeded: int = 0, failed: int = 0, cancelled: int = 0
    ) -> None:
        """Correct the counts for what the scheduler does not see."""
        held.csched_run_adjust(self.scheduler.handle, run, submitted, succeeded, failed, cancelled)

    def cancel_run(self, run: int) -> int:
        count = sum(s.cancel_all() for s in list(self._streams(run)))
        return count + self.cancel_sent(run)

    def _streams(self, run: int) -> Iterator[Stream]:
        yield from streams_of(self, run)
        yield from (s for (_, _, r), s in list(self.batches.items()) if r == run)

    def stop_run(self, run: int) -> int:
        return self.cancel_run(run) + self.pool.interrupt(run)

    def cancel_everything(self) -> int:
        return ending.cancel_everything(self)

    def close_run(self, run: int) -> None:
        held.csched_run_close(self.scheduler.handle, run)

    def stats(self) -> Stats:
        s = ffi.new("csched_stats_t *")
        held.csched_stats(self.scheduler.handle, s)
        over = s.succeeded + s.failed + s.cancelled
        queued = max(0, s.submitted - over - s.running - s.waiting)
        return Stats(
            _NOW(),
            s.ready_workers,
            s.submitted,
            s.waiting,
            queued,
            s.running,
            s.succeeded,
            s.failed,
            s.cancelled,
        )

    def journey_rows(self) -> Iterator[dict[str, Any]]:
        for row in self.scheduler.journeys():
            ticket, run, function, element, worker, status, attempt, *stamps, pack_ns = row
            yield {
                "task": ticket,
                "run": run,
                "function": self.functions.names.get(function, "?"),
                "element": element,
                "worker": worker if worker != NO_WORKER else None,
                "status": STATUSES[status],
                "attempt": attempt,
                "pack_ns": pack_ns,
                **{stage: stamp or None for stage, stamp in zip(STAGES, stamps, strict=True)},
            }

    def workers(self) -> list[WorkerInfo]:
        return self.pool.infos()

    # -- control

    def set_workers(self, count: int) -> None:
        self.pool.resize(count)
        self.max_workers = count

    def set_policy(self, name: str) -> None:
        if held.csched_set_policy(self.scheduler.handle, name.encode()) < 0:
            raise UsageError(f"unknown policy {name!r}; there are: least-loaded, random, round-robin")
        self.policy = name

    def run_on_workers(self, function: Callable[..., Any]) -> list[Any]:
        return self.pool.call_everywhere(function)

    def preload(self, modules: Iterable[str]) -> None:
        self.pool.preload(modules)
        self.pool.restart()

    def pause(self, on: bool) -> None:
        held.csched_pause(self.scheduler.handle, on)

    def restart(self) -> None:
        self.broken = None
        self.pool.restart()

    def report(self, error: BaseException) -> None:
        """An error of ours in a thread of ours: told once, never fatal."""
        import warnings

        warnings.warn(
            f"cellmill: {type(error).__name__}: {error}; please report this", RuntimeWarning, stacklevel=2
        )

    def explain_loss(self, status: int, function: int, view: memoryview | None) -> BaseException:
        """The error of a task whose worker died or was stopped."""
        args: tuple[Any, ...] = ()
        kwargs: dict[str, Any] = {}
        name = self.functions.names.get(function, "a task")
        try:
            found = payload.decode(memoryview(bytes(view))) if view is not None else ()
            if isinstance(found, list):
                name = function_name(found[0]) if len(found) == 3 else name
                args, kwargs = found[-2:]
            else:
                args = found
        except Exception:  # the arguments themselves may be what killed the worker
            args = ("<arguments that cannot be shown>",)
        if status == held.CSCHED_LOST:
            return outcomes.lost(self.pool.last_exit, name, short_arguments(args, kwargs))
        return outcomes.error_of(status, None, name, None)

    # -- the end

    def break_down(self, error: CellmillError) -> None:
        """No worker can be had: everything outstanding fails with the reason, and so does what comes."""
        ending.break_down(self, error)

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        self.closed = True
        if not self.foreign:
            ending.shut_down(self, wait, cancel_futures)


_live: weakref.WeakSet[LocalBackend] = weakref.WeakSet()


def _disown() -> None:
    for backend in _live:
        backend.foreign = backend.closed = True


os.register_at_fork(after_in_child=_disown)


class BatchElement(Future):
    """The future of one item of a batch: it has no task of its own in the scheduler."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self._stream = stream


def _settle_element(future: BatchElement, value: Any, error: BaseException | None) -> None:
    called = future.settle_cancelled() if isinstance(error, CancelledError) else future.settle(value, error)
    if called:
        future.run_callbacks()
