"""A backend over the C scheduler, whatever its workers are.

It puts the parts together: `sender` packs calls and hands them to the scheduler, `resolver` turns completions into
results, `stream` and `mapping` do both for many calls at once, the `pool` of each kind of backend keeps the workers,
`ending` lets them go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ...by_value.import_log import Loaded
from ...cell_output import present_cell
from ...cell_output.origin import Origin
from ...errors import CellmillError, PayloadError, UsageError
from ...futures import Future
from ...history import Moved, RunFigures, TimeSpent
from ...process_context.interrupts import uninterrupted
from ...run_registry import STOP, Run
from ...serialization.functions import FunctionTable
from ...serialization.payload import Encoded
from ...serialization.shared import Shared
from ...task import NO_RUN, POLICIES, RunCounts, Stats, TaskOptions, WorkerEnd, WorkerInfo, check_worker_count
from ..common_options import CommonOptions
from ..map_iterator import MapIterator, reading
from ..map_options import MapOptions
from ..resources import Resources, machine_memory
from ..taking import is_quiet
from . import accounts, carried, ending, figures, forked, outcomes, worker_infos
from .advising import Adviser
from .cancellations import SLOT, Cancellations
from .events import Events
from .failure_log import FailureLog
from .feeding import FedResults
from .gate import Gate
from .inspecting import Inspector
from .mapping import MapResults, streams_of
from .observer import Observer
from .processor_use import ProcessorUse, Used
from .profiling import Profiling
from .protocols import OutputListener, Receiver, TaskStopper, WorkerPool
from .resolver import Resolver
from .resource_use import ResourceUse
from .results import Results
from .scheduler import Scheduler, StaleInput, check, ffi, with_gil
from .sender import Sender
from .sharing import Sharing
from .sizes import Paces
from .slots import SlotTable
from .state_map import States
from .stream import Stream
from .worker_exit import Exit

__all__ = ["ScheduledBackend"]


class ScheduledBackend:
    """Tasks through the C scheduler. A subclass sets `name`, and makes `listener`, `stopper` and `pool` before it calls
    `open`.
    """

    name = "?"
    forks = False
    needs_threads = False
    payloads = True  # whether the scheduler has the arguments of tasks, as bytes
    limits_elements = False  # whether the elements of a chunk can be stopped one by one
    ahead = 3  # chunks of a map that are sent to each worker: one runs, the next waits in its ring
    cluster = ""  # whose workers run the tasks, as people call it; "" for our own
    borrowed = False  # whether the processes of its workers are not ours to end
    stopped = outcomes.STOPPED  # how a task ended that ran past its limit
    pool: WorkerPool
    stopper: TaskStopper
    listener: OutputListener
    profiling: Profiling | None = None  # where workers can be sampled
    use: ResourceUse | None = None  # where their memory can be read

    def __init__(
        self,
        max_workers: int,
        cpus: int,
        *,
        options: CommonOptions,
        memory: int = 0,
        worker_tasks: int = 0,
        memory_per_worker: int = 0,
        **settings: int,
    ) -> None:
        check_worker_count(max_workers)
        self.max_workers = max_workers
        self._cpus = cpus
        self.worker_spin_us = 10 if max_workers >= cpus else 50
        self.policy = "least-loaded"
        self.memory_per_worker = memory_per_worker
        spin_us = self.worker_spin_us
        self.scheduler = Scheduler(arena_bytes=memory, spin_us=spin_us, worker_tasks=worker_tasks, **settings)
        self.gate = Gate()
        self.slots = SlotTable(self.scheduler)
        self.resources = Resources(options.resources, self.memory_in_all, self._tell_total, memory_per_worker)
        self.states = States(self.scheduler)
        self.sharing = self.make_sharing()
        self.functions = self.make_functions()
        self.paces = Paces()
        self.failures = self.make_failures()
        self.cancellations = self.make_cancellations()
        self.events = Events(self, self.scheduler, self.functions, self.failures, self.cancellations)
        self.report = self.events.report
        self.resolver = Resolver(self.scheduler, self.gate, self.slots, self.make_results(), self.events)
        self.resolve, self.call_back, self.wait = (
            self.resolver.resolve,
            self.resolver.call_back,
            self.resolver.wait,
        )
        self._processor = ProcessorUse(
            lambda: self.pool.processor_seconds(), lambda: self.sender.plain.caller_time()
        )
        tasks = self.make_inspector()
        self._adviser = Adviser(self, self.scheduler, self.functions.names)
        self.observer = Observer(
            self.scheduler,
            self.states,
            self.functions.names,
            tasks,
            self.work_began,
            self._adviser,
            self.payloads,
            lambda: self.listener.recent,
        )
        self._cell_began = 0
        self._works = (0, 0)  # serial numbers at which the last two pieces of work may have begun
        self.sender = self.make_sender()
        self.waited = self.resolver.waited = self.sender.plain.waited
        self.submit = self.sender.submit
        self.submit_plain = self.sender.plain.submit
        self.submit_chunk = self.sender.submit_chunk
        self.map_settings, self.packer = self.sender.settings, self.sender.packer
        self.shown = options.shown
        self._to_preload = options.modules

    def open(self) -> None:
        self.attach()
        if self._to_preload:
            self.pool.preload(self._to_preload)
        self.pool.resize(self.max_workers)
        forked.watch(self)
        present_cell.stop_with_cells(self)

    def attach(self) -> None:
        """The parts that a subclass has made are told of what happens."""
        self.events.listener, self.events.stopper, self.events.pool = self.listener, self.stopper, self.pool
        self.sender.plain.pool = self.pool

    # -- the parts; a subclass may have others

    def make_sharing(self) -> Sharing:
        return Sharing(self.scheduler, self.gate, self._dropped)

    def make_failures(self) -> FailureLog:
        return FailureLog(self.scheduler, self.functions, self.sharing.refer)

    def make_cancellations(self) -> Cancellations:
        return Cancellations(self, self.scheduler, self.functions)

    def make_results(self) -> Results:
        return Results(self.scheduler, self.slots, self.failures, self.functions.names, self.exit_of)

    def make_inspector(self) -> Inspector:
        return Inspector(self)

    def make_sender(self) -> Sender:
        return Sender(self, self.slots)

    def make_functions(self) -> FunctionTable:
        """Numbers for functions; their pickles go to the scheduler, which hands them to workers."""
        return FunctionTable(self._add_function, self.scheduler.drop_function, self.sharing.refer)

    def _dropped(self, number: int) -> None:
        self.functions.dropped_with(number)

    @property
    def dashboard(self) -> str:
        """The address of the workers' own cluster's dashboard; "" without one."""
        return ""

    @property
    def crowding(self) -> float:
        """Workers per CPU."""
        return self.max_workers / self._cpus

    def memory_in_all(self) -> int:
        """Bytes that tasks can reserve together; 0: unknown."""
        machine = machine_memory()
        return min(machine, self.memory_per_worker * self.max_workers) if self.memory_per_worker else machine

    def _tell_total(self, resource: int, total: int) -> bool:
        return int(with_gil.csched_resource_set(self.scheduler.handle, resource, total)) == 0

    def _add_function(self, encoded: Encoded, needs: Collection[int] = ()) -> int:
        try:
            return self.sharing.add(encoded, needs)
        except StaleInput:
            raise PayloadError("the function refers to a shared object that was closed meanwhile") from None

    def share(self, shared: Shared) -> None:
        """Put it now. Raises `PayloadError` when it cannot be."""
        self.gate.check()
        self.sharing.number(shared)

    # -- many calls

    def map(
        self,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        how: MapOptions,
    ) -> MapIterator:
        self.gate.check()
        if options.asks:
            self.resources.check(options)
        self.pool.sync_context()
        if type(function) is not partial:  # that is packed with its constants once, when the map begins
            self.functions.number(function)  # one that cannot be sent raises here, once
        kind = FedResults if how.fed and not is_quiet(iterables) else MapResults
        results = kind(self, function, iterables, options, run, how)
        try:
            # broken since that check: the thread that broke it may have missed these
            if self.gate.broken is not None:
                self.break_down(self.gate.broken)
            return reading(results)
        except BaseException:  # Stop: no caller has them to read
            results.close()
            raise

    def cancel_sent(self, run: int) -> int:
        """Cancel tasks of a run that are in the scheduler."""
        self.cancellations.note(run, "cancel() of its run")
        count = int(with_gil.csched_cancel_run(self.scheduler.handle, run))
        self.resolve()
        return count

    def receiver(self, receiver: Receiver, run: Run, function: Any) -> Receiver:
        """Whom the elements of a map come back to; a subclass may listen."""
        return receiver

    # -- questions of futures

    def cancel(self, future: Future) -> bool:
        if self.gate.foreign or not future._ticket:
            return False
        self.cancellations.one(future._ticket, "cancel() of its future")
        cancelled = bool(with_gil.csched_cancel(self.scheduler.handle, future._ticket))
        if cancelled:
            self.cancellations.explain(future, future._ticket & SLOT, NO_RUN)
        else:
            self.cancellations.not_cancelled(future._ticket)
        return cancelled

    def is_running(self, future: Future) -> bool:
        if self.gate.foreign or self.resolver.stopped:
            return False
        return int(with_gil.csched_task_state(self.scheduler.handle, future._ticket)) >= 3

    def is_stopping(self, future: Future) -> bool:
        if self.gate.foreign or self.resolver.stopped:
            return False
        return int(with_gil.csched_task_state(self.scheduler.handle, future._ticket)) == 4

    def cell_of(self, future: Future) -> Origin:
        """The cell that made its call."""
        return self.listener.cell_of(future._ticket)

    def call_text(self, future: Future) -> str:
        return (
            ""
            if self.gate.foreign or self.resolver.stopped
            else self.observer.tasks.call_text(future._ticket)
        )

    def stop(self, future: Future) -> bool | None:
        if self.gate.foreign or not future._ticket:
            return None
        self.cancellations.one(future._ticket, "cancel(force=True) of its future")
        stopped = self.stopper.stop_task(future._ticket)
        if stopped:
            self.cancellations.explain(future, future._ticket & SLOT, NO_RUN)
        return stopped

    # -- runs and figures

    def open_run(self) -> int:
        if (
            not present_cell.epoch()
        ):  # a script has no cells: what begins when all is over is a new piece of work
            self._processor.forget()  # samples would cost each call microseconds
            with_gil.csched_account_begin(self.scheduler.handle)
        number = ffi.new("uint32_t *")
        check(with_gil.csched_run_open(self.scheduler.handle, number), "opening a run")
        if self.use is not None:
            self.use.open_run(int(number[0]))
        return int(number[0])

    def run_counts(self, run: int) -> RunCounts:
        return figures.run_counts(self.scheduler, run)

    def running_in_run(self, run: int) -> int:
        return worker_infos.running_in_run(self.scheduler, run)

    def busy_share(self, run: int) -> float | None:
        return accounts.busy_share(self.scheduler, run)

    def peak_memory(self, run: int) -> int | None:
        return self.use.peak(run) if self.use is not None else None

    def moved(self, run: int) -> Moved | None:
        return accounts.moved_in(self.scheduler, run) if self.payloads else None

    def last_end(self, run: int) -> int | None:
        return int(accounts.sums_of(self.scheduler, run).ended) or None

    def run_figures(self, run: int) -> RunFigures:
        return accounts.run_figures(self.scheduler, run, self.name, self.max_workers)

    def time_spent(self, run: int, wall: float) -> TimeSpent | None:
        return self._adviser.time_spent(run, wall)

    def cancel_run(self, run: int) -> int:
        count = sum(s.cancel_all() for s in list(self.streams(run)))
        return count + self.cancel_sent(run)

    def streams(self, run: int) -> Iterator[Stream]:
        """Yield the maps and batches of a run that are not over."""
        yield from streams_of(self, run)
        yield from (stream for stream in self.batch_streams() if stream.run == run)

    def batch_streams(self) -> list[Stream]:
        """Return the streams of the batches that gather single calls."""
        return self.sender.gathered.streams()

    def stop_task(self, ticket: int) -> bool | None:
        """True: it had not begun and is cancelled; False: it is stopped; None: it is over."""
        return self.stopper.stop_task(ticket)

    def exit_of(self, worker: int) -> Exit | None:
        """Return how the last process with this worker's number ended; None if none has."""
        return self.pool.exits.get(worker)

    def stop_run(self, run: int) -> int:
        self.cancellations.note(run, "stop() of its run")
        with uninterrupted():  # what runs is stopped before the end of what does not is told
            dropped = [(stream, stream.drop_waiting()) for stream in list(self.streams(run))]
            count = self.stopper.stop_run(run)
            count += sum(stream.tell_cancelled(keys) for stream, keys in dropped)
        self.resolve()
        return count

    # -- cells

    def begin_cell(self, within: bool) -> None:
        """Begin a cell: tasks submitted from now on belong to it, and to the one that it is ``within``."""
        if self.gate.foreign:
            return
        self.cancellations.new_cell()
        began = int(with_gil.csched_serial(self.scheduler.handle))
        if not within:
            self._cell_began = began
        stats = self.stats()
        if stats.done >= stats.submitted and began != self._works[1]:
            self._works = (self._works[1], began)
            self._processor.begin()
            with_gil.csched_account_begin(self.scheduler.handle)

    def processor_used(self) -> Used | None:
        """Return the processor time of the present piece of work; None where it is unknown."""
        return self._processor.used(before=self.work_began() != self._works[1])

    def loads(self) -> Sequence[tuple[int, Loaded]]:
        """Return the latest imports by workers that took a while."""
        return self.pool.loads

    def carried_by(self, function: int) -> carried.Same | None:
        """Return the large object that the latest calls of a function have carried."""
        return self.sender.carried.of(function)

    def work_began(self) -> int:
        """The serial number after which the present piece of work was submitted; 0: with the first task."""
        before, latest = self._works
        return before if int(with_gil.csched_serial(self.scheduler.handle)) == latest else latest

    def stop_cell(self) -> int:
        """Stop what the present cell submitted outside of any run."""
        if self.gate.foreign:
            return 0
        self.cancellations.note(NO_RUN, STOP, self._cell_began)
        count = self.stopper.stop_run(NO_RUN, self._cell_began)
        self.resolve()
        return count

    def cancel_everything(self) -> int:
        return ending.cancel_everything(self)

    def set_run_priority(self, run: int, priority: int) -> int:
        return self.observer.tasks.set_run_priority(run, priority)

    def close_run(self, run: int) -> None:
        with_gil.csched_run_close(self.scheduler.handle, run)

    def stats(self) -> Stats:
        return figures.stats(self.scheduler, 0 if self.gate.foreign else self.max_workers)

    def journey_rows(self) -> Iterator[dict[str, Any]]:
        return figures.journey_rows(self.scheduler, self.functions.names)

    def workers(self) -> list[WorkerInfo]:
        return self.pool.infos()

    def worker_ends(self) -> list[WorkerEnd]:
        """Return how worker processes ended that were not asked to, oldest first."""
        return figures.worker_ends(self.pool.exits)

    @property
    def restarts(self) -> int:
        """How many workers have been replaced."""
        return self.pool.restarts.total()

    def replace_worker(self, index: int) -> None:
        self.pool.replace(index)

    # -- control

    def set_workers(self, count: int) -> None:
        with uninterrupted():  # what is shown and the pool would else differ after a Stop
            self.pool.resize(count)
            self.max_workers = count
        self.resources.refresh()

    def set_policy(self, name: str) -> None:
        if with_gil.csched_set_policy(self.scheduler.handle, name.encode()) < 0:
            raise UsageError(f"unknown policy {name!r}; there are: {', '.join(POLICIES)}")
        self.policy = name

    def run_on_workers(self, function: Callable[..., Any]) -> list[Any]:
        return self.pool.call_everywhere(function)

    def preload(self, modules: Iterable[str]) -> None:
        self.pool.preload(modules)
        self.pool.restart()

    def preloaded(self) -> list[str]:
        return list(self.pool.preloaded)

    def settle(self, seconds: float) -> None:
        self.resolver.settle(seconds)

    def listen(self) -> None:
        self.resolver.listen()

    def pause(self, on: bool) -> None:
        with_gil.csched_pause(self.scheduler.handle, on)

    def restart(self) -> None:
        self.gate.broken = None
        self.pool.restart()

    # -- the end

    def break_down(self, error: CellmillError) -> None:
        """No worker can be had: everything outstanding fails with the reason, and so does what comes."""
        ending.break_down(self, error)

    def work_off(self) -> None:
        """Return when all that was submitted is over; more may come."""
        if not self.gate.foreign:
            ending.work_off(self)

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        self.gate.closed = True
        if not self.gate.foreign:
            ending.shut_down(self, wait, cancel_futures)
