"""Records of calls that failed, were cancelled, or still run: their arguments are objects of this process."""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from ...futures import Future
from ...serialization.functions import FunctionTable
from ..scheduled.cancellations import Cancellations
from ..scheduled.failure_log import FailureLog
from ..scheduled.failure_records import KEPT_BYTES
from ..scheduled.inspecting import Inspected, Inspector
from ..scheduled.scheduler import Scheduler
from ..scheduled.slots import SlotTable
from .call import Call, ChunkCall, shown

SLOT = 2**32 - 1


class _Few(io.BytesIO):
    """A buffer that raises OverflowError beyond `KEPT_BYTES`."""

    def write(self, data: Any) -> int:
        if self.tell() + len(memoryview(data)) > KEPT_BYTES:
            raise OverflowError("too large to be kept")
        return super().write(data)


class ThreadFailures(FailureLog):
    """Keeps failed calls as pickles of their arguments, where they can be pickled; the objects are released."""

    late = True  # the call had these objects

    def __init__(
        self,
        scheduler: Scheduler,
        functions: FunctionTable,
        refer: Callable[[Any, set[int]], Any],
        calls: Mapping[int, Call],
    ) -> None:
        super().__init__(scheduler, functions, refer)
        self._calls = calls

    def of_task(
        self,
        future: Future,
        slot: int,
        status: int,
        error: BaseException,
        arguments: memoryview | None,
        text: str | None = None,
    ) -> None:
        call = self._calls.get(slot)
        if call is not None and not isinstance(call, ChunkCall):
            text = shown(call)
            file = _Few()
            with contextlib.suppress(Exception):
                _, args, kwargs = call.call()
                pickle.Pickler(file, 5).dump([args, kwargs])
                arguments = memoryview(file.getvalue())
        super().of_task(future, slot, status, error, arguments, text)


class ThreadCancellations(Cancellations):
    """The objects are let go of: arguments are kept as text."""

    def __init__(
        self, owner: object, scheduler: Scheduler, functions: FunctionTable, calls: Mapping[int, Call]
    ) -> None:
        super().__init__(owner, scheduler, functions)
        self._by_slot = calls

    def arguments(self, slot: int, data: bytes | None) -> bytes | str | None:
        call = self._by_slot.get(slot)
        return data if data is None or call is None or isinstance(call, ChunkCall) else shown(call)


class ThreadInspector(Inspector):
    """Arguments of tasks that are not over are at hand."""

    def __init__(self, host: Inspected, slots: SlotTable, calls: Mapping[int, Call]) -> None:
        super().__init__(host)
        self._slots = slots
        self._calls = calls

    def arguments(self, task: int, element: int | None) -> str | None:
        ticket = self.ticket(task)
        future = self._slots.entry(ticket & SLOT) if ticket else None
        call = self._calls.get(ticket & SLOT) if ticket else None
        if self.failure(task, element) is None and call is not None and isinstance(future, Future):
            return shown(call) if future._ticket == ticket else None
        return super().arguments(task, element)
