"""Runs the packs of one lane on one remote worker, and keeps their state.

Nothing here needs the C scheduler. A reply comes back soon even where tasks turn out to be slow: when the budget of a
pack is used up, what has not begun goes back with it.
"""

from __future__ import annotations

import ctypes
import pickle
import threading
from array import array
from typing import Any

from ....by_value import module_reads, watched
from ....by_value.worker_data import noting_own
from ....errors import PayloadError, is_a
from ....process_context.settings import under
from ....randomness.generators import prepared
from ....serialization import payload, read_only
from ....serialization.chunk_outcomes import Outcomes, run_batch
from ....serialization.exceptions import encode_error
from ....serialization.function_code import load_function
from ....serialization.unpacked import callee
from ....worker_process.protocol import IMPORTS
from .. import clocks, pack, page
from ..pack import CALL, CONTEXT, ERROR, FUNCTION, MODULES, NONE, PACKED, TASK, VALUE
from ..values.proxies import Outside
from ..values.stores import joined
from . import kept, measure, modules
from .aside import take_place, wait_aside
from .context import RemoteContext
from .functions import KnownFunctions
from .output import OutputCapture
from .work import Work, arguments, interrupted

NO_ELEMENT = 2**32 - 1
_NOTHING: dict[str, Any] = {}
_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc


class RemoteRunner:
    """State of one lane on one remote worker. `run` belongs to one thread at a time."""

    def __init__(self, token: bytes) -> None:
        self._token = token
        self.known = KnownFunctions(token)
        self.context = RemoteContext()
        self.output = OutputCapture(self)
        self.thread = 0  # that runs a pack now
        self.ticket = 0  # of the task in hand
        self.function = 0
        self.element = 0
        self.outside: Outside | None = None  # where large results go
        self._stopped: set[int] = set()
        self._turn = threading.Lock()  # held while a pack runs
        self._hearing = threading.Lock()
        self._work: Work | None = None  # in hand
        self._latest = 0  # pack that came
        self._refused: set[int] = set()  # packs that have not come
        self._page: Any = bytearray(pack.PAGE.size)  # what runs, for a kernel on the same machine
        self._imports_told = 0

    # -- the pack

    def run(self, number: int, records: memoryview, data: memoryview, begun: int, budget_ns: int) -> bytes:
        """Tasks one after another, until there are no more or the budget is used up."""
        if not self._turn.acquire(
            blocking=False
        ):  # a task has left its place on the worker to others, and waits
            wait_aside(self._turn)
        try:
            return self._run(number, records, data, begun, budget_ns)
        finally:
            self._turn.release()

    def _run(self, number: int, records: memoryview, data: memoryview, begun: int, budget_ns: int) -> bytes:
        work = Work(number, list(PACKED.iter_unpack(records)), data, begun, begun + budget_ns)
        with self._hearing:
            self._latest, self._work = number, work
            if number in self._refused:
                self._refused.discard(number)
                work.stop = -1
        self.thread = threading.get_ident()
        kept.enter(self._token)
        self.known.shares.here()
        watched.here.tell = self._tell_change
        module_reads.several_threads = True
        payload.inputs.thawing = read_only.thawed
        self.output.listen()
        own = modules.enter(self._token)
        self.context.begin_pack()
        try:
            while True:
                try:
                    self._go_on(work)
                    self._hear_out(work)
                    break
                except KeyboardInterrupt:  # one that came just before or after the task that it was meant for
                    self._cut(work)
        finally:
            self._calm()
            self.context.end_pack()
            self.output.end()
            if own is not None and len(own.imported) != self._imports_told:
                self._tell_imports(own, work)
            modules.leave(own)
            kept.leave()
        return work.reply(self.output.take())

    def _go_on(self, work: Work) -> None:
        results, now, data, stopped = work.results, clocks.now, work.data, self._stopped
        records, functions = work.records, self.known.loaded
        say, told = pack.PAGE.pack_into, self._page
        for at in range(work.next, len(records)):
            work.next = at  # before the look at stop; partner: withdraw
            if at > work.stop:
                return
            kind, number, ticket, _, inputs, _, _, place, size = records[at]
            if kind != TASK:
                self._other(kind, number, data[place : place + size], work)
                continue
            received = started = now()
            if received > work.end and results:
                return
            if ticket in stopped:
                results.append(interrupted(ticket, received))
                continue
            take_place()
            self.ticket, self.function = ticket, number
            say(told, 0, ticket, NO_ELEMENT)
            try:
                function: Any = functions.get(number)
                args: Any = ()
                kwargs = _NOTHING
                if size or function is None:
                    if function is None and number:
                        function = self.known.load(number)
                    if size:
                        args = arguments(data, place, size, inputs)
                        started = now()
                    if type(args) is dict:
                        with under(args.get("settings"), self.context.own_process):
                            result = self._chunk(args, function, number, ticket, received, started)
                        self.ticket = 0
                        results.append(result)
                        continue
                    if type(args) is list:
                        function = callee(args, function, self.context.own_process)
                        args, kwargs = args[-2:]
                value = function(*args, **kwargs)
                finished = now()
                self.ticket = 0
            except BaseException as error:
                finished = now()
                self.ticket = 0
                args = kwargs = None
                failed = encode_error(error, self.known.name(number, function))
                results.append((TASK, ERROR, 1, 0, ticket, len(failed), received, started, finished, failed))
            else:
                args = kwargs = None
                if value is None:
                    results.append((TASK, NONE, 0, 0, ticket, 0, received, started, finished, None))
                else:
                    results.append(
                        self._value(
                            value, ticket, self.known.name(number, function), received, started, finished
                        )
                    )
            if self.output.spoke:
                self.output.end_of_task(ticket, number)
        work.next = len(records)

    def _hear_out(self, work: Work) -> None:
        """Handle the other entries between tasks that were not begun: those come again, without these."""
        for at in range(max(work.next, work.heard), len(work.records)):
            work.heard = at
            kind, number, *_, place, size = work.records[at]
            if kind != TASK:
                self._other(kind, number, work.data[place : place + size], work)
        work.heard = len(work.records)

    def _value(
        self, value: Any, ticket: int, name: str, received: int, started: int, finished: int
    ) -> tuple[Any, ...]:
        data: Any = payload.encode_simple(value)
        if data is None:
            try:
                try:
                    encoded = payload.encode(value)
                except BaseException as error:
                    encoded = payload.encode_rest(name, value, error)
            except PayloadError as error:
                failed = encode_error(error, name)
                return TASK, ERROR, 1, 0, ticket, len(failed), received, started, finished, failed
            data = self._packed(encoded, kept=True, task=f"{name} (task #{ticket >> 32})")
        return TASK, VALUE, 0, 0, ticket, len(data), received, started, finished, data

    def _packed(self, encoded: payload.Encoded, kept: bool, task: str = "") -> bytes:
        """A result as it goes back; one that is large stays here, or in a store, and a reference goes."""
        awaited = self._work is not None and not self._work.given_up
        return joined(self.outside.put(encoded, kept, task) if self.outside and awaited else encoded)

    def _other(self, kind: int, number: int, body: memoryview, work: Work) -> None:
        if kind == FUNCTION:
            self.known.learn(number, body)
            return
        request, content = pickle.loads(body)
        if request == CONTEXT:
            self.context.adopt(content)
        elif request == MODULES:
            if modules.learn(self._token, *content):
                self.known.loaded.clear()
        elif request == CALL:
            try:
                function = watched.bare(load_function(memoryview(content)).function)
                with noting_own():
                    encoded = payload.encode((True, function()))
            except BaseException as error:
                encoded = payload.encode((False, encode_error(error, "run_on_workers")))
            data = joined(encoded)
            work.results.append((pack.CONTROL, VALUE, number, 0, 0, len(data), 0, 0, 0, data))

    def _tell_imports(self, own: modules.CallerModules, work: Work) -> None:
        """Modules of the user's that were read from files here: the kernel sees whether these are edited."""
        self._imports_told = len(own.imported)
        data = pickle.dumps((False, list(own.imported.values())))
        work.results.append((pack.CONTROL, VALUE, IMPORTS, 0, 0, len(data), 0, 0, 0, data))

    def _tell_change(self, function: str, variables: tuple[str, ...], arguments: bool) -> None:
        """A task has changed what stays here: ahead of its result."""
        data = pickle.dumps((function, variables, arguments))
        if self._work is not None:
            self._work.results.append((pack.CONTROL, VALUE, watched.CHANGES, 0, 0, len(data), 0, 0, 0, data))

    # -- chunks

    def _chunk(
        self, body: dict[str, Any], function: Any, number: int, ticket: int, received: int, started: int
    ) -> tuple[Any, ...]:
        """Elements of a map, or one batch, each with an outcome of its own."""
        function = body.get("function", function)
        name = self.known.name(number, function)
        looked_at, function = function, watched.bare(function)
        marks = array("Q")
        if "draws" in body:
            function = prepared(function, body)
        items = body.pop("items")
        if body["batch"]:
            outcomes = Outcomes(0)
            outcomes.values = run_batch(function, name, items, 0, outcomes.errors)
            failures = len(outcomes.errors)
        else:
            outcomes, failures = self._elements(function, name, items, body["star"], ticket, marks)
        finished = clocks.now()
        watched.look(looked_at)
        self.element = 0
        data = self._packed(outcomes.encode(name), kept=False)
        if len(marks) > 1:
            data = b"".join((marks.tobytes(), data))
        else:
            del marks[:]
        size = len(data) - len(marks) * marks.itemsize
        return TASK, VALUE, failures, len(marks), ticket, size, received, started, finished, data

    def _elements(
        self, function: Any, name: str, items: list[Any], star: bool, ticket: int, marks: array[int]
    ) -> tuple[Outcomes, int]:
        outcomes = Outcomes(0)
        values, errors, now, failures = outcomes.values, outcomes.errors, clocks.now, 0
        say, told = pack.PAGE.pack_into, self._page
        for i, item in enumerate(items):
            self.element = i
            say(told, 0, ticket, i)
            marks.append(now())
            try:
                values.append(function(*item) if star else function(item))
            except BaseException as error:
                del values[i:]
                values.append(None)
                errors[i] = encode_error(error, name)
                failures += 1
                if (
                    is_a(error, KeyboardInterrupt) and ticket in self._stopped
                ):  # Stop is meant for all of them
                    rest = range(i + 1, len(items))
                    errors.update(dict.fromkeys(rest, errors[i]))
                    values.extend([None] * len(rest))
                    marks.extend([now()] * len(rest))
                    return outcomes, failures + len(rest)
        say(told, 0, ticket, NO_ELEMENT)
        return outcomes, failures

    # -- beside the pack

    def settle_in(self, settings: dict[str, Any]) -> bool:
        """Prepare the remote worker before its first task. Returns whether it notes in a page what runs."""
        told = page.opened(settings["page"], settings["boot"])
        if told is not None:
            self._page = told
        self.thread = threading.get_ident()
        self.output.listen()
        kept.enter(self._token)
        own = modules.enter(self._token)
        try:
            in_caller = settings["process"] == measure.process()
            self.context.settle_in(settings["context"], None if in_caller else settings["base"])
            if settings["outside"] is not None:
                self.outside = pickle.loads(settings["outside"])
                self.outside.prepare()
            for name in settings["preload"]:
                __import__(name)
            if settings["initializer"] is not None:
                initializer, initargs = pickle.loads(settings["initializer"])
                with noting_own():
                    initializer(*initargs)
        finally:
            self.thread = 0
            self.output.end()
            modules.leave(own)
            kept.leave()
        return told is not None

    def interrupt(self, tickets: list[int]) -> None:
        """KeyboardInterrupt in the one of these that runs; the others are not begun."""
        with self._hearing:
            self._stopped.update(tickets)
            if self.thread and self.ticket in self._stopped:
                _raise_in_thread(ctypes.c_ulong(self.thread), ctypes.py_object(KeyboardInterrupt))

    def withdraw(self, packs: list[int]) -> dict[int, int]:
        """Begin no more tasks of these packs; return by pack how many of its tasks have begun."""
        begun: dict[int, int] = {}
        with self._hearing:
            for number in packs:
                work = self._work
                if number > self._latest:
                    self._refused.add(number)
                    begun[number] = 0
                elif work is not None and work.number == number:
                    while work.stop > work.next:  # it moves on meanwhile: until it no longer does
                        work.stop = work.next
                        if work.next > work.stop:
                            work.stop = len(work.records)
                    begun[number] = sum(r[0] == TASK for r in work.records[: work.stop + 1])
        return begun

    def give_up(self, packs: list[int]) -> tuple[dict[int, int], int, bytes]:
        """Withdraw these packs, of which the caller awaits nothing any more; return how many tasks of each have begun,
        and of the pack in hand its number and a reply with what has ended.
        """
        begun = self.withdraw(packs)
        with self._hearing:
            work = self._work
            if work is None or work.number not in packs:
                return begun, 0, b""
            work.given_up = True
            return begun, work.number, work.reply(self.output.take())

    def _calm(self) -> None:
        """No interrupt reaches this thread from now on."""
        pack.PAGE.pack_into(self._page, 0, 0, 0)
        while True:
            try:
                with self._hearing:
                    thread, self.thread, self.ticket = self.thread, 0, 0
                    self._work = None
                    if thread:
                        _raise_in_thread(ctypes.c_ulong(thread), None)
                    self._stopped.clear()
                return
            except KeyboardInterrupt:
                continue

    def _cut(self, work: Work) -> None:
        """An interrupt that no task has heard: the task in hand ends by it, if there is one."""
        record = work.records[work.next] if work.next < len(work.records) else None
        ticket, self.ticket = self.ticket, 0
        if record is None or record[0] != TASK:
            return
        if not work.results or work.results[-1][4] != record[2]:
            if ticket != record[2] and record[2] not in self._stopped:
                return  # it has not begun: it is begun again
            work.results.append(interrupted(record[2], clocks.now()))
        work.next += 1

    def leave(self, *, alone: bool) -> None:
        """The caller has gone."""
        self.context.leave()
        if self.outside is not None:
            self.outside.leave()
        if alone:
            self.output.leave()

    calls = _go_on.__code__  # of the loop that calls tasks
