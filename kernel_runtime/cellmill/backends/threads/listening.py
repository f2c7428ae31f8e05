"""What tasks in threads print: kept by the thread, told by it at the end of the task, and meanwhile by a listener."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from ... import runs
from ...cell_output.transcript import QUIET_SECONDS, Settings, Voice
from ...task import NO_RUN
from ..scheduled.scheduler import NO_ELEMENT, with_gil
from ..scheduled.transcripts import Transcripts
from . import task_streams

if TYPE_CHECKING:
    from .backend import ThreadsBackend
    from .thread import WorkerThread

GATHER_SECONDS = 0.02  # what comes meanwhile is told with it

Place = tuple[int, int, int]  # element, function, ticket


class Said:
    """Of one thread: text that has not been told, and the voices of its task."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, Place, str]] = deque()
        self.voices: dict[Place, Voice] = {}


class ThreadListener(Transcripts):
    """Tells what the threads of one backend have said."""

    _backend: ThreadsBackend

    def __init__(self, backend: ThreadsBackend, settings: Settings) -> None:
        super().__init__(backend, settings)
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
                self._backend.report(error)

    def _tell_members(self) -> None:
        if not self._stopped:
            for member in list(self._backend.pool.members.values()):
                self._tell(member.said)

    def say(self, member: WorkerThread, number: int, text: str) -> None:
        """In a task: kept, in no more than a step, because a Stop may come in between any two."""
        element = with_gil.csched_worker_place(member.handle)
        place = (0 if element == NO_ELEMENT else element, member.function, int(member.form.ticket))
        member.said.waiting.append((number, place, text))
        member.form.spoke = 1
        if not self._word.is_set():
            self._word.set()

    def _tell(self, said: Said) -> None:
        with self._lock:
            while said.waiting:
                number, place, text = said.waiting.popleft()
                voice = said.voices.get(place)
                if voice is None:
                    element, function, ticket = place
                    run = (
                        int(with_gil.csched_task_run(self._backend.scheduler.handle, ticket))
                        if ticket
                        else NO_RUN
                    )
                    voice = said.voices[place] = self.new_voice(run, element, function, ticket)
                voice.hear(number, text.encode("utf-8", "backslashreplace"))

    def end_of(self, said: Said) -> None:
        """A thread's task is over, before its result is settled; or the thread is."""
        with self._lock:
            self._tell(said)
            voices, said.voices = said.voices, {}
            self.end(voices.values())

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
        """In a forked child: its parent's tasks are told there."""
        runs.cell_listeners.discard(self)
        self._stopped = True
        self._backend.pool.disown()
