"""Failures, for queries: the latest in full, all of them folded by type and traceback.

Everything here is on the failing path alone, called by the resolver. What is kept is bounded: the first calls of each
kind and the latest two thousand, their arguments as the bytes that were sent, where these are few.
"""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

from ...diagnostics.naming import name_call
from ...diagnostics.questions import number
from ...errors import WorkerLostError, class_name, is_a, text_of
from ...futures import Future
from ...serialization.awaited import ElementInput
from ...serialization.exceptions import function_that_raised, remote_traceback
from ...serialization.function_code import function_name
from ...serialization.functions import FunctionTable
from ...serialization.shared import packing
from .failure_records import Failure, Group, cut, keep_bytes, keep_item
from .not_run import NotRunFuture
from .scheduler import Scheduler, ffi, with_gil

MOST_FAILURES, FIRST_OF_A_KIND = 2048, 8
MOST_BYTES = 16 << 20  # of the latest, with their arguments
MOST_GROUPS = 100
MOST_RUNS = 256  # whose failures of one kind are counted by themselves
MOST_KEYS = 4096  # texts of tracebacks whose group is known
TEXT, MESSAGE = 16_384, 2_000  # characters
_FRAME = re.compile(r'^ +File "[^"]*", line \d+, in .*$', re.MULTILINE)
_OTHER = "(more kinds of failures)"


class FailureLog:
    """The failures of one backend."""

    late = False  # whether arguments are looked at after the call: see `Failure.late`

    def __init__(
        self, scheduler: Scheduler, functions: FunctionTable, refer: Callable[[Any, set[int]], Any]
    ) -> None:
        """``refer``: see `Sharing.refer`."""
        self._scheduler = scheduler
        self._functions = functions
        self._refer = refer
        self._lock = threading.Lock()
        self._groups: OrderedDict[tuple[str, str], Group] = OrderedDict()
        self._by_traceback: dict[tuple[str, str], Group] = {}
        self._kept: dict[tuple[int, int], Failure] = {}
        self._latest: deque[tuple[int, int]] = deque()  # keys of those that make room for later ones
        self._bytes = 0  # of these
        self._code: tuple[int, Any] = (0, None)
        self.total = 0

    # -- from the resolver

    def of_task(
        self,
        future: Future,
        slot: int,
        status: int,
        error: BaseException,
        arguments: memoryview | None,
        shown: str | None = None,
    ) -> None:
        """A single task failed, and its error is given its name; ``arguments``, where the completion brought them, or
        what is ``shown`` of them.
        """
        ended = self._ended(slot)
        if ended is None:
            return
        not_loaded = status in (with_gil.CSCHED_VALUE, with_gil.CSCHED_NONE)
        if not_loaded:  # its result does not unpickle
            with_gil.csched_mark_elements(
                self._scheduler.handle, slot, with_gil.CSCHED_ERROR, ffi.new("uint32_t *", 0), 1
            )
        name = self._functions.names.get(ended.function, "?")
        if type(future) is NotRunFuture:
            name, shown = future.function, future.arguments
        elif name == "?":
            name = function_that_raised(error)
        if arguments is None and ended.size:
            arguments = self._scheduler.view(ended.address, ended.size)
        with self._lock:
            made = self._add(ended, 0, name, error)
            if made is None:
                return
            if not_loaded:
                self._scheduler.adjust_run(int(ended.run), succeeded=-1, failed=1)
            made.code = self._function(int(ended.function))
            made.inputs = tuple(map(weakref.ref, future._inputs))
            made.shown = shown
            if arguments is not None:
                keep_bytes(made, arguments)
            self._make_room(made)
        known = made.data is not None or made.shown is not None
        name_call(error, f"{name}({made.arguments if known else '…'})", number(made.task))

    def _function(self, number: int) -> Any:
        """Most failures are those of one function."""
        if self._code[0] != number:
            self._code = (number, self._functions.by_number(number))
        return self._code[1]

    def name_of(self, slot: int) -> str:
        """The task in this slot, as people name it: "#12"."""
        ended = self._ended(slot)
        return number(int(ended.ticket)) if ended is not None else ""

    def attempts_of(self, slot: int) -> int:
        """How often the task in this slot has been tried."""
        ended = self._ended(slot)
        return int(ended.attempt) + 1 if ended is not None else 1

    def of_element(
        self,
        slot: int,
        place: int,
        error: BaseException,
        function: Any,
        form: str,
        attempts: int,
        item: Any,
        shown: str | None,
    ) -> None:
        """An element of the chunk in this slot failed, at its last attempt; ``form``: see `Failure.form`; ``shown``:
        what stands for the item where it is not kept.
        """
        ended = self._ended(slot)
        if ended is None:
            return
        with self._lock:
            made = self._add(ended, place, function_name(function), error)
            if made is None:
                return
            made.attempts, made.code, made.form = attempts, function, form
            made.shown = shown
            if shown is None:
                with packing(self._packed_part):
                    keep_item(made, item)
            self._make_room(made)

    def _packed_part(self, part: Any) -> tuple[Any, tuple[Any, ...]]:
        return part.reduced() if type(part) is ElementInput else self._refer(part, set())

    def of_refused(self, run: int, name: str, error: BaseException) -> None:
        """Count a call that was never a task: it could not be sent, or its input had failed. Nothing of it is kept."""
        if is_a(error, CancelledError):
            return
        text = (remote_traceback(error) or "").strip('\n"')
        with self._lock:
            self._count(self._group(class_name(type(error)), name, text, error), run)

    def _ended(self, slot: int) -> Any:
        ended = ffi.new("csched_ended_t *")
        return ended if with_gil.csched_ended(self._scheduler.handle, slot, ended) == 0 else None

    def _add(self, ended: Any, element: int, name: str, error: BaseException) -> Failure | None:
        """Count it; the record to be filled in, None when it was seen before (an interrupt came in between)."""
        key = (int(ended.ticket), element)
        if key in self._kept:
            return None
        text = (remote_traceback(error) or "").strip('\n"')
        group = self._group(class_name(type(error)), name, text, error)
        run = int(ended.run)
        self._count(group, run)
        lost = error if is_a(error, WorkerLostError) else None
        made = Failure(
            task=key[0],
            element=element,
            run=run,
            function=name,
            type=class_name(type(error)),
            message=cut(text_of(error), MESSAGE),
            traceback=group.traceback if text == group.traceback else cut(text, TEXT),
            attempts=int(ended.attempt) + 1,
            worker=int(ended.worker),
            at=group.latest,
            group=group,
            output=lost.output if lost else "",
            peak_rss=lost.peak_rss if lost else None,
            late=self.late,
        )
        self._kept[key] = made
        return made

    def _count(self, group: Group, run: int) -> None:
        group.count += 1
        group.by_run[run] = group.by_run.pop(run, 0) + 1
        if len(group.by_run) > MOST_RUNS:
            del group.by_run[next(iter(group.by_run))]
        group.latest = time.monotonic()
        self.total += 1

    def _make_room(self, made: Failure) -> None:
        """Count a record that is filled in; drop the oldest ones that are not the first of their kind."""
        key, group = (made.task, made.element), made.group
        if len(group.first) < FIRST_OF_A_KIND and group.type != _OTHER:
            group.first.append(key)
            return
        self._latest.append(key)
        self._bytes += made.size
        while len(self._latest) > MOST_FAILURES or self._bytes > MOST_BYTES:
            old = self._kept.pop(self._latest.popleft(), None)
            self._bytes -= old.size if old is not None else 0

    def _group(self, kind: str, name: str, text: str, error: BaseException) -> Group:
        head = text[: text.rstrip().rfind("\n")]  # without the message
        known = self._by_traceback.get((kind, head or name))
        if known is not None:
            return known
        frames = "\n".join(_FRAME.findall(text))
        key = (kind, frames or name)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MOST_GROUPS:
                key = (_OTHER, "")
            group = self._groups.get(key)
        if group is None:
            shown = kind if key[0] != _OTHER else _OTHER
            group = Group(len(self._groups) + 1, shown, name, cut(text_of(error), MESSAGE), cut(text, TEXT))
            self._groups[key] = group
        if len(self._by_traceback) >= MOST_KEYS:
            self._by_traceback.clear()
        self._by_traceback[kind, head or name] = group
        return group

    # -- queries

    def groups(self, most: int, run: int | None = None) -> list[Group]:
        """The kinds of failures, of one run or of all, the latest first."""
        with self._lock:
            found = sorted(self._groups.values(), key=lambda group: -group.latest)
            if run is not None:
                found = [self._part(group, run) for group in found if run in group.by_run]
            return found[:most]

    def _part(self, group: Group, run: int) -> Group:
        """Return what of a group is of one run."""
        kept = [failure for failure in self._kept.values() if failure.group is group and failure.run == run]
        kept.sort(key=lambda failure: failure.at)
        return replace(
            group,
            message=kept[0].message if kept else group.message,
            count=group.by_run[run],
            first=[(failure.task, failure.element) for failure in kept[:FIRST_OF_A_KIND]],
        )

    def of_group(self, number: int, run: int | None = None) -> list[Failure]:
        """Return the kept failures of one group, of one run or of all, in the order in which they came."""
        with self._lock:
            kept = list(self._kept.values())
        return [each for each in kept if each.group.id == number and run in (None, each.run)]

    def group(self, number: int, run: int | None = None) -> Group | None:
        """Return a group by its number, as much of it as is of a run; None if there is none."""
        return next((group for group in self.groups(MOST_GROUPS + 1, run) if group.id == number), None)

    def find(self, task: int, element: int | None = None) -> Failure | None:
        """A failure by its task (ticket or serial number), and element; without one the task's first."""
        with self._lock:
            found = self._kept.get((task, element or 0))
            if found is not None or (element is not None and task >> 32):
                return found
            for key, failure in self._kept.items():
                if task in (key[0], key[0] >> 32) and element in (None, key[1]):
                    return failure
        return None

    def latest(self) -> Failure | None:
        """The one that came last."""
        with self._lock:
            return max(self._kept.values(), key=lambda failure: failure.at, default=None)

    def search(self, text: str) -> set[tuple[int, int]]:
        """Tasks and elements of the kept failures whose type, message, arguments or function contain the text,
        whatever its case.
        """
        wanted = text.casefold()
        with self._lock:
            kept = list(self._kept.values())
        return {
            (failure.task, failure.element)
            for failure in kept
            if any(wanted in part.casefold() for part in _parts(failure))
        }


def _parts(failure: Failure) -> Iterator[str]:
    yield failure.message
    yield failure.type
    yield failure.function
    yield failure.arguments
