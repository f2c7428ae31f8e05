"""The output of tasks in threads: kept by the thread, reported at the end of the task, and meanwhile by a listener."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from ...cell_output import present_cell
from ...cell_output.transcript import QUIET_SECONDS, Settings
from ...serialization.functions import FunctionTable
from ...task import NO_RUN
from ..scheduled.scheduler import NO_ELEMENT, Scheduler, with_gil
from ..scheduled.slots import SlotTable
from ..scheduled.transcripts import Transcripts
from . import task_streams
from .task_streams import Printed
from .thread import WorkerThread

GATHER_SECONDS = 0.02  # what comes meanwhile is told with it


class ThreadListener(Transcripts):
    """Reports what the threads of one backend have printed."""

    def __init__(
        self,
        owner: object,
        scheduler: Scheduler,
        slots: SlotTable,
        functions: FunctionTable,
        settings: Settings,
        report: Callable[[BaseException], None],
    ) -> None:
        super().__init__(owner, scheduler, slots, functions, settings)
        self._report = report
        self.members: Mapping[int, WorkerThread] = {}  # those of the pool, once there is one
        self._word = threading.Event()
        self._stopped = False
        self._ending = threading.Lock()
        self._thread = threading.Thread(target=self._listen, name="cellmill-output", daemon=True)
        self._thread.start()
        task_streams.begin()
        self.hear_cells()

    def _listen(self) -> None:
        while not self._stopped:
            try:
                self._word.wait(QUIET_SECONDS if self.restless else None)
                if self._word.is_set():
                    threading.Event().wait(GATHER_SECONDS)
                self._word.clear()
                self._tell_members()
                self.settle()
            except Exception as error:  # of a stream that was put in the place of sys.stdout, most likely
                self._report(error)

    def _tell_members(self) -> None:
        if not self._stopped:
            for member in list(self.members.values()):
                self._tell(member.printed)

    def say(self, member: WorkerThread, number: int, text: str) -> None:
        """Keep text printed in a task, in one step, because an interrupt may come between any two."""
        element = with_gil.csched_worker_current_element(member.handle)
        place = (0 if element == NO_ELEMENT else element, member.function, int(member.form.ticket))
        member.printed.waiting.append((number, place, text))
        member.form.spoke = 1
        if not self._word.is_set():
            self._word.set()

    def _tell(self, printed: Printed) -> None:
        with self._lock:
            while printed.waiting:
                number, place, text = printed.waiting.popleft()
                while printed.waiting and printed.waiting[0][:2] == (
                    number,
                    place,
                ):  # print() writes word by word
                    text += printed.waiting.popleft()[2]
                output = printed.outputs.get(place)
                if output is None:
                    element, function, ticket = place
                    run = int(with_gil.csched_task_run(self._scheduler.handle, ticket)) if ticket else NO_RUN
                    output = printed.outputs[place] = self.new_output(
                        run, element, function, ticket, printed.worker
                    )
                self.hear(output, number, text.encode("utf-8", "backslashreplace"))

    def end_of(self, printed: Printed) -> None:
        """A thread's task is over, before its result is settled; or the thread is."""
        with self._lock:
            self._tell(printed)
            outputs, printed.outputs = printed.outputs, {}
            self.end(outputs.values())

    def end_of_task(self, worker: int, ticket: int, run: int) -> None:
        """Threads tell by themselves; see `end_of`."""

    def stop(self) -> None:
        """All threads have ended, or are given up."""
        with self._ending:
            if self._stopped:
                return
            self._stopped = True
        self._word.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self.tell_all()
        task_streams.end()

    def disown(self) -> None:
        """Report nothing in a forked child; the parent reports its tasks."""
        present_cell.listeners.discard(self)
        self._stopped = True
        for member in list(self.members.values()):  # threads are gone, but for the one that forked
            member.disown()
