"""Calls by reference: what a thread runs, with the objects themselves as arguments and results.

A call belongs to the slot of its task and goes with it, however the task ends; tasks that take its result hold it too.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable
from operator import is_
from typing import TYPE_CHECKING, Any

from ...diagnostics.naming import InputName
from ...diagnostics.short_text import short_arguments
from ...futures import FINISHED, OVER, Future, FutureOwner
from ...process_context import thread_context
from ...serialization.exceptions import here_and_now
from ..scheduled.call_encoding import AwaitedInput, FailedInput, Inputs, add_input, is_owned_by, note_over

if TYPE_CHECKING:
    from ...serialization.chunk_outcomes import Unsent

PARTS = (list, tuple, dict)  # what is looked through for futures, as deep as it goes
DEEPEST = 50


class Call:
    """One call, as csched/python/threads.c runs it: ``invoke(*args, **kwargs)`` gives ``value``, or ``error``."""

    __slots__ = ("args", "error", "failures", "invoke", "kwargs", "partials", "sources", "value")

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        context: contextvars.Context,
        sources: tuple[Call | None, ...],
    ) -> None:
        self.sources = sources  # whose values take the places of futures in the arguments
        self.failures = 0
        self.value: Any = None
        self.error: BaseException | None = None
        self.partials: dict[int, Any] | None = (
            None  # outcomes of a chunk that runs, by the elements they end with
        )
        if sources:
            self.invoke: Callable[..., Any] = self._fill
            self.args: tuple[Any, ...] = (context, function, args, kwargs)
            self.kwargs: dict[str, Any] | None = None
        else:
            self.invoke = context.run
            self.args = (function, *args)
            self.kwargs = kwargs

    def call(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """Function, arguments and keyword arguments, for display; inputs by the names they have."""
        if self.sources:
            _, function, args, kwargs = self.args
            return function, filled(args, self.sources), filled(kwargs or {}, self.sources)
        return self.args[0], self.args[1:], self.kwargs or {}

    def with_inputs(self, values: Any) -> tuple[Any, Any]:
        """Arguments and keyword arguments with these in the places of the sources."""
        *_, args, kwargs = self.args
        return filled(args, values), filled(kwargs or {}, values)

    def _fill(self, context: contextvars.Context, function: Any, args: Any, kwargs: Any) -> Any:
        # a copy: the thread of an attempt that was given up may be in it still
        return context.copy().run(function, *filled(args, self.sources), **filled(kwargs or {}, self.sources))


class AgainCall(Call):
    """A call that may run several times."""

    __slots__ = ()

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if not self.sources:
            self.args = (self.invoke.__self__, *self.args)  # type: ignore[attr-defined]
            self.invoke = _anew

    def call(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        if self.sources:
            return super().call()
        return self.args[1], self.args[2:], self.kwargs or {}


def _anew(context: contextvars.Context, function: Any, *args: Any, **kwargs: Any) -> Any:
    return context.copy().run(function, *args, **kwargs)


class Input:
    """Replaces a future in packed arguments: the place of its call among the sources."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position


def packed(owner: FutureOwner, value: Any, inputs: Inputs, within: tuple[int, ...] = ()) -> Any:
    """The value itself, or where futures are in it a copy with their results or an `Input` in their places.

    Raises `FailedInput` or `AwaitedInput`.
    """
    if isinstance(value, Future):
        return _place(owner, value, inputs)
    kind = type(value)
    if kind not in PARTS or id(value) in within or len(within) > DEEPEST:
        return value
    parts = value.values() if kind is dict else value
    if not any(map(_holds, set(map(type, parts)))):  # a long list of numbers is done with here
        return value
    made = [packed(owner, part, inputs, (*within, id(value))) for part in parts]
    if all(map(is_, parts, made)):
        return value
    return dict(zip(value, made, strict=True)) if kind is dict else kind(made)


def _holds(kind: type) -> bool:
    return kind in PARTS or issubclass(kind, Future)


def _place(owner: FutureOwner, future: Any, inputs: Inputs) -> Any:
    if future._state not in OVER:
        if is_owned_by(owner, future):
            inputs.append(future)
            return Input(len(inputs) - 1)
        raise AwaitedInput(future)
    if future._state != FINISHED or future._exception is not None:
        raise FailedInput(future)
    if is_owned_by(owner, future):
        note_over(future, inputs)
    return future._result


def add_after(owner: FutureOwner, after: Iterable[Any], inputs: Inputs) -> None:
    """Futures that are waited for, and whose values are not used."""
    for future in after:
        add_input(owner, future, inputs)


def filled(value: Any, sources: tuple[Call | None, ...], within: tuple[int, ...] = ()) -> Any:
    """`packed` undone: values in the places of inputs."""
    kind = type(value)
    if kind is Input:
        source = sources[value.position]
        return source.value if source is not None else None
    if kind not in PARTS or id(value) in within or len(within) > DEEPEST:
        return value
    parts = value.values() if kind is dict else value
    if {Input, *PARTS}.isdisjoint(map(type, parts)):
        return value
    made = [filled(part, sources, (*within, id(value))) for part in parts]
    if all(map(is_, parts, made)):
        return value
    return dict(zip(value, made, strict=True)) if kind is dict else kind(made)


class ChunkCall(Call):
    """Elements of a map, or a batch."""

    __slots__ = ("body", "function", "name")

    def __init__(
        self,
        function: Any,
        name: str,
        body: dict[str, Any],
        context: contextvars.Context,
        sources: tuple[Call | None, ...],
    ) -> None:
        super().__init__(self._run, (), None, context, ())
        self.sources = sources
        self.function, self.name, self.body = function, name, body
        self.partials = {}

    def _run(self) -> Any:
        from ...worker_process.chunk import run_chunk

        runner = ChunkRunner(self)
        # popped one by one there: the stream keeps its own
        items = list(filled(self.body["items"], self.sources) if self.sources else self.body["items"])
        body = {"items": items, "batch": self.body["batch"], "star": self.body["star"]}
        if "draws" in self.body:
            body |= {"draws": self.body["draws"], "shared": True}
        run_chunk(runner, self.function, self.name, len(items), body)
        return runner.outcome


class ChunkRunner:
    """See `chunk.Runner`: outcomes stay objects."""

    def __init__(self, call: ChunkCall) -> None:
        self._call = call
        self._worker = thread_context.here.worker
        self.handle = self._worker.handle
        self.in_user_code = False
        self.outcome: Any = None
        self.end_output = self._worker.end_output
        self._unsent: Unsent | None = None

    @property
    def unsent(self) -> Unsent | None:
        """Outcomes of the chunk that runs."""
        return self._unsent

    @unsent.setter
    def unsent(self, unsent: Unsent | None) -> None:
        self._unsent = unsent
        self._worker.pool.late_chunks.put(self._worker, unsent)

    @staticmethod
    def encode_error(error: BaseException, name: str) -> BaseException:
        """The error itself."""
        return here_and_now(error)

    @staticmethod
    def encode_outcomes(outcomes: Any, name: str) -> tuple[int, Any, dict[int, Any]]:
        """Return the outcomes as they are: (first position, values, errors by position)."""
        return outcomes.first, outcomes.values, outcomes.errors

    def show_output(self) -> None:
        """See `chunk.Runner`: what it prints is shown at once."""

    def partial(self, end: int, failures: int, encoded: Any) -> None:
        """Keep results of the first elements for the kernel's side."""
        assert self._call.partials is not None
        self._call.partials[end] = encoded
        self._worker.partial(end, failures)

    def publish(self, status: int, failures: int, encoded: Any) -> None:
        """Leave publishing to the loop in C."""
        self._call.failures = failures
        self.outcome = encoded


def shown(call: Call | None) -> str:
    """Its arguments, as short text."""
    if call is None or isinstance(call, ChunkCall):
        return "..."
    try:
        if call.sources:
            return short_arguments(*call.with_inputs(tuple(map(_Given, range(len(call.sources))))))
        return short_arguments(*call.call()[1:])
    except Exception:
        return "<arguments that cannot be shown>"


class _Given:
    """Replaces an input that may be missing."""

    def __init__(self, place: int) -> None:
        self.value = InputName(place + 1)
