"""The output of tasks on any backend: transcripts of its runs and cells.

What tasks print is told in the cell that submitted them.
"""

from __future__ import annotations

import pickle
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterable
from functools import partial
from typing import Any

from ... import run_registry
from ...cell_output import log_records, origin, present_cell, warning_messages
from ...cell_output.recent import DISPLAY, LOG, Recent, Speaker
from ...cell_output.transcript import QUIET_SECONDS, Settings, TaskOutput, Transcript
from ...process_context import reporting
from ...serialization.function_code import function_name
from ...serialization.functions import FunctionTable
from ...task import NO_RUN
from ...worker_process.output_frames import STDERR, STDOUT
from .chunks import Chunk
from .scheduler import Scheduler, with_gil
from .slots import SlotTable

MOST_CELLS, MOST_TRANSCRIPTS = 1000, 256


class Transcripts:
    """The transcripts of one backend. Thread-safe."""

    def __init__(
        self,
        owner: object,
        scheduler: Scheduler,
        slots: SlotTable,
        functions: FunctionTable,
        settings: Settings,
    ) -> None:
        """``owner``: the backend whose runs these are."""
        self._owner = owner
        self._scheduler = scheduler
        self._slots = slots
        self._names = functions.names
        self.settings = settings
        self.recent = Recent()
        self._shown = warning_messages.Shown()
        self._cells: list[tuple[int, origin.Origin]] = [(0, origin.latest)]  # by the first serial number
        self._transcripts: OrderedDict[Any, Transcript] = OrderedDict()
        self._lock = threading.RLock()

    def hear_cells(self) -> None:
        """Subscribe to new cells: `new_cell` is called for each."""
        present_cell.listeners.add(self)

    # -- what is told

    def new_output(
        self, run: int, element: int, function: int, ticket: int, worker: int | None = None
    ) -> TaskOutput:
        """Begin the output of a task or element; ticket 0: of something that is no task."""
        with self._lock:
            transcript = self._transcript(run, ticket)
            run_id = None if transcript.run is None else transcript.run.id
            speaker = Speaker(self._called(element, function, ticket), ticket, element, worker, run_id)
            return TaskOutput(transcript, self._owner, self._name(element, function, ticket), speaker)

    def hear(self, output: TaskOutput, kind: int, data: bytes) -> None:
        """More of its text."""
        with self._lock:
            self.recent.add(output.speaker, kind, data)
            output.hear(kind, data)

    def end(self, outputs: Iterable[TaskOutput]) -> None:
        """These have nothing more to say: unfinished lines are shown."""
        with self._lock:
            for output in outputs:
                self.recent.end(output.speaker)
                output.end()
                output.transcript.flush()

    def display(self, output: TaskOutput, message: bytes) -> None:
        """Something rich, pickled: (data, metadata, transient, update)."""
        try:
            data, metadata, transient, update = pickle.loads(message)
        except Exception as error:
            data = {"text/plain": f"<a display that cannot be read here: {type(error).__name__}: {error}>"}
            metadata, transient, update = {}, {}, False
        text = str(data.get("text/plain", "")).encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            self.recent.add(output.speaker, DISPLAY, text)
            output.transcript.flush()
            if _has_shell():
                from IPython import display

                publish: Any = display.publish_display_data
                output.transcript.origin.do(
                    lambda: publish(data, metadata, transient=transient, update=update)
                )
            else:
                output.hear(STDOUT, text)

    def log(self, output: TaskOutput, message: bytes) -> None:
        """A log record: the kernel's loggers handle it, as if the cell had made it."""
        cell = output.transcript.origin
        stderr = cell.stream(STDERR)
        try:
            record, until, heard = log_records.unpacked(message, output.name)
            text = log_records.TEXT.format(record) + "\n"
            with self._lock:
                self.recent.add(output.speaker, LOG, text.encode("utf-8", "backslashreplace"))
                output.keep(text)
                output.transcript.flush()
            cell.do(lambda: log_records.handle(record, until, heard, stderr))
        except Exception:  # of a handler or a filter; the task has gone on
            lines = traceback.format_exc()
            told = f"--- Logging error ---\nA log record of {output.name} could not be handled:\n{lines}"
            if stderr is not None:
                cell.do(lambda: stderr.write(told))

    def warn(self, output: TaskOutput, message: bytes) -> None:
        """A warning: text of the task's, or shown in the kernel's own way where that is another."""
        told = warning_messages.unpacked(message)
        reporting.note_warning()
        if not self._shown.note(told, output.transcript.origin.epoch):
            return
        text = told.text.encode("utf-8", "backslashreplace")
        if warning_messages.usual():
            self.hear(output, STDERR, text)
            return
        cell = output.transcript.origin
        with self._lock:
            self.recent.add(output.speaker, STDERR, text)
            output.keep(told.text)
            output.transcript.flush()
        try:
            cell.do(lambda: warning_messages.show(told))
        except Exception:  # of what shows it; the task has gone on
            lines = traceback.format_exc()
            self.hear(
                output, STDERR, f"A warning of {output.name} could not be shown:\n{lines}{told.text}".encode()
            )

    def tell_all(self) -> None:
        """Everything that was folded so far."""
        with self._lock:
            for transcript in self._transcripts.values():
                self._tell_folded(transcript)

    @property
    def restless(self) -> bool:
        """Something was folded that has not been told."""
        with self._lock:
            return any(transcript.restless for transcript in self._transcripts.values())

    def settle(self) -> None:
        """Show what was written, and tell of what was folded a while ago."""
        now = time.monotonic()
        with self._lock:
            for transcript in self._transcripts.values():
                if transcript.restless and now - transcript.last_heard > QUIET_SECONDS:
                    transcript.settle()
                transcript.flush()

    def _tell_folded(self, transcript: Transcript) -> None:
        with self._lock:
            transcript.settle()
            transcript.flush()

    # -- whose it is

    def _name(self, element: int, function: int, ticket: int) -> str:
        """Function and task for people: the place in its map, or a number."""
        if not ticket:
            return "worker"
        entry, name = self._entry(function, ticket)
        if type(entry) is Chunk:
            key = entry.keys[element] if element < len(entry.keys) else None
            return f"{name} {key}" if isinstance(key, int) else name
        return f"{name} #{ticket >> 32}"

    def _called(self, element: int, function: int, ticket: int) -> str:
        """Function and task as views call them."""
        if not ticket:
            return "worker"
        _, name = self._entry(function, ticket)
        return f"{name} #{ticket >> 32}" + (f".{element}" if element else "")

    def _entry(self, function: int, ticket: int) -> tuple[Any, str]:
        """A task's entry in the table of slots, and its function's name."""
        entry = self._slots.entry(ticket & NO_RUN)
        name = self._names.get(function)
        if type(entry) is Chunk:
            name = name or function_name(entry.stream.function)
        return entry, name or "task"

    def _transcript(self, number: int, ticket: int) -> Transcript:
        cell = self._cell(ticket >> 32) if ticket else self._cells[0][1]
        run = run_registry.find(number, self._owner) if number != NO_RUN else None
        if run is None and number != NO_RUN:
            run = run_registry.find_ended(number, self._owner)
        key: Any = run.id if run is not None else (cell.epoch, number)
        found = self._transcripts.get(key)
        if found is None:
            owner = cell.within(run.context) if run is not None else cell
            found = self._transcripts[key] = Transcript(owner, self.settings, run)
            if run is not None:
                run.tell_folded = partial(self._tell_folded, found)
            while len(self._transcripts) > MOST_TRANSCRIPTS:
                _, old = self._transcripts.popitem(last=False)
                old.settle()
        return found

    def new_cell(self, cell: origin.Origin) -> None:
        """Begin a cell: output of tasks submitted from now on belongs to it."""
        serial = int(with_gil.csched_serial(self._scheduler.handle)) + 1
        with self._lock:
            self._cells.append((serial, cell))
            del self._cells[1:-MOST_CELLS]

    def cell_of(self, ticket: int) -> origin.Origin:
        """The cell that submitted a task; 0: the present one."""
        with self._lock:
            return self._cell(ticket >> 32) if ticket else self._cells[-1][1]

    def _cell(self, serial: int) -> origin.Origin:
        for first, cell in reversed(self._cells):
            if first <= serial:
                return cell
        return self._cells[-1][1]


def _has_shell() -> bool:
    module = sys.modules.get("IPython.core.interactiveshell")
    return module is not None and bool(module.InteractiveShell.initialized())
