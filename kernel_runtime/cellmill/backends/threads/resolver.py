"""Resolving without unpickling: outcomes are taken from the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...futures import Future
from ...raised import here_and_now
from ..scheduled.resolver import _LATER, NONE, Resolver
from ..scheduled.retrying import RetriedFuture
from ..scheduled.scheduler import held
from ..scheduled.stream import Chunk

if TYPE_CHECKING:
    from .backend import ThreadsBackend

VALUE, ERROR = held.CSCHED_VALUE, held.CSCHED_ERROR
UNKNOWN = MemoryError("the error of the task could not be kept")


class ThreadsResolver(Resolver):
    """Calls go with the slots of their tasks, once those are committed."""

    backend: ThreadsBackend

    def settled(self, slots: list[int]) -> None:
        calls = self.backend.calls
        for slot in slots:
            calls.pop(slot, None)

    def _small_values(self, n: int, slots: list[int], statuses: list[int]) -> list[Any]:
        table, calls = self.table, self.backend.calls
        values: list[Any] = []
        for slot, status in zip(slots, statuses, strict=True):
            entry = table[slot]
            alone = status == NONE and type(entry) is Future and entry._followers is None
            values.append(calls[slot].value if alone else _LATER)
        return values

    def _outcome(
        self,
        future: Future,
        slot: int,
        status: int,
        worker: int,
        detail: int,
        blob: int,
        address: int,
        size: int,
        function: int,
        limit_ns: int,
    ) -> tuple[Any, BaseException | None]:
        call = self.backend.calls.get(slot)
        if status == NONE and call is not None:
            return call.value, None
        if status == ERROR and call is not None and not (type(future) is RetriedFuture and future.last):
            return None, here_and_now(call.error or UNKNOWN)
        if status in (held.CSCHED_LOST, held.CSCHED_TIMEOUT):
            return None, self.backend.explain_end(call, status, worker, function, limit_ns / 1e9)
        return super()._outcome(future, slot, status, worker, detail, blob, address, size, function, limit_ns)

    def _complete(
        self,
        chunk: Chunk,
        slot: int,
        status: int,
        worker: int,
        detail: int,
        blob: int,
        address: int,
        size: int,
        run_ns: int,
    ) -> None:
        call = self.backend.calls.get(slot)
        if status == NONE and call is not None:
            chunk.complete(VALUE, worker, detail, call.value, run_ns)
        elif status == ERROR and call is not None:  # of the loop over its elements itself
            chunk.complete(status, worker, detail, here_and_now(call.error or UNKNOWN), run_ns)
        else:
            chunk.complete(status, worker, detail, None, run_ns)

    def _partial(self, chunk: Chunk, slot: int, detail: int, blob: int, address: int, size: int) -> None:
        call = self.backend.calls.get(slot)
        came = call.partials.get(detail) if call is not None and call.partials else None
        if came is not None:
            chunk.partial(came)
