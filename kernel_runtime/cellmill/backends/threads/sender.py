"""Sending without pickling: a call is kept by its slot, and the scheduler gets a task without a payload."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from ... import run_registry
from ...diagnostics.signatures import check_call
from ...futures import Future
from ...process_context import library_settings, settings, thread_context
from ...process_context.settings import Settings, Under, context_now
from ...randomness import streams
from ...serialization import shared
from ...serialization.function_code import function_name
from ...task import DEFAULT_OPTIONS, NO_RUN, Retry, TaskOptions
from ..common_options import CommonOptions
from ..inline import InlineBackend
from ..scheduled.call_encoding import AwaitedInput, FailedInput, Inputs
from ..scheduled.carried import CarriedObjects
from ..scheduled.chunks import Chunk
from ..scheduled.drawn import Drawn
from ..scheduled.gathered_calls import GatheredCalls
from ..scheduled.processor_use import CallerTime
from ..scheduled.retrying import RetriedFuture
from ..scheduled.scheduler import NO_BLOCK, StaleInput, ffi, with_gil
from ..scheduled.sender import Sender, SenderHost
from ..scheduled.slots import SlotTable
from . import task_streams
from .call import PARTS, AgainCall, Call, ChunkCall, add_after, packed
from .task_streams import TaskStream

_NOW = time.monotonic_ns
_SLOT = 2**32 - 1
_NOTHING: dict[str, Any] = {}
_LOOKED_AT = (Future, *PARTS)


class ThreadsSender(Sender):
    """Turns calls into tasks of one backend."""

    def __init__(self, host: SenderHost, slots: SlotTable, calls: dict[int, Call]) -> None:
        # without the base's: nothing of it needs room, or C
        self.host = host
        self.scheduler = host.scheduler
        self.slots = slots
        self.functions = host.functions
        self.gathered = GatheredCalls(host, self.functions, self.settings, self.packer)
        self.calls = calls
        self._drawn = Drawn(self.functions)
        self._waited = 0
        self.carried = CarriedObjects()  # nothing is: threads get the objects themselves
        self.plain: Any = self  # see `plain.PlainSubmit`: its `submit` is one of no run and no options
        self._inline = InlineBackend(
            options=CommonOptions(resources=...)
        )  # in a task: what it holds is counted already

    def waited(self, since: int) -> None:
        """See `plain.PlainSubmit`."""
        if threading.current_thread() is threading.main_thread():
            self._waited += time.monotonic_ns() - since

    def caller_time(self) -> CallerTime:
        """See `plain.PlainSubmit`; single calls are not watched."""
        return CallerTime(0, 0.0, (), self._waited * 1e-9)

    def submit(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: TaskOptions = DEFAULT_OPTIONS,
        run: int = NO_RUN,
    ) -> Future:
        """Submit one call as a task; return its future at once. In a task of such a backend it runs at once, in
        that task.
        """
        gate = self.host.gate
        if thread_context.used and thread_context.in_thread():
            return self._inline.submit(function, args, kwargs, options, run)
        if gate.closed or gate.broken is not None:
            gate.refuse()
        if shared.used:
            function, args, kwargs = shared.unshared((function, args, kwargs))
        if type(sys.stdout) is not TaskStream or type(sys.stderr) is not TaskStream:
            task_streams.look()
        if options.batch:
            return self._submit_to_batch(function, args, kwargs, options, run)
        check_call(function, args, kwargs)
        function = _under(function, self.settings())
        if streams.seed is not None:
            function = self._drawn.in_thread(function)
        if options.plain:
            for part in (*args, *kwargs.values()) if kwargs else args:
                if isinstance(part, _LOOKED_AT):
                    break
            else:
                return self._hand_over(Call(function, args, kwargs or None, context_now(), ()), function, run)
        return self._with_care(function, args, kwargs, options, run)

    def _hand_over(self, call: Call, function: Any, run: int) -> Future:
        """A call with nothing to look after. It and its future are in place before the task can end."""
        number = self.functions.number(function)
        future = Future(self.host)
        slot = self.slots.take()
        self.slots.entries[slot] = future
        self.calls[slot] = call
        ticket = with_gil.csched_submit(self.scheduler.handle, slot, number, run, ffi.NULL, 0, 0)
        if ticket < 0:
            del self.calls[slot]
            self.slots.undo(slot, ticket)
        future._ticket = ticket
        return future

    def _with_care(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        """Futures among the arguments are inputs; options travel in a form."""
        host = self.host
        start = _NOW()
        if options.asks:
            host.resources.check(options)
        retry = options.retries if isinstance(options.retries, Retry) else None
        future = Future(host) if retry is None else RetriedFuture(host, retry)
        kind = AgainCall if options.retries else Call
        while True:
            inputs = Inputs()
            try:
                filled = tuple([packed(host, part, inputs) for part in args])
                named = {name: packed(host, part, inputs) for name, part in kwargs.items()}
                add_after(host, options.after, inputs)
            except AwaitedInput as awaited:
                if not kwargs and streams.seed is None:
                    return self.gathered.submit(function, args, options, run, context_now())
                awaited.wait()
                continue
            except FailedInput as failed:
                return self._not_run(function, args, kwargs, options, run, failed.cause)
            call = kind(function, filled, named or None, context_now(), self._sources(inputs))
            number = self.functions.number(function)
            slot = self.slots.take()
            self.slots.entries[slot], self.calls[slot] = future, call
            future._inputs = tuple(inputs)
            form, _keep = self._form(options, inputs, NO_BLOCK)
            ticket = with_gil.csched_submit_with(
                self.scheduler.handle, slot, number, run, ffi.NULL, 0, _NOW() - start, form
            )
            if ticket < 0:
                del self.calls[slot]
                try:
                    self.slots.undo(slot, ticket)
                except StaleInput:  # an input was resolved meanwhile, its value is at hand now
                    continue
            future._ticket = ticket
            if inputs.over:
                self._tell_over(ticket, number, inputs.over)
            return future

    def _sources(self, inputs: Inputs) -> tuple[Call | None, ...]:
        """The calls of these futures; of one that is settled meanwhile any, since the scheduler refuses then."""
        return tuple([self.calls.get(future._ticket & _SLOT) for future in inputs])

    def packer(self, name: str, *, star: bool) -> None:
        """Tasks work on the objects themselves."""

    def submit_chunk(
        self, function: Any, body: dict[str, Any], chunk: Chunk, options: TaskOptions, run: int
    ) -> None:
        """Send one chunk of a stream; raises `DependencyError` when an input has failed, `AwaitedInput` when one has
        to come to an end first.
        """
        host = self.host
        start = _NOW()
        if options.asks:
            host.resources.check(options)
        count = len(body["items"])
        if shared.used:
            function, body = shared.unshared((function, body))
        given, function = body, _under(function, chunk.stream.settings)
        while True:
            inputs = Inputs()
            try:
                body = {**given, "items": packed(host, given["items"], inputs)}
                add_after(host, options.after, inputs)
            except FailedInput as failed:
                self._chunk_not_run(function, chunk, options, run, failed.cause)
                return
            number, draws = self.functions.number(function), self._drawn.chunk(function, chunk)
            if draws is not None:
                streams.say_shared()
                body = {**body, "draws": draws}
            call = ChunkCall(
                function, function_name(function), body, self._context(run, chunk), self._sources(inputs)
            )
            slot = self.slots.take()
            self.slots.entries[slot], chunk.slot = chunk, slot
            chunk.inputs = inputs if count == 1 else ()
            self.calls[slot] = call
            form, _keep = self._form(options, inputs, NO_BLOCK)
            chunk.describe(form)
            ticket = with_gil.csched_submit_with(
                self.scheduler.handle, slot, number, run, ffi.NULL, 0, _NOW() - start, form
            )
            if ticket >= 0:
                if inputs.over:
                    self._tell_over(ticket, number, inputs.over)
                return
            del self.calls[slot]
            try:
                self.slots.undo(slot, ticket)
            except StaleInput:
                continue

    def settings(self) -> Settings | None:
        """Return this thread's settings where scikit-learn's are set, which do not go with a context; else None."""
        return settings.read() if library_settings.read_estimators() else None

    def _context(self, run: int, chunk: Chunk) -> Any:
        """The context of the thread that made the call, or called `map`; chunks are sent by any thread that has
        results.
        """
        own = getattr(chunk.keys[0], "context", None)
        if own is not None:
            return own.copy()
        found = run_registry.find(run, self.host) if run != NO_RUN else None
        return found.context.copy() if found is not None else context_now()


def _under(function: Any, found: Settings | None) -> Any:
    """The function, called under settings of its own."""
    return function if found is None else Under(found, function, own_process=False)
