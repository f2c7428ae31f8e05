"""Runs the packs of one lane on one remote worker, and keeps their state.

Nothing here needs the C scheduler. A reply comes back soon even where tasks turn out to be slow: when the budget of a
pack is used up, what has not begun goes back with it.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
import threading
import time
from typing import Any

from ....by_value import brought, stream_looks, watched
from ....by_value.argument_names import call_pickled, found_by_name
from ....by_value.worker_data import noting_own
from ....errors import PayloadError
from ....process_context.interrupts import loads_module
from ....process_context.settings import under
from ....serialization import payload, read_only
from ....serialization.exceptions import encode_error
from ....serialization.function_code import load_function
from ....serialization.unpacked import callee
from ....serialization.unpicklable import encode_rest
from ....worker_process.protocol import IMPORTS
from .. import clocks, pack, page
from ..pack import CALL, CONTEXT, ERROR, FUNCTION, MODULES, NONE, PACKED, TASK, VALUE
from ..values import own_memory
from ..values.proxies import ENDS_PACK, Outside
from ..values.stores import joined, left
from . import kept, measure, modules
from .aside import take_place, wait_aside
from .chunks import NO_ELEMENT, run_chunk
from .context import RemoteContext
from .engine_draws import give_engine_a_stream
from .functions import KnownFunctions
from .imports import wait_for_imports
from .output import OutputCapture
from .turns import Turn, turns
from .visit import Visit, learn
from .work import Work, arguments, interrupted

LOOK_SECONDS = 0.02  # after which a task that loads a module is looked at again
WAIT_SECONDS = 1.0  # for a turn, until tasks go back that may find room elsewhere
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
        self.raised = False  # an interrupt that may not have come yet
        self.ticket = 0  # of the task in hand
        self.function = 0
        self.element = 0
        self.outside: Outside | None = None  # where large results go
        self.page: Any = bytearray(pack.PAGE.size)  # what runs, for a kernel on the same machine
        self.stopped: set[int] = set()
        self.latest = 0  # pack that came
        self._in_hand = threading.Lock()  # held while a pack runs
        self._hearing = threading.Lock()
        self._work: Work | None = None  # in hand
        self._turn: Turn | None = None  # of the pack in hand
        self._abandoned = False  # by a caller that is gone
        self._refused: set[int] = set()  # packs that have not come, or wait for their turn
        self._changes: list[tuple[int, Any]] = []  # requests to be heeded behind the tasks before them
        self._own: modules.CallerModules | None = None  # that tasks found last
        self._imports_told: tuple[Any, int] = None, 0  # modules, and how many imports of these

    # -- the pack

    def run(
        self, number: int, records: memoryview, data: memoryview, begun: int, budget_ns: int
    ) -> bytes | pack.ReplyParts:
        """Tasks one after another, until there are no more or the budget is used up."""
        if not self._in_hand.acquire(
            blocking=False
        ):  # a task has left its place on the worker to others, and waits
            wait_aside(self._in_hand)
        try:
            work = Work(number, list(PACKED.iter_unpack(records)), data, begun, begun + budget_ns)
            self._heed_first(work)
            while not self._stretch(work):
                self._heed_first(work)
            self._heed()
            return work.reply(self.output.take())
        finally:
            self._in_hand.release()

    def _stretch(self, work: Work) -> bool:
        """Run the pack on up to the next word that changes what its tasks find; whether that was all."""
        if not self._take_turn(work):
            return self._hear_out(work)
        self.thread = threading.get_ident()
        kept.enter(self._token)
        self.known.shares.here()
        watched.here.tell = self._tell_change
        brought.several_threads = True
        payload.inputs.thawing = read_only.thawed
        self.output.listen()
        self.context.begin_pack()
        over = False
        try:
            while True:
                try:
                    over = self._go_on(work) and self._hear_out(work)
                    break
                except KeyboardInterrupt:  # one that came just before or after the task that it was meant for
                    self._cut(work)
            return over
        finally:
            self._calm(over)
            self.context.end_pack()
            self.output.end()
            self._tell_imports(work)
            kept.leave()
            self._end_turn()

    def _take_turn(self, work: Work) -> bool:
        """Wait until this caller's tasks may run in the process; False: nothing more of the pack is to be run."""
        guest, until = self._guest(), time.monotonic() + WAIT_SECONDS
        rest = work.records[work.next :]
        tickets = {record[2] for record in rest if record[0] == TASK}

        def leaves() -> bool:
            if tickets and time.monotonic() > until:
                return True  # there may be room elsewhere
            return self._refuses(work.number) or not tickets.isdisjoint(self.stopped)

        turn = None if guest is None else turns.enter(guest, leaves)
        left = guest is not None and turn is None
        if (
            guest is not None and left and any(record[0] == pack.CONTROL for record in rest)
        ):  # to which a caller awaits an answer
            turn = turns.enter(guest)
        with self._hearing:
            self._turn, self.latest = turn, work.number
            if left or self._refuses(work.number):
                self._refused.discard(work.number)
                self.stopped -= tickets
                work.stop = work.next - 1
            if guest is None or turn is not None:
                self._work = work
                return True
            self._work = None
            return False

    def _refuses(self, number: int) -> bool:
        return self._abandoned or number in self._refused

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turns.leave(turn)

    def _guest(self) -> Visit | None:
        """Return what tasks need of this process; None where it is the caller's own."""
        own, state = modules.of(self._token), self.context.state
        if own is not self._own:
            self._own = own
            self.known.loaded.clear()  # they refer to others
        return None if state is None else Visit(state, own, self.context.found)

    def _go_on(self, work: Work) -> bool:
        """Run tasks and heed words up to one that changes what tasks find: then return False."""
        results, now, data, stopped = work.results, clocks.now, work.data, self.stopped
        records, functions = work.records, self.known.loaded
        say, told = pack.PAGE.pack_into, self.page
        for at in range(work.next, len(records)):
            work.next = at  # before the look at stop; partner: withdraw
            if at > work.stop:
                return True
            kind, number, ticket, _, inputs, _, _, place, size = records[at]
            if kind != TASK:
                if not self._other(kind, number, data[place : place + size], work):
                    work.next = at + 1
                    return False
                continue
            received = started = now()
            if received > work.end and results:
                return True
            if ticket in stopped:
                results.append(interrupted(ticket, received))
                continue
            take_place()
            self.ticket, self.function = ticket, number
            say(told, 0, ticket, NO_ELEMENT, received)
            try:
                function: Any = functions.get(number)
                args: Any = ()
                kwargs = _NOTHING
                if size or function is None:
                    if function is None and number:
                        function = self.known.load(number)
                    if size:
                        args = arguments(data, place, size, inputs)
                    if self.context.own_process:
                        wait_for_imports()
                    if size:
                        started = now()
                own_memory.task_begins()
                if size:
                    if type(args) is dict:
                        with (
                            under(args.get("settings"), self.context.own_process),
                            found_by_name(args.get("names")),
                        ):
                            result = run_chunk(self, args, function, number, ticket, received, started)
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
                results.append(
                    (TASK, ERROR, 1, 0, ticket, len(failed), received, started, finished, 0, failed)
                )
            else:
                args = kwargs = None
                if value is None:
                    results.append((TASK, NONE, 0, 0, ticket, 0, received, started, finished, 0, None))
                else:
                    box, value = [value], None
                    name = self.known.name(number, function)
                    results.append(self._value(box, ticket, name, received, started, finished))
            if self.output.spoke:
                self.output.end_of_task(ticket, number)
        work.next = len(records)
        return True

    def _hear_out(self, work: Work) -> bool:
        """Handle the other entries between tasks that were not begun: those come again, without these. False: the next
        one waits for what the last one changes.
        """
        for at in range(max(work.next, work.heard), len(work.records)):
            work.heard = at
            kind, number, *_, place, size = work.records[at]
            if kind != TASK and not self._other(kind, number, work.data[place : place + size], work):
                work.heard = at + 1
                return False
        work.heard = len(work.records)
        return True

    def _value(
        self, box: list[Any], ticket: int, name: str, received: int, started: int, finished: int
    ) -> tuple[Any, ...]:
        """Pack the value in a box, which is let go of: memory that nothing else refers to need not be copied."""
        value = box.pop()
        data: Any = payload.encode_simple(value)
        size, stays = 0 if data is None else len(data), 0
        if data is None:
            try:
                try:
                    encoded = payload.encode(value)
                except BaseException as error:
                    encoded = encode_rest(name, value, error)
                value = None
                data, size, stays = self.packed(encoded, kept=True, task=f"{name} (task #{ticket >> 32})")
            except PayloadError as error:
                failed = encode_error(error, name)
                return TASK, ERROR, 1, 0, ticket, len(failed), received, started, finished, 0, failed
        return TASK, VALUE, 0, 0, ticket, size, received, started, finished, stays, data

    def packed(self, encoded: payload.Encoded, *, kept: bool, task: str = "") -> tuple[list[Any], int, int]:
        """Return a result as it goes back, in pieces, the bytes of these, and how many bytes other workers have to
        fetch from this one: a large result stays here, or in a store, and a reference goes.
        """
        work = self._work
        if self.outside is None or work is None or work.given_up:
            return left(encoded), encoded.size, 0
        sent, stays = self.outside.put(encoded, kept, task)
        if kept and sent is not encoded and encoded.size >= ENDS_PACK:
            work.end = 0
        return left(sent), sent.size, stays

    def _other(self, kind: int, number: int, body: memoryview, work: Work) -> bool:
        """Heed a word; False: it changes what tasks find, which is done between stretches."""
        if kind == FUNCTION:
            self.known.learn(number, body)
            return True
        request, content = pickle.loads(body)
        if request in (CONTEXT, MODULES):
            self._changes.append((request, content))
            return False
        if request == CALL:
            try:
                function = load_function(memoryview(content)).function
                with noting_own():
                    encoded = payload.encode((True, watched.bare(function)()))
            except BaseException as error:
                encoded = payload.encode((False, encode_error(error, "run_on_workers")))
            data = joined(encoded)
            work.results.append((pack.CONTROL, VALUE, number, 0, 0, len(data), 0, 0, 0, 0, data))
        return True

    def _heed(self) -> None:
        """Change what tasks find, while no task of this lane runs."""
        changes, self._changes = self._changes, []
        for request, content in changes:
            if request == CONTEXT:
                self.context.adopt(content)
            else:
                learn(self._token, *content)

    def _heed_first(self, work: Work) -> None:
        """Heed the words ahead of the next task before its turn: with what they change it may agree with those that
        run, and need not wait.
        """
        for kind, number, *_, place, size in work.records[work.next : work.stop + 1]:
            body = work.data[place : place + size]
            if kind == TASK or (kind != FUNCTION and pickle.loads(body)[0] == CALL):
                break
            self._other(kind, number, body, work)
            work.next += 1
        self._heed()

    def _tell_imports(self, work: Work) -> None:
        """Modules of the user's that were read from files here: the kernel sees whether these are edited."""
        own = self._own
        if own is not None and own.imported and self._imports_told != (own, len(own.imported)):
            self._imports_told = own, len(own.imported)
            data = pickle.dumps((False, list(own.imported.values())))
            work.results.append((pack.CONTROL, VALUE, IMPORTS, 0, 0, len(data), 0, 0, 0, 0, data))

    def _tell_change(self, function: str, variables: tuple[str, ...], arguments: bool) -> None:
        """A task has changed what stays here: ahead of its result."""
        data = pickle.dumps((function, variables, arguments))
        if self._work is not None:
            self._work.results.append(
                (pack.CONTROL, VALUE, watched.CHANGES, 0, 0, len(data), 0, 0, 0, 0, data)
            )

    # -- beside the pack

    def settle_in(self, settings: dict[str, Any]) -> bool:
        """Prepare the remote worker before its first task. Returns whether it notes in a page what runs."""
        told = page.opened(settings["page"], settings["boot"])
        if told is not None:
            self.page = told
        in_caller = settings["process"] == measure.process()
        self.context.settle_in(self._token, settings["context"], None if in_caller else settings["base"])
        if not in_caller:
            give_engine_a_stream()
        if settings["alone"] and not in_caller:
            # the cluster's own code may draw from the stream of random meanwhile
            stream_looks.looked_at = frozenset((stream_looks.NUMPY,))
        guest, initializer = self._guest(), settings["initializer"]
        if guest is not None:  # what an initializer changes of the process is this caller's
            self._turn = turns.enter(guest._replace(alone=initializer is not None, greets=True))
        self.thread = threading.get_ident()
        self.output.listen()
        kept.enter(self._token)
        try:
            if settings["outside"] is not None:
                outside = pickle.loads(settings["outside"])
                # the caller's process has its own end of what stays on workers, and gets results without a copy
                if not (in_caller and outside.results_only):
                    self.outside = outside
                    outside.prepare()
            for name in settings["preload"]:
                __import__(name)
            if initializer is not None:
                call_pickled(initializer, own_process=False)
        finally:
            self.thread = 0
            self.output.end()
            kept.leave()
            self._end_turn()
        return told is not None

    def interrupt(self, tickets: list[int]) -> None:
        """KeyboardInterrupt in the one of these that runs; the others are not begun."""
        with self._hearing:
            self.stopped.update(tickets)
        self._interrupt()

    def _interrupt(self) -> None:
        """Raise it in the task in hand, if that is stopped; where it loads a module, when that is there."""
        with self._hearing:
            if not self.thread or self.ticket not in self.stopped:
                return
            if not loads_module(sys._current_frames().get(self.thread), RemoteRunner.run.__code__):
                self.raised = True
                _raise_in_thread(ctypes.c_ulong(self.thread), ctypes.py_object(KeyboardInterrupt))
                return
        again = threading.Timer(LOOK_SECONDS, self._interrupt)
        again.daemon = True
        again.start()

    def withdraw(self, packs: list[int]) -> dict[int, int]:
        """Begin no more tasks of these packs; return by pack how many of its tasks have begun."""
        begun: dict[int, int] = {}
        with self._hearing:
            for number in packs:
                work = self._work
                if number > self.latest:
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
            return begun, work.number, pack.joined_reply(work.reply(self.output.take()))

    def abandon(self) -> bool:
        """The caller is gone: begin no more tasks, and interrupt the one that runs. Returns whether none does."""
        self._abandoned, work = True, self._work
        if work is not None:
            self.give_up([work.number])
            self.interrupt([record[2] for record in work.records if record[0] == TASK])
        return not self._in_hand.locked()

    def _calm(self, over: bool) -> None:
        """No interrupt reaches this thread from now on. ``over``: nothing more of the pack comes."""
        pack.PAGE.pack_into(self.page, 0, 0, 0, 0)
        while True:
            try:
                with self._hearing:
                    thread, self.thread, self.ticket = self.thread, 0, 0
                    if self.raised:  # else not: it takes the interpreter's lock of threads
                        _raise_in_thread(ctypes.c_ulong(thread), None)
                        self.raised = False
                    if over:
                        self._work = None
                        self.stopped.clear()
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
            if ticket != record[2] and record[2] not in self.stopped:
                return  # it has not begun: it is begun again
            work.results.append(interrupted(record[2], clocks.now()))
        work.next += 1

    def leave(self, *, alone: bool) -> None:
        """The caller has gone: what still runs has had its turn."""
        self._end_turn()
        self.context.leave()
        if self.outside is not None:
            self.outside.leave()
        if alone:
            self.output.leave()

    calls = _go_on.__code__  # of the loop that calls tasks
