"""Results without unpickling: values and errors are taken from the calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import WorkerLostError
from ...futures import Future
from ...serialization.exceptions import here_and_now
from ..scheduled import outcomes
from ..scheduled.failure_log import FailureLog
from ..scheduled.results import LATER, NONE, Results
from ..scheduled.retrying import RetriedFuture
from ..scheduled.scheduler import Completion, Scheduler, with_gil
from ..scheduled.slots import SlotTable
from .call import Call, shown

ERROR = with_gil.CSCHED_ERROR
UNKNOWN = MemoryError("the error of the task could not be kept")


class ThreadResults(Results):
    """Calls go with the slots of their tasks, once those are committed."""

    stopped = outcomes.TOLD

    def __init__(
        self,
        scheduler: Scheduler,
        slots: SlotTable,
        failures: FailureLog,
        names: Mapping[int, str],
        calls: dict[int, Call],
    ) -> None:
        super().__init__(scheduler, slots, failures, names, lambda _: None)
        self._calls = calls

    def committed(self, slots: list[int]) -> None:
        calls = self._calls
        for slot in slots:
            calls.pop(slot, None)

    def small(self, n: int, slots: list[int], statuses: list[int]) -> list[Any]:
        entries, calls = self._slots.entries, self._calls
        values: list[Any] = []
        for slot, status in zip(slots, statuses, strict=True):
            entry = entries[slot]
            alone = status == NONE and type(entry) is Future and entry._followers is None
            values.append(calls[slot].value if alone else LATER)
        return values

    def of_chunk(self, done: Completion) -> Any:
        call = self._calls.get(done.slot)
        if call is not None and done.status == NONE:
            return call.value
        if call is not None and done.status == ERROR:  # of the loop over its elements itself
            return here_and_now(UNKNOWN if call.error is None else call.error)
        return None

    def partial(self, slot: int, detail: int, blob: int, address: int, size: int) -> Any:
        call = self._calls.get(slot)
        return call.partials.get(detail) if call is not None and call.partials else None

    def of_task(self, future: Future, done: Completion) -> tuple[Any, BaseException | None]:
        call, status = self._calls.get(done.slot), done.status
        if status == NONE and call is not None:
            return call.value, None
        if (
            status == ERROR
            and call is not None
            and not (type(future) is RetriedFuture and future.last is not None)
        ):
            return None, here_and_now(UNKNOWN if call.error is None else call.error)
        if status in (with_gil.CSCHED_LOST, with_gil.CSCHED_TIMEOUT):
            return None, self._cut_short(call, done)
        return super().of_task(future, done)

    def _cut_short(self, call: Call | None, done: Completion) -> BaseException:
        """The error of a task whose thread ended, or that ran past its limit."""
        name, arguments = self._names.get(done.function, "a task"), shown(call)
        text = outcomes.with_number(f"{name}({arguments})", self._failures.name_of(done.slot))
        if done.status == with_gil.CSCHED_LOST:
            return WorkerLostError(
                f"the thread that ran {text} ended",
                function=name,
                arguments=arguments,
            )
        attempts = self._failures.attempts_of(done.slot)
        return outcomes.error_of(done.status, None, text, done.time_ns / 1e9, self.stopped, attempts)
