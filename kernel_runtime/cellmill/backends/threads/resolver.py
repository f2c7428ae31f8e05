"""Resolving without unpickling: outcomes are taken from the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...futures import Future
from ...serialization.exceptions import here_and_now
from ..scheduled.resolver import _LATER, NONE, Resolver
from ..scheduled.retrying import RetriedFuture
from ..scheduled.scheduler import Completion, with_gil

if TYPE_CHECKING:
    from .backend import ThreadsBackend

VALUE, ERROR = with_gil.CSCHED_VALUE, with_gil.CSCHED_ERROR
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

    def _came(self, done: Completion) -> Any:
        call = self.backend.calls.get(done.slot)
        if call is not None and done.status == NONE:
            return call.value
        if call is not None and done.status == ERROR:  # of the loop over its elements itself
            return here_and_now(UNKNOWN if call.error is None else call.error)
        return None

    def _came_early(self, slot: int, detail: int, blob: int, address: int, size: int) -> Any:
        call = self.backend.calls.get(slot)
        return call.partials.get(detail) if call is not None and call.partials else None

    def _outcome(self, future: Future, done: Completion) -> tuple[Any, BaseException | None]:
        call, status = self.backend.calls.get(done.slot), done.status
        if status == NONE and call is not None:
            return call.value, None
        if (
            status == ERROR
            and call is not None
            and not (type(future) is RetriedFuture and future.last is not None)
        ):
            return None, here_and_now(UNKNOWN if call.error is None else call.error)
        if status in (with_gil.CSCHED_LOST, with_gil.CSCHED_TIMEOUT):
            task = self.backend.failures.name_of(done.slot)
            return None, self.backend.explain_end(call, status, done.function, done.time_ns / 1e9, task)
        return super()._outcome(future, done)
