"""Turns completions into values and errors where workers are processes; `threads` and `cluster` have their own."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from ...futures import Future
from ...serialization.exceptions import load_error
from ...serialization.payload import BUFFER_MIN
from . import outcomes
from .failure_log import FailureLog
from .retrying import RetriedFuture
from .scheduler import Completion, Scheduler, with_gil
from .slots import SlotTable
from .worker_exit import Exit

LATER = object()  # in the place of a value that needs more care
NONE, VALUE = with_gil.CSCHED_NONE, with_gil.CSCHED_VALUE


class Results:
    """Results of one backend; called by its resolver."""

    stopped = outcomes.STOPPED  # what became of a task past its limit

    def __init__(
        self,
        scheduler: Scheduler,
        slots: SlotTable,
        failures: FailureLog,
        names: Mapping[int, str],
        exit_of: Callable[[int], Exit | None],
    ) -> None:
        """``names``: of the functions, by number; ``exit_of``: how the last process of a worker ended."""
        self._scheduler = scheduler
        self._slots = slots
        self._failures = failures
        self._names = names
        self._exit_of = exit_of

    def small(self, n: int, slots: list[int], statuses: list[int]) -> list[Any]:
        """The values of those of ``n`` completions whose futures need only that; `LATER` for the others."""
        entries = self._slots.entries
        if statuses.count(NONE) == n:
            return [None if type(entries[slot]) is Future else LATER for slot in slots]
        values: list[Any] = []
        addresses, sizes = self._scheduler.addresses_and_sizes(n)
        buffer, load = self._scheduler.buffer, pickle.loads
        for slot, status, address, size in zip(slots, statuses, addresses, sizes, strict=True):
            entry = entries[slot]
            value: Any = LATER
            if type(entry) is Future and entry._followers is None:
                if status == NONE:
                    value = None
                elif status == VALUE and size < BUFFER_MIN:
                    try:
                        value = load(buffer(address, size))
                    except BaseException:  # SystemExit too: it would be seen again for ever
                        value = LATER  # `of_task` tells why
            values.append(value)
        return values

    def of_chunk(self, done: Completion) -> Any:
        """Return a view of the outcomes that came with the end of a chunk; None if there are none."""
        return self._scheduler.lasting_view(done.blob, done.address, done.size) if done.size else None

    def partial(self, slot: int, detail: int, blob: int, address: int, size: int) -> Any:
        """Partial results of a running chunk, or None."""
        return self._scheduler.lasting_view(blob, address, size)

    def of_task(self, future: Future, done: Completion) -> tuple[Any, BaseException | None]:
        """The value or the error of a task that ended, or of its latest attempt."""
        scheduler, status, size = self._scheduler, done.status, done.size
        if type(future) is RetriedFuture and future.last is not None:
            return None, future.last
        if status == NONE:
            return None, None
        if status == VALUE:
            if size < BUFFER_MIN:  # it has no buffers in it: nothing refers to its memory after unpickling
                return outcomes.load_value(scheduler.buffer(done.address, size), pickle.loads)
            return outcomes.load_value(scheduler.lasting_view(done.blob, done.address, size), scheduler.load)
        if status == with_gil.CSCHED_ERROR:
            return None, load_error(scheduler.view(done.address, size))
        if status == with_gil.CSCHED_DEPENDENCY:
            before = future._inputs[done.detail] if done.detail < len(future._inputs) else None
            return None, outcomes.dependency_failed(before, done.detail)
        return None, outcomes.cut_short(
            self._names,
            status,
            self._exit_of(done.worker),
            done.function,
            scheduler.view(done.address, size) if size else None,
            done.time_ns / 1e9,
            self._failures.name_of(done.slot),
            self.stopped,
            future.attempt + 1 if type(future) is RetriedFuture else self._failures.attempts_of(done.slot),
        )

    def settled(self, entry: Any) -> None:
        """This future or chunk has got its outcome."""

    def committed(self, slots: list[int]) -> None:
        """The tasks in these slots are over and committed; the slots are not free yet."""
