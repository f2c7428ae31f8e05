"""The error text of a cancelled task: its call, the cause, and how much of its run was done.

Who cancels says so before it is carried out, by run and serial numbers; each task looks that up when it ends. The text
is put together on demand: a million tasks may be cancelled in an instant.
"""

from __future__ import annotations

from collections import deque

from ... import run_registry
from ...diagnostics.blame import OUTSIDE, who
from ...diagnostics.questions import number
from ...diagnostics.short_text import short_arguments
from ...futures import Future
from ...run_registry import Run
from ...serialization.function_code import function_name
from ...serialization.functions import FunctionTable
from ...serialization.preview import preview
from ...serialization.unpacked import function_of
from ...task import NO_RUN
from .scheduler import Scheduler, ffi, with_gil

MOST_RECORDS = 256  # of causes
MOST_CALLS = 10_000  # in one cell, of which more than the cause is kept
KEPT_BYTES = 4096  # of the arguments of one
SLOT = 2**32 - 1


class Cancelled:
    """Error text of one cancelled task."""

    __slots__ = ("by", "data", "name", "run", "task")

    def __init__(self, by: str, name: str, task: str, run: Run | None, data: bytes | str | None) -> None:
        self.by, self.name, self.task, self.run, self.data = by, name, task, run, data

    def __str__(self) -> str:
        task = f", task {self.task}," if self.task else ""
        return f"{_call(self.name, self.data)}{task} was cancelled by {self.by}{done_of(self.run, 'calls')}"


def _call(name: str, data: bytes | str | None) -> str:
    if isinstance(data, str):
        return f"{name}({data})"
    try:
        body = preview(memoryview(data)) if data else ()
        if type(body) is not list:
            return f"{name}({'…' if data is None else short_arguments(body, {})})"
        there = function_of(body)
        return f"{name if there is None else function_name(there)}({short_arguments(*body[-2:])})"
    except Exception:
        return f"{name}(<arguments that cannot be shown>)"


def done_of(run: Run | None, what: str, total: int | None = None) -> str:
    """`: 1,204 of 3,000 elements were done`; nothing of a run of one task."""
    if run is None:
        return ""
    counts = run.counts()
    every = max(counts.submitted, total or 0)
    return f": {counts.succeeded:,} of {every:,} {what} were done" if every > 1 else ""


class Cancellations:
    """Records by whom tasks of one backend were cancelled."""

    def __init__(self, owner: object, scheduler: Scheduler, functions: FunctionTable) -> None:
        """``owner``: the backend whose runs these tasks belong to."""
        self._owner = owner
        self._scheduler = scheduler
        self._names = functions.names
        self._records: deque[tuple[int | None, int, int, str]] = deque(maxlen=MOST_RECORDS)
        self._singles: dict[int, str] = {}  # by ticket
        self._calls = MOST_CALLS

    def new_cell(self) -> None:
        """Allow the arguments of another `MOST_CALLS` cancelled calls to be kept."""
        self._calls = MOST_CALLS

    def note(self, run: int | None, default: str, after: int = 0, to: int | None = None) -> None:
        """Record a cancellation of a run's tasks (None: of all runs) whose serial numbers are above ``after``, up to
        ``to`` (None: the latest).
        """
        last = int(with_gil.csched_serial(self._scheduler.handle)) if to is None else to
        self._records.append((run, after, last, who(default)))

    def by(self, run: int, serial: int) -> str:
        """Return what cancelled a task."""
        for wanted, after, last, by in reversed(self._records):
            if wanted in (None, run) and after < serial <= last:
                return by
        outside = int(with_gil.csched_cancelled_by_command(self._scheduler.handle, run))
        return OUTSIDE if 0 < serial <= outside else "its executor"

    def one(self, ticket: int, default: str) -> None:
        """Record that this task is being cancelled; `explain` or `not_cancelled` follows."""
        self._singles[ticket] = who(default)

    def not_cancelled(self, ticket: int) -> None:
        """Withdraw the record of `one`: the task was not cancelled."""
        self._singles.pop(ticket, None)

    def explain(self, future: Future, slot: int, run: int) -> None:
        """Note the error text of a cancelled task whose completion is not committed yet."""
        if future._cancelled is not None:
            return
        if self._calls <= 0:
            by = self._singles.pop(future._ticket, "") or self.by(run, future._ticket >> 32)
            future._cancelled = f"the task was cancelled by {by}"
            return
        ended = ffi.new("csched_ended_t *")
        if with_gil.csched_ended(self._scheduler.handle, slot, ended) or ended.ticket != (
            future._ticket or ended.ticket
        ):
            return
        data = None
        self._calls -= 1
        if ended.size <= KEPT_BYTES:
            data = bytes(self._scheduler.view(ended.address, ended.size)) if ended.size else b""
        ticket = int(ended.ticket)
        by = self._singles.pop(ticket, "")
        future._cancelled = Cancelled(
            by or self.by(run, ticket >> 32),
            self._names.get(ended.function, "?"),
            number(ticket),
            run_registry.find(run, self._owner) if run != NO_RUN and not by else None,
            self.arguments(slot, data),
        )

    def arguments(self, slot: int, data: bytes | None) -> bytes | str | None:
        """Return what is kept of a call's arguments."""
        return data
