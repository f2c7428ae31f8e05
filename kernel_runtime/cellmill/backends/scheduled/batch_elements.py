"""Futures of single calls that are elements of a stream: see `gathered_calls`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

from ...errors import is_a
from ...futures import Future
from .scheduler import with_gil
from .stream import CancelledItem, Stream


class BatchElement(Future):
    """The future of such a call: it has no task of its own in the scheduler."""

    def __init__(self, stream: Stream, context: Any = None) -> None:
        super().__init__(stream)
        self._stream = stream
        self.context = context  # of its caller, where a thread runs it
        self.index: int | None = None  # among those that draw random numbers

    def why(self) -> str:
        """See `Future`."""
        awaited, batch = self._stream.parked.awaited_by(self), self._stream.options.batch
        if awaited is not None:
            call = awaited._owner.call_text(awaited)
            return f"It waits for its input{f' {call}' if call else ''}, which is not over."
        sent, what = self._owner.is_running(self), "its batch" if batch else "it"
        if with_gil.csched_paused(self._stream.host.scheduler.handle):
            goes_on = "The workers are paused: `%cellmill resume`, or Resume in the panel, goes on."
            return f"{goes_on} {what[0].upper()}{what[1:]} may have begun before." if sent else goes_on
        if sent:
            return f"{what[0].upper()}{what[1:]} was handed on: it runs on a worker, or is queued for one."
        if batch:
            return "It is an item of a batch: it goes to a worker with the others as soon as one has room."
        return "It goes to a worker as soon as one has room."


class _BatchElements:
    """Receives what comes back for the futures of batches, which are their own keys."""

    def receive(self, keys: Sequence[BatchElement], values: list[Any], size: int = 0) -> None:
        """See `Receiver`."""
        for future, value in zip(keys, values, strict=True):
            if future.settle(value):
                future._stream.host.call_back(future)

    def receive_error(self, key: BatchElement, error: BaseException) -> None:
        """See `Receiver`."""
        if is_a(error, CancelledError):
            key._cancelled = CancelledItem(key._stream, key, error)
            called = key.settle_cancelled()
        else:
            called = key.settle(None, error)
        if called:
            key._stream.host.call_back(key)

    def receive_cancelled(self, keys: Sequence[BatchElement]) -> None:
        """See `Receiver`."""
        for future in keys:
            future._cancelled = CancelledItem(future._stream, future, CancelledError())
            if future.settle_cancelled():
                future._stream.host.call_back(future)


BATCH_ELEMENTS = _BatchElements()
