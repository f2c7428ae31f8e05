"""Questions about single tasks, and what may be done to one: for tables, `%why` and the panel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ...cell_output.transcript import kept
from ...diagnostics.questions import KINDS, MOST_ROWS, ORDERS, Row, Waits
from ...errors import UsageError
from ...futures import Future
from ...serialization.function_code import check_batch
from ...serialization.functions import FunctionTable
from ...serialization.preview import preview
from ...task import NO_RUN, PRIORITIES, check_whole, size_text
from ..resources import Resources
from .cancellations import Cancellations
from .failure_log import FailureLog
from .failure_records import LOOKED_AT_BYTES, Failure, Group, Rerun
from .previews import shown
from .resource_use import ResourceUse
from .scheduler import JOURNEY, NO_ELEMENT, NO_WORKER, Scheduler, ffi, nogil, nogil_ffi, with_gil
from .stream import Stream

_REASONS = (
    "over",
    "running",
    "stopping",
    "inputs",
    "delayed",
    "paused",
    "no-worker",
    "queued",
    "sent",
    "resource",
    "ended",
)
_BIT = {kind: 1 << place for place, kind in enumerate(KINDS)}
_NAME = {bit: kind for kind, bit in _BIT.items()}
_OVER = ("done", "failed", "lost", "cancelled", "not-run", "retried")
_FAILED = ("failed", "lost", "not-run")
_REMEMBERED = 64  # results of calls that were made again


class Inspected(Protocol):
    """The backend whose tasks are asked about."""

    scheduler: Scheduler
    functions: FunctionTable
    failures: FailureLog
    cancellations: Cancellations
    resources: Resources
    use: ResourceUse | None
    payloads: bool  # whether the scheduler has the arguments of tasks, as bytes
    submit_plain: Callable[..., Future]

    @property
    def cluster(self) -> str: ...

    def streams(self, run: int) -> Iterator[Stream]: ...

    def stop_task(self, ticket: int) -> bool | None: ...

    def resolve(self) -> bool: ...


class Inspector:
    """Answers for one backend. Its methods may be called from any thread."""

    def __init__(self, host: Inspected) -> None:
        self._host = host
        self._handle = host.scheduler.handle
        self._again: dict[int, Future] = {}  # by ticket

    # -- finding

    def find(
        self,
        *,
        kinds: tuple[str, ...] = KINDS,
        run: int | None = None,
        text: str = "",
        task: int | None = None,
        failure: int | None = None,
        order: str = "news",
        offset: int = 0,
        most: int = 100,
    ) -> tuple[list[Row], int]:
        """The best rows by an order, and how many there are in all.

        ``run`` is the scheduler's number. ``text``: a part of the function's name, or of the error or the arguments of
        a failure that is kept. ``task``: a ticket or a serial number. ``failure``: a group of failures, of which those
        are found that are kept.
        """
        kinds = kinds if failure is None else tuple(kind for kind in kinds if kind in _FAILED)
        query = nogil_ffi.new("csched_query_t *")
        query.kinds, query.order = sum(_BIT[kind] for kind in kinds), ORDERS.index(order)
        if run is not None:
            query.by_run, query.run = 1, run
        named, words = self._meant(text, task, failure)
        tickets = nogil_ffi.new("uint64_t[]", [ticket for ticket, _ in named])
        elements = nogil_ffi.new("uint32_t[]", [element for _, element in named])
        query.by_text = failure is not None or task is not None or bool(text)
        query.tickets, query.ticket_count = tickets, len(named)
        if task is None:
            query.elements = elements
        if words is not None:
            query.functions, query.function_words = words, len(words)
        query.offset, wanted = offset, max(1, min(most, MOST_ROWS))
        rows = nogil_ffi.new("csched_row_t[]", wanted)
        count = nogil.csched_find(self._host.scheduler.nogil_handle, query, wanted, rows)
        return [self._row(rows[i]) for i in range(count)], int(rows[0].matched)

    def _meant(self, text: str, task: int | None, failure: int | None) -> tuple[list[tuple[int, int]], Any]:
        """Return the tasks and elements that are asked for, sorted, and the bits of the functions whose name has the
        text.
        """
        failures = self._host.failures
        if failure is not None:
            return sorted((each.task, each.element) for each in failures.of_group(failure)), None
        if task is not None:
            return [(task, 0)], None
        return (sorted(failures.search(text)), self._functions_like(text)) if text else ([], None)

    def at(self, position: int) -> tuple[int, int | None] | None:
        """The task at a position of the state map, and which element of it, if it has several; None: unknown."""
        query = nogil_ffi.new("csched_query_t *")
        query.kinds, query.order = sum(_BIT.values()), ORDERS.index("newest")
        query.by_position, query.position = 1, position
        rows = nogil_ffi.new("csched_row_t[]", 1)
        if nogil.csched_find(self._host.scheduler.nogil_handle, query, 1, rows) < 1:
            return None
        row = self._row(rows[0])
        place = (position - row.position) & NO_ELEMENT
        if row.kind in _OVER:
            return row.task, (row.element or 0) + place
        return row.task, place if row.count > 1 else None

    def _functions_like(self, text: str) -> Any:
        wanted = text.casefold()
        numbers = [n for n, name in self._host.functions.names.copy().items() if wanted in name.casefold()]
        words = [0] * (max(numbers, default=0) // 64 + 1)
        for number in numbers:
            words[number // 64] |= 1 << number % 64
        return nogil_ffi.new("uint64_t[]", words)

    def _row(self, row: Any) -> Row:
        place = nogil_ffi.addressof(row, "journey")
        ticket, run, function, element, worker, _, attempt, *stamps, pack_ns, position = JOURNEY.unpack(
            nogil_ffi.buffer(place)
        )
        kind = _NAME[int(row.kind)]
        return Row(
            task=ticket,
            run=run,
            function=self._name(function, ticket),
            element=None if element == NO_ELEMENT else element,
            count=int(row.count),
            kind=kind,
            worker=None if worker == NO_WORKER else worker,
            attempt=attempt,
            priority=None if kind in _OVER else int(row.priority),
            pack_ns=int(pack_ns),
            stamps=tuple(stamps),
            position=position,
        )

    def _name(self, function: int, ticket: int) -> str:
        name = self._host.functions.names.get(function, "?")
        if name == "?":
            found = self._host.failures.find(ticket)
            name = found.function if found is not None else name
        return name

    def ticket(self, task: int) -> int:
        """The ticket of a serial number, or itself; 0 when there is no such task (any more)."""
        if task >> 32:
            return task
        rows, _ = self.find(task=task, most=1)
        return rows[0].task if rows else 0

    # -- one task

    def why(self, task: int) -> Waits:
        """Why it waits, or what it does instead."""
        found, ticket = nogil_ffi.new("csched_why_t *"), self.ticket(task)
        nogil.csched_why(self._host.scheduler.nogil_handle, ticket, found)
        now = int(with_gil.csched_now())
        runs_there = int(found.ticket)
        return Waits(
            reason=_REASONS[found.reason],
            function=self._host.functions.names.get(int(found.function), "?"),
            run=int(found.run),
            in_run=found.run != NO_RUN,
            count=int(found.count),
            priority=int(found.priority),
            worker=None if found.worker == NO_RUN else int(found.worker),
            inputs=int(found.inputs),
            missing=int(found.missing),
            waits_for=tuple(self._named(found.waits_for[i]) for i in range(found.named)),
            attempt=int(found.attempt),
            retries=int(found.retries),
            workers=int(found.workers),
            ready=int(found.ready),
            asked=bool(found.asked),
            higher=int(found.higher),
            same=int(found.same),
            others=int(found.others),
            ahead=int(found.ahead),
            moves=bool(found.moves),
            runs_there=self._named(runs_there) if runs_there else None,
            since_ns=max(0, now - int(found.since)) if found.since else 0,
            until_ns=int(found.until) - now if found.until else 0,
            cluster=self._host.cluster,
            **self._resource(found),
            **self._near(ticket),
        )

    def _near(self, ticket: int) -> dict[str, Any]:
        near = None if self._host.use is None else self._host.use.near(ticket)
        if near is None:
            return {}
        return {"memory": size_text(near.memory), "declared": size_text(near.declared)}

    def _resource(self, found: Any) -> dict[str, Any]:
        if _REASONS[found.reason] != "resource":
            return {}
        resources = self._host.resources
        name = resources.name(int(found.resource))
        return {
            "resource": name,
            **{
                each: resources.text(name, int(getattr(found, each)))
                for each in ("wanted", "used", "total", "first_wanted")
            },
            "holders": tuple(self._named(found.holders[i]) for i in range(found.holder_count)),
            "all_holders": int(found.all_holders),
            "first": self._named(found.first) if found.first else None,
        }

    def _named(self, ticket: int) -> tuple[int, str]:
        ended = ffi.new("csched_ended_t *")
        known = (
            with_gil.csched_ended(self._handle, int(ticket) & NO_RUN, ended) == 0 and ended.ticket == ticket
        )
        return int(ticket), self._host.functions.names.get(int(ended.function), "?") if known else "a task"

    def failure(self, task: int, element: int | None = None) -> Failure | None:
        """Return the kept failure of a task or an element; None if there is none."""
        return self._host.failures.find(task, element)

    def latest_failure(self) -> Failure | None:
        """The one that came last, of those that are kept."""
        return self._host.failures.latest()

    def failures(self, most: int, run: int | None = None) -> list[Group]:
        """All of them or those of one run, folded; the latest first."""
        return self._host.failures.groups(most, run)

    def failed_calls(self, group: int, run: int | None = None) -> tuple[Group, list[Failure]] | None:
        """Return a fold by its number, and its failures that are kept, in the order in which they came; None if there
        is no such fold in the run.
        """
        found = self._host.failures.group(group, run)
        return None if found is None else (found, self._host.failures.of_group(group, run))

    def arguments(self, task: int, element: int | None) -> str | None:
        """Return the arguments of a task that is not over, or whose failure is kept, as short text; None for others."""
        found = self.failure(task, element)
        return found.arguments if found is not None else self._shown(with_gil.csched_payload, task, element)

    def kept_arguments(self, task: int) -> str | None:
        """Return the arguments of a single task that may be over, as short text, if its call is kept
        (`csched_kept_call`).
        """
        return self._shown(with_gil.csched_kept_call, task, None) if self._host.payloads else None

    def _shown(self, copy: Callable[..., int], task: int, element: int | None) -> str | None:
        size = int(copy(self._handle, task, ffi.NULL, 0))
        if size < 0:
            return None
        if size > LOOKED_AT_BYTES:
            return f"<{size:,} bytes>"
        data = ffi.new("char[]", max(1, size))
        if copy(self._handle, task, data, size) != size:
            return None  # it ended meanwhile
        try:
            return shown(preview(memoryview(ffi.buffer(data, size))) if size else (), element)
        except Exception:
            return "<arguments that cannot be shown>"

    def call_text(self, ticket: int) -> str:
        """Return the call of a task that is not over, or whose failure is kept, as text; "" for others, which would
        have to be searched for.
        """
        found = self.failure(ticket)
        arguments = self.arguments(ticket, None) if ticket else None
        if arguments is None:
            return ""
        name = found.function if found is not None else self.why(ticket).function
        return f"{'call' if name == '?' else name}({arguments})"

    def output(self, task: int, element: int | None) -> str:
        """The end of what it printed."""
        found = self.failure(task, element)
        words = str(kept.text(self._host, task, element or 0))
        return words or (found.output if found is not None else "")

    # -- control

    def set_priority(self, task: int, priority: int) -> bool:
        """Change the priority of a task that has not begun; False when it has."""
        check_whole("priority", priority, PRIORITIES)
        return int(with_gil.csched_set_priority(self._handle, self.ticket(task), priority)) > 0

    def set_run_priority(self, run: int, priority: int) -> int:
        """Change the priority of a run's tasks that have not begun, and of later ones; return how many elements and
        calls of it wait now.
        """
        check_whole("priority", priority, PRIORITIES)
        waiting = 0
        for stream in list(self._host.streams(run)):
            stream.options = stream.options.changed(priority=priority)
            waiting += len(stream.waiting) + len(stream.parked)
        return waiting + int(nogil.csched_set_run_priority(self._host.scheduler.nogil_handle, run, priority))

    def cancel(self, task: int) -> bool:
        """Cancel it, or stop it when it runs; False when it is over."""
        ticket = self.ticket(task)
        cancellations = self._host.cancellations
        cancellations.one(ticket, "cancel() of its task")
        stopped = self._host.stop_task(ticket) if ticket else None
        if stopped is None:
            cancellations.not_cancelled(ticket)
        if stopped:
            self._host.resolve()
        return stopped is not None

    def again(self, task: int, element: int | None = None) -> Future:
        """The call of a failed task, submitted anew; the failed one's future stays as it is. Raises `UsageError`."""
        found = self.failure(task, element)
        if found is None:
            raise UsageError(
                "of this task nothing is kept: only the calls of failures are, of the latest ones"
            )
        return self.call_again(found)

    def call_again(self, found: Failure) -> Future:
        """The same where the failure is at hand."""
        function, args, kwargs = found.call()
        if found.form == "batch":
            function = _OneOfBatch(function, found.function)
        future = self._host.submit_plain(function, args, kwargs)
        rerun = Rerun(future._ticket)
        future.add_done_callback(rerun.ended)
        found.again.append(rerun)
        del found.again[:-4]
        self._again[future._ticket] = future
        while len(self._again) > _REMEMBERED:
            self._again.pop(next(iter(self._again)))
        return future

    def result(self, task: int) -> Future | None:
        """The future of a call that was made again."""
        return self._again.get(task)


class _OneOfBatch:
    """A batch function called with one item, checked as a batch is."""

    def __init__(self, function: Any, name: str) -> None:
        self.function = function
        self.__qualname__ = name

    def __call__(self, items: list[Any]) -> Any:
        return check_batch(self.__qualname__, self.function(items), len(items))[0]
