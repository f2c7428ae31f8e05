"""Sending: one call or one chunk of calls packed, given a slot and handed to the scheduler.

A task's path in the kernel begins at `Sender.submit`; that of a plain call goes on in C (csched/python/submit.c).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ...by_value import identities
from ...diagnostics.naming import arguments_text
from ...diagnostics.signatures import check_call
from ...errors import CellmillError, UsageError
from ...futures import Future, FutureOwner
from ...process_context.settings import Settings
from ...randomness import given
from ...randomness.generators import Draws
from ...serialization.function_code import function_name
from ...serialization.packer import Packer
from ...serialization.payload import INLINE_MAX, Encoded, encode
from ...serialization.pieces import Together, as_sent
from ...serialization.unpacked import with_names
from ...serialization.unpicklable import explain_argument
from ...task import DEFAULT_OPTIONS, NO_RUN, Retry, Stats, TaskOptions
from ..resources import Resources
from . import outcomes
from .call_encoding import AwaitedInput, FailedInput, Inputs, Packing, add_input, is_owned_by, pack
from .carried import CarriedObjects
from .chunks import Chunk
from .drawn import Drawn
from .gathered_calls import GatheredCalls
from .not_run import NotRunFuture, form_not_run, submit_not_run
from .payload_blocks import Room
from .plain import PlainSubmit
from .protocols import StreamHost
from .retrying import RetriedFuture
from .scheduler import NO_BLOCK, StaleInput, ffi, with_gil
from .sharing import Sharing
from .slots import SlotTable

MOST_FORMS = 64
LONGEST_S = 1e9  # of a time limit: thirty years

_NOW = time.monotonic_ns
_NULL = ffi.NULL  # each look-up on a cffi library or ffi costs as much as a short call
_FORM = ffi.typeof("csched_options_t *")
_NO_FORM: tuple[int, Any] = (0, None)


class SenderHost(StreamHost, FutureOwner, Protocol):
    """Interface of a backend to its sender; it also owns the futures."""

    resources: Resources
    sharing: Sharing

    def stats(self) -> Stats: ...

    def break_down(self, error: CellmillError) -> None:
        """Fail all outstanding tasks with this error: no worker can be had."""


class Sender:
    """Turns calls into tasks of one backend."""

    def __init__(self, host: SenderHost, slots: SlotTable) -> None:
        self.host = host
        self.scheduler = host.scheduler
        self.slots = slots
        self._room = Room(host.scheduler, host.stats, host.resolve)
        self.functions = host.functions
        self._forms: dict[Any, tuple[int, Any]] = {}  # by their options: address, and the memory there
        self._last: tuple[TaskOptions | None, tuple[int, Any] | None] = (None, None)  # of the latest call
        self.gathered = GatheredCalls(host, self.functions, self.settings, self.packer)
        self._drawn = Drawn(self.functions)
        self.carried = CarriedObjects()
        self.plain = PlainSubmit(host, host.gate, self.scheduler, self.functions, slots, self._submit_any)

    def submit(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        """Submit one call as a task; return its future at once."""
        if not kwargs:
            last, form = self._last  # held on to here, until it was read
            if options is not last:
                form = self._form_of(options)
                self._last = options, form
            if form is not None:
                # most calls: csched/python/submit.c
                future: Future | None = self.plain.call(function, args, run, form[0])
                if future is not None:
                    return future
        return self._long_way(function, args, kwargs, options, run)

    def _form_of(self, options: TaskOptions) -> tuple[int, Any] | None:
        """Return the C form of task options; None where a call needs the long way."""
        if not options.simple:
            return None
        return _NO_FORM if options.plain else self._kept_form(options)

    def _kept_form(self, options: TaskOptions) -> tuple[int, Any]:
        """Return the address of the C form of task options, and what keeps it alive; made once for equal options."""
        key: Any = (options.retries, options.timeout, options.priority)
        if options.asks:
            key += (options.resources, options.memory)
        found = self._forms.get(key)
        if found is None:
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            form, keep = self._form(options, Inputs(), NO_BLOCK)
            found = self._forms[key] = (int(ffi.cast("uintptr_t", form)), (form, keep))
        return found

    def settings(self) -> Settings | None:
        """Under which a map or a batch is to run that begins now; None: it will see those of the process."""
        found: Settings = self.plain.settings.now()
        return found

    def _submit_any(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future:
        return self._long_way(function, args, kwargs, DEFAULT_OPTIONS, NO_RUN)

    def _long_way(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        host = self.host
        host.gate.check()
        if not options.batch:
            check_call(function, args, kwargs)
        if options.asks:
            host.resources.check(options)
        start = self.plain.look()
        if options.batch:
            future = self._submit_to_batch(function, args, kwargs, options, run)
        else:
            future = self._submit_packed(Future(host), function, args, kwargs, options, run, start)
        if (
            host.gate.broken is not None
        ):  # since that check: the thread that broke it may have missed this one
            host.break_down(host.gate.broken)
        return future

    def _submit_packed(
        self,
        future: Future,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: TaskOptions,
        run: int,
        start: int,
    ) -> Future:
        """A call whose arguments need looking after: futures among them are inputs, large buffers travel apart."""
        host = self.host
        if isinstance(options.retries, Retry):
            future = RetriedFuture(host, options.retries)
        settings = self.plain.settings.own()
        draws: Draws | None = None
        looked = False
        while True:
            number, draws = self._drawn.call(function, draws)
            try:
                packed = partial(self._packing(function, with_names), args, kwargs)
                if number:
                    body: Any = args if not kwargs else [args, kwargs]
                    if draws is not None:
                        body = [settings, None, draws, args, kwargs]
                    elif settings is not None:
                        body = [settings, None, args, kwargs]
                    inputs = Inputs()
                    encoded = packed(body, encode, inputs)
                    if (
                        not looked
                    ):  # a function that travels with its call draws from children of what it is given
                        given.look((args, kwargs), encoded.texts, function_name(function), function)
                        captured = self.functions.captured(function)
                        if captured:
                            identities.look(
                                (*args, *kwargs.values()), captured, function_name(function), function
                            )
                        looked = True
                else:
                    encoded, inputs = self._drawn.travelling(function, settings, draws, args, kwargs, packed)
                for before in options.after:
                    add_input(host, before, inputs)
                if encoded.buffers:
                    self.carried.note(number, function, (args, kwargs), encoded.buffers)
                return self._send(future, number, run, encoded, inputs, options, start)
            except (
                StaleInput
            ):  # an input was resolved meanwhile, its value is at hand now; or the function renewed
                continue
            except AwaitedInput as awaited:
                if number and draws is None and not kwargs:
                    return self.gathered.submit(function, args, options, run)
                awaited.wait()  # what the call carries besides its arguments is as of now
            except FailedInput as failed:
                return self._not_run(function, args, kwargs, options, run, failed.cause)

    def _packing(self, function: Any, with_names: Callable[[Any, Any], Any]) -> Packing:
        host = self.host
        return Packing(
            function, partial(pack, host, host.sharing, function), with_names, self.functions.readers
        )

    def _send(
        self,
        future: Future,
        number: int,
        run: int,
        encoded: Encoded,
        inputs: Inputs,
        options: TaskOptions,
        start: int,
    ) -> Future:
        """Hand a packed call to the scheduler. The future is in the table before the task can end. ``start``: when
        packing began.
        """
        block = NO_BLOCK
        if inputs.held:
            self.hold(inputs.held, future)
        if encoded.buffers or encoded.size > INLINE_MAX:
            encoded = self.outside(encoded, future)
        data: Any = encoded.data
        if encoded.buffers or encoded.size > INLINE_MAX:
            data, block = ffi.NULL, self.store(encoded)
        slot = self.slots.take()
        self.slots.entries[slot] = future
        handle = self.scheduler.handle
        pack_ns = _NOW() - start
        if options.plain and not inputs and not inputs.needs and inputs.warm is None:
            if block == NO_BLOCK:
                ticket = with_gil.csched_submit(handle, slot, number, run, data, encoded.size, pack_ns)
            else:
                ticket = with_gil.csched_submit_block(handle, slot, number, run, block, encoded.size, pack_ns)
        else:
            future._inputs = tuple(inputs)
            form, _keep = self._form(options, inputs, block)
            ticket = with_gil.csched_submit_with(handle, slot, number, run, data, encoded.size, pack_ns, form)
        if ticket < 0:
            if block != NO_BLOCK:
                self.scheduler.drop(block)
            self.slots.undo(slot, ticket)
        future._ticket = ticket
        if inputs.over:
            self._tell_over(ticket, number, inputs.over)
        self.plain.form.left = _NOW()
        return future

    def _form(self, options: TaskOptions, inputs: Inputs, block: int) -> tuple[Any, Any]:
        """A csched_options_t and what it points to."""
        tickets = ffi.new("uint64_t[]", [future._ticket for future in inputs]) if inputs else _NULL
        form = ffi.new(_FORM)
        form.inputs = tickets
        form.input_count = len(inputs)
        form.beside = inputs.needs
        form.warm, form.stays = 0 if inputs.warm is None else inputs.warm + 1, inputs.stays
        form.count = 1
        form.priority = options.priority
        if isinstance(options.retries, Retry):
            form.retries, form.ask = options.retries.times, 1
        else:
            form.retries = options.retries
        form.timeout_ns = int(min(options.timeout, LONGEST_S) * 1e9) if options.timeout is not None else 0
        form.block = block
        if not options.asks:
            return form, tickets
        asked = self.host.resources.check(options)
        needs = ffi.new(
            "csched_need_t[]", [{"resource": number, "amount": amount} for number, amount in asked]
        )
        form.needs, form.need_count = needs, len(asked)
        return form, (tickets, needs)

    def _tell_over(self, ticket: int, number: int, over: list[int]) -> None:
        """Inputs whose values went along are shown as such."""
        tickets = ffi.new("uint64_t[]", over)
        with_gil.csched_depended(self.scheduler.handle, ticket, number, tickets, len(over))

    def _not_run(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: TaskOptions,
        run: int,
        cause: Future,
    ) -> Future:
        """The future of a call one of whose inputs has failed already: a task that is over at once."""
        shown = arguments_text(args, kwargs, Future)
        future = NotRunFuture(self.host, cause, function_name(function), shown)
        form = form_not_run(options.priority)
        future._ticket = self._submit_not_run(future, function, run, cause, form)
        self.host.resolve()
        return future

    def _chunk_not_run(
        self, function: Any, chunk: Chunk, options: TaskOptions, run: int, cause: Future
    ) -> None:
        """The same of an element of a stream. Raises `DependencyError` where others are in its chunk: they may run."""
        if len(chunk.items) > 1:
            error = outcomes.dependency_failed(cause, 0)
            raise error from error.__cause__
        chunk.inputs = (cause,)
        form = form_not_run(options.priority)
        chunk.describe(form)
        self._submit_not_run(chunk, function, run, cause, form)

    def _submit_not_run(
        self, entry: NotRunFuture | Chunk, function: Any, run: int, cause: Future, form: Any
    ) -> int:
        ticket, number = submit_not_run(
            self.scheduler, self.slots, entry, lambda: self._drawn.number(function), run, form
        )
        if is_owned_by(self.host, cause):
            self._tell_over(ticket, number, [cause._ticket])
        return ticket

    def outside(self, encoded: Encoded, entry: Future | Chunk) -> Encoded:
        """Return what travels in place of a large payload, if that is kept elsewhere; ``entry`` holds it there."""
        return encoded

    def hold(self, held: list[Any], entry: Future | Chunk) -> None:
        """Keep these objects until ``entry`` is over."""
        raise NotImplementedError

    def store(self, encoded: Encoded) -> int:
        """A block for a large payload."""
        return self._room.store(encoded)

    def _submit_to_batch(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future:
        """Single calls of a batch function gather while workers are busy, and go out together."""
        if len(args) != 1 or kwargs:
            raise UsageError(
                f"{function_name(function)} is a batch function: call it with one item (it receives a list of them), "
                "or use .map(items)"
            )
        return self.gathered.submit(function, args, options, run)

    def packer(self, name: str, *, star: bool) -> Callable[[bool], Packer] | None:
        """Return what packs the elements of a map of this function when they are taken; None where they are kept
        unpacked.
        """
        return lambda quiet: Packer(name, star=star, quiet=quiet)

    def submit_chunk(
        self, function: Any, body: dict[str, Any], chunk: Chunk, options: TaskOptions, run: int
    ) -> None:
        """Send one chunk of a stream; raises `PayloadError` when an element cannot be pickled, `AwaitedInput` when an
        input has to come to an end first.

        Its elements are tried again by the stream, one by one, and not by the scheduler.
        """
        if options.asks:
            self.host.resources.check(options)
        start = _NOW()
        inputs = Inputs()
        items: list[Any] = body["items"]
        count = len(items)
        number = chunk.stream.number_for(chunk.keys)  # of the function as they see it
        while True:
            draws = self._drawn.chunk(function, chunk)
            if not number:
                body = {**body, "function": function}
            if chunk.stream.settings is not self.plain.settings.base:
                body = {**body, "settings": chunk.stream.settings}
            body["items"] = sent = as_sent(items)
            packing = self._packing(function, _named_chunk)
            names_nothing = type(sent) is Together and sent.plain
            args = () if count > 1 else tuple(items)
            try:
                inputs = Inputs()
                body = body if draws is None else {**body, "draws": draws}
                encoded = packing(args, {}, body, encode, inputs, plain=names_nothing)
                for before in options.after:
                    add_input(self.host, before, inputs)
            except FailedInput as failed:
                self._chunk_not_run(function, chunk, options, run, failed.cause)
                return
            except StaleInput:  # something shared was closed meanwhile
                number = self._drawn.number(function)
                continue
            except KeyboardInterrupt as error:  # Stop is held back here: an element raised it
                raise explain_argument(function_name(function), args, {}, error) from error
            if encoded.buffers and count == 1:
                self.carried.note_element(number, items[0])
            if inputs.held:
                self.hold(inputs.held, chunk)
            if encoded.buffers or encoded.size > INLINE_MAX:
                encoded = self.outside(encoded, chunk)
            block, data = NO_BLOCK, encoded.data
            if encoded.buffers or encoded.size > INLINE_MAX:
                data, block = ffi.NULL, self.store(encoded)
            slot = self.slots.take()
            self.slots.entries[slot], chunk.slot = chunk, slot
            chunk.inputs = inputs if count == 1 else ()
            form, _keep = self._form(options, inputs, block)
            chunk.describe(form)
            ticket = with_gil.csched_submit_with(
                self.scheduler.handle,
                slot,
                number,
                run,
                data,
                encoded.size,
                _NOW() - start + chunk.packing,
                form,
            )
            if ticket >= 0:
                if inputs.over:
                    self._tell_over(ticket, number, inputs.over)
                return
            if block != NO_BLOCK:
                self.scheduler.drop(block)
            try:
                self.slots.undo(slot, ticket)
            except StaleInput:
                number = self._drawn.number(function)
                continue


def _named_chunk(body: dict[str, Any], names: Any) -> dict[str, Any]:
    return {**body, "names": names}
