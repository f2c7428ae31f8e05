"""The other end of a lane: runs packs of tasks in a worker of somebody else's cluster.

`run` and `hear` are all that an engine calls. Nothing here needs the C scheduler; what a place knows (functions by
number, the caller's surroundings) it keeps in a `Home`, one for each lane. A reply comes back soon even where tasks
turn out to be slow: when the budget of a pack is used up, what has not begun goes back with it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import platform
import socket
import sys
import threading
import time
from array import array
from collections import OrderedDict
from pathlib import Path
from typing import Any

from ... import __version__, payload
from ...chunk_outcomes import Outcomes, run_batch
from ...functions import load_function
from ...raised import encode_error
from . import pack
from .pack import CALL, ERROR, FUNCTION, INPUT, LEAVE, NONE, OUTCOME, PACKED, TASK, VALUE, WORLD
from .proxies import Outside
from .speech import Speech
from .stores import joined
from .surroundings import Surroundings

MOST_FUNCTIONS = 256
NO_ELEMENT = 2**32 - 1
_now = time.monotonic_ns
_homes: dict[tuple[bytes, int], Home] = {}
_lock = threading.Lock()
_NOTHING: dict[str, Any] = {}
_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc


def run(data: list[Any]) -> bytes:
    """Run a pack; its reply."""
    begun = _now()
    head = pack.pack_head(data[0])
    if head.kind == pack.HELLO:
        return _greet(data, begun)
    return _home(head.token, head.home).run(
        head.number, memoryview(data[1]), memoryview(data[2]), begun, head.budget_ns
    )


def hear(message: bytes) -> Any:
    """A word beside the packs; from any thread, also while one runs.

    (INTERRUPT, token, home, tickets): these end; (WITHDRAW, token, home, packs): what has not begun of these will not,
    and how many tasks of each have is returned; (LEAVE, token): the caller has gone, nothing of its remains.
    """
    kind, token, *rest = pickle.loads(message)
    if kind == pack.INTERRUPT:
        home = _homes.get((token, rest[0]))
        if home is not None:
            home.interrupt(rest[1])
    elif kind == pack.WITHDRAW:
        home = _homes.get((token, rest[0]))
        return home.withdraw(rest[1]) if home is not None else {}
    elif kind == LEAVE:
        with _lock:
            for key in [key for key in _homes if key[0] == token]:
                _homes.pop(key).leave()
    return None


def in_task() -> bool:
    """Whether this code runs inside a task."""
    here = threading.get_ident()
    homes = list(_homes.values())
    if any(home.thread == here for home in homes):
        return True
    # a thread that a task has started: only where this process is nobody's kernel
    return "cellmill._csched_held" not in sys.modules and any(home.ticket for home in homes)


def versions() -> dict[str, str]:
    """What has to be the same at both ends."""
    return {"cellmill": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}


def boot() -> str:
    """Names a clock: processes with the same one read the same CLOCK_MONOTONIC; empty where nobody knows."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _greet(data: list[Any], begun: int) -> bytes:
    """The first exchange: who is there. With a setting, also the initializer; without one only the clock."""
    answer: dict[str, Any] = {
        "page": False,
        "versions": versions(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "boot": boot(),
    }
    if len(data) > 1 and len(data[1]):
        head = pack.pack_head(data[0])
        try:
            answer["page"] = _home(head.token, head.home).settle_in(pickle.loads(data[1]))
        except BaseException as error:
            answer["error"] = encode_error(error, "the initializer")
    return pack.encode_reply(b"", 0, [], [pickle.dumps(answer)], begun, _now())


def _home(token: bytes, number: int) -> Home:
    key = (token, number)
    home = _homes.get(key)
    if home is None:
        with _lock:
            home = _homes.setdefault(key, Home())
    return home


class Home:
    """What one place keeps for one lane. `run` belongs to one thread at a time."""

    def __init__(self) -> None:
        self.functions: OrderedDict[int, Any] = OrderedDict()
        self.blobs: dict[int, bytes] = {}
        self.names: dict[int, str] = {}
        self.surroundings = Surroundings()
        self.speech = Speech(self)
        self.thread = 0  # that runs a pack now
        self.ticket = 0  # of the task in hand
        self.function = 0
        self.element = 0
        self.outside: Outside | None = None  # where large results go
        self._stopped: set[int] = set()
        self._hearing = threading.Lock()
        self._work: _Work | None = None  # in hand
        self._latest = 0  # pack that came
        self._refused: set[int] = set()  # packs that have not come
        self._page: Any = bytearray(pack.PAGE.size)  # what runs, for a kernel on the same machine

    # -- the pack

    def run(self, number: int, records: memoryview, data: memoryview, begun: int, budget_ns: int) -> bytes:
        """Tasks one after another, until there are no more or the budget is used up."""
        work = _Work(number, list(PACKED.iter_unpack(records)), data, begun + budget_ns)
        with self._hearing:
            self._latest, self._work = number, work
            if number in self._refused:
                self._refused.discard(number)
                work.stop = -1
        self.thread = threading.get_ident()
        self.speech.listen()
        try:
            while True:
                try:
                    self._go_on(work)
                    break
                except KeyboardInterrupt:  # one that came just before or after the task that it was meant for
                    self._cut(work)
        finally:
            self._calm()
            self.speech.end()
        return work.reply(self.speech.take(), begun)

    def _go_on(self, work: _Work) -> None:
        results, now, data, stopped = work.results, _now, work.data, self._stopped
        records, functions = work.records, self.functions
        say, page = pack.PAGE.pack_into, self._page
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
                results.append(_interrupted(ticket, received))
                continue
            self.ticket, self.function = ticket, number
            say(page, 0, ticket, NO_ELEMENT)
            try:
                function: Any = functions.get(number)
                args: Any = ()
                kwargs = _NOTHING
                if size or function is None:
                    if function is None and number:
                        function = self._function(number)
                    if size:
                        args = self._arguments(data, place, size, inputs)
                        started = now()
                    if type(args) is dict:
                        result = self._chunk(args, function, number, ticket, received, started)
                        self.ticket = 0
                        results.append(result)
                        continue
                    if type(args) is list:  # [args, kwargs] or [function, args, kwargs]
                        if len(args) == 3:
                            function = args[0]
                        args, kwargs = args[-2:]
                value = function(*args, **kwargs)
                finished = now()
                self.ticket = 0
            except BaseException as error:
                finished = now()
                self.ticket = 0
                args = kwargs = None
                failed = encode_error(error, self._name(number, function))
                results.append((TASK, ERROR, 1, 0, ticket, len(failed), received, started, finished, failed))
            else:
                args = kwargs = None
                if value is None:
                    results.append((TASK, NONE, 0, 0, ticket, 0, received, started, finished, None))
                else:
                    results.append(
                        self._value(value, ticket, self._name(number, function), received, started, finished)
                    )
            if self.speech.spoke:
                self.speech.end_of_task(ticket, number)
        work.next = len(records)

    def _value(
        self, value: Any, ticket: int, name: str, received: int, started: int, finished: int
    ) -> tuple[Any, ...]:
        data: Any = payload.encode_simple(value)
        if data is None:
            try:
                encoded = payload.encode(value)
            except BaseException as error:
                problem = payload.explain_result(name, value, error)
                failed = encode_error(problem.with_traceback(error.__traceback__), name)
                return TASK, ERROR, 1, 0, ticket, len(failed), received, started, finished, failed
            data = self._packed(encoded, kept=True)
        return TASK, VALUE, 0, 0, ticket, len(data), received, started, finished, data

    def _packed(self, encoded: payload.Encoded, kept: bool) -> bytes:
        """A result as it goes back; one that is large stays here, or in a store, and a reference goes."""
        return joined(encoded if self.outside is None else self.outside.put(encoded, kept))

    def _other(self, kind: int, number: int, body: memoryview, work: _Work) -> None:
        if kind == FUNCTION:
            for known in (self.functions, self.blobs, self.names):
                known.pop(number, None)
            if body.nbytes:
                self.blobs[number] = bytes(body)
            return
        request, content = pickle.loads(body)
        if request == WORLD:
            self.surroundings.adopt(content)
        elif request == CALL:
            try:
                encoded = payload.encode((True, load_function(memoryview(content)).function()))
            except BaseException as error:
                encoded = payload.encode((False, encode_error(error, "run_on_workers")))
            data = joined(encoded)
            work.results.append((pack.CONTROL, VALUE, number, 0, 0, len(data), 0, 0, 0, data))

    def _function(self, number: int) -> Any:
        blob = load_function(memoryview(self.blobs[number]))
        self.names[number] = blob.name
        self.functions[number] = blob.function
        if len(self.functions) > MOST_FUNCTIONS:
            self.functions.popitem(last=False)
        return blob.function

    def _name(self, number: int, function: Any) -> str:
        if number or function is None:
            return self.names.get(number, "?")
        return str(getattr(function, "__qualname__", type(function).__name__))

    def _arguments(self, data: memoryview, at: int, size: int, inputs: int) -> Any:
        view = data[at : at + size]
        if not inputs:
            return pickle.loads(view) if size < payload.BUFFER_MIN else payload.decode(view)
        places = []
        at += size
        for _ in range(inputs):
            at = (at + 7) & ~7
            status, length = INPUT.unpack_from(data, at)
            at += INPUT.size
            places.append((status, data[at : at + length]))
            at += length
        payload.inputs.loading = lambda i: None if places[i][0] == NONE else payload.decode(places[i][1])
        try:
            return payload.decode(view)
        finally:
            payload.inputs.loading = None

    # -- chunks

    def _chunk(
        self, body: dict[str, Any], function: Any, number: int, ticket: int, received: int, started: int
    ) -> tuple[Any, ...]:
        """Elements of a map, or one batch, each with an outcome of its own."""
        function = body.get("function", function)
        name = self._name(number, function)
        marks = array("Q")
        items = body.pop("items")
        if body["batch"]:
            outcomes = Outcomes(0)
            outcomes.values = run_batch(function, name, items, 0, outcomes.errors)
            failures = len(outcomes.errors)
        else:
            outcomes, failures = self._elements(function, name, items, body["star"], ticket, marks)
        finished = _now()
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
        values, errors, now, failures = outcomes.values, outcomes.errors, _now, 0
        say, page = pack.PAGE.pack_into, self._page
        for i, item in enumerate(items):
            self.element = i
            say(page, 0, ticket, i)
            marks.append(now())
            try:
                values.append(function(*item) if star else function(item))
            except BaseException as error:
                del values[i:]
                values.append(None)
                errors[i] = encode_error(error, name)
                failures += 1
                if (
                    isinstance(error, KeyboardInterrupt) and ticket in self._stopped
                ):  # Stop is meant for all of them
                    rest = range(i + 1, len(items))
                    errors.update(dict.fromkeys(rest, errors[i]))
                    values.extend([None] * len(rest))
                    marks.extend([now()] * len(rest))
                    return outcomes, failures + len(rest)
        say(page, 0, ticket, NO_ELEMENT)
        return outcomes, failures

    # -- beside the pack

    def settle_in(self, settings: dict[str, Any]) -> bool:
        """What comes before the first task. True: what runs is told by a page."""
        told = self._open_page(settings["page"], settings["boot"])
        self.thread = threading.get_ident()
        self.speech.listen()
        try:
            self.surroundings.settle_in(settings["world"], settings["base"])
            if settings["outside"] is not None:
                self.outside = pickle.loads(settings["outside"])
                self.outside.prepare()
            for name in settings["preload"]:
                __import__(name)
            if settings["initializer"] is not None:
                initializer, initargs = pickle.loads(settings["initializer"])
                initializer(*initargs)
        finally:
            self.thread = 0
            self.speech.end()
        return told

    def _open_page(self, path: str, boot_of_caller: str) -> bool:
        if not boot_of_caller or boot_of_caller != boot():
            return False
        try:
            with open(path, "r+b") as file:
                self._page = mmap.mmap(file.fileno(), pack.PAGE.size)
        except (OSError, ValueError):  # another machine in all but its kernel: a container
            return False
        return True

    def interrupt(self, tickets: list[int]) -> None:
        """KeyboardInterrupt in the one of these that runs; the others are not begun."""
        with self._hearing:
            self._stopped.update(tickets)
            if self.thread and self.ticket in self._stopped:
                _raise_in_thread(ctypes.c_ulong(self.thread), ctypes.py_object(KeyboardInterrupt))

    def withdraw(self, packs: list[int]) -> dict[int, int]:
        """By pack: how many of its tasks have begun; the others will not."""
        begun: dict[int, int] = {}
        with self._hearing:
            for number in packs:
                work = self._work
                if number > self._latest:
                    self._refused.add(number)
                    begun[number] = 0
                elif work is not None and work.number == number:
                    while work.stop > work.next:  # it moves on meanwhile: until it is seen to stand
                        work.stop = work.next
                        if work.next > work.stop:
                            work.stop = len(work.records)
                    begun[number] = sum(r[0] == TASK for r in work.records[: work.stop + 1])
        return begun

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

    def _cut(self, work: _Work) -> None:
        """An interrupt that no task has heard: the task in hand ends by it, if there is one."""
        record = work.records[work.next] if work.next < len(work.records) else None
        ticket, self.ticket = self.ticket, 0
        if record is None or record[0] != TASK:
            return
        if not work.results or work.results[-1][4] != record[2]:
            if ticket != record[2] and record[2] not in self._stopped:
                return  # it has not begun: it is begun again
            work.results.append(_interrupted(record[2], _now()))
        work.next += 1

    def leave(self) -> None:
        """The caller has gone."""
        self.surroundings.leave()
        self.speech.leave()


class _Work:
    """A pack while it runs. `results` grows by one whole outcome at a time, whatever interrupts."""

    def __init__(self, number: int, records: list[tuple[int, ...]], data: memoryview, end: int) -> None:
        self.number = number
        self.stop = len(records)  # the last record that is to be begun
        self.records = records
        self.data = data
        self.end = end
        self.next = 0  # record in hand
        self.results: list[tuple[Any, ...]] = []

    def reply(self, frames: list[bytes], begun: int) -> bytes:
        join = OUTCOME.pack
        records = b"".join([join(*result[:9]) for result in self.results])
        data = [result[9] for result in self.results if result[9] is not None]
        tasks = sum(result[0] == TASK for result in self.results)
        return pack.encode_reply(records, tasks, frames, data, begun, _now())


_INTERRUPTED = encode_error(KeyboardInterrupt(), "?")


def _interrupted(ticket: int, now: int) -> tuple[Any, ...]:
    return TASK, ERROR, 1, 0, ticket, len(_INTERRUPTED), now, now, now, _INTERRUPTED
