"""A worker process: take a task, unpickle, run, pickle, publish; again.

Stamps, claims and waits are C (csched/src/worker.c), and so is the loop over plain calls (csched/python/calls.c). This
file is the rest of a task's path: whatever needs more care than a call with small arguments and a small result.
"""

from __future__ import annotations

import contextlib
import pickle
import signal
import struct
import sys
import threading
import weakref
from collections import OrderedDict
from functools import partial
from multiprocessing.process import current_process
from typing import TYPE_CHECKING, Any

from ..backends.scheduled.scheduler import NO_BLOCK, ffi, nogil, nogil_cast, with_gil
from ..by_value import import_log, pickling, stream_looks, watched
from ..by_value.argument_names import call_pickled, found_by_name
from ..by_value.first_calls import FirstCalls
from ..by_value.watched import CHANGES
from ..by_value.worker_data import globals_made_here, noting_own
from ..errors import InternalError, PayloadError
from ..process_context.context import adopt
from ..process_context.interrupts import loads_module
from ..process_context.settings import under
from ..randomness.generators import streams_of_their_own
from ..serialization import payload, read_only
from ..serialization.exceptions import encode_error
from ..serialization.function_code import load_function
from ..serialization.shared import Loaded
from ..serialization.unpacked import callee
from ..serialization.unpicklable import encode_rest
from . import fork
from .blocks import Blocks
from .output_capture import OutputCapture
from .plain_calls import PlainCalls
from .profiler import Profiler
from .protocol import CALL, CONTEXT, IMPORTS, INITIALIZER_FAILED, LOADS, STOP

if TYPE_CHECKING:
    from types import FrameType

    from ..serialization.chunk_outcomes import Outcomes, Unsent

ITEM = struct.Struct("=IIIIQQQII")
MOST_FUNCTIONS = 256
MOST_CALLS = 256  # in C one after another, before signals are heard again

current: Worker | None = None

# The calls of every task, bound once: each look-up on a cffi library costs as much as a short call.
_STARTED, _FINISHED = with_gil.csched_worker_started, with_gil.csched_worker_finished
_CALLS, _PUBLISH, _RAISED = (
    with_gil.csched_worker_calls,
    with_gil.csched_worker_publish,
    with_gil.CSCHED_RAISED,
)
_UNSENT = (with_gil.CSCHED_EFULL, with_gil.CSCHED_EOUTPUT)
_ASIDE = (with_gil.CSCHED_RAISED, with_gil.CSCHED_RETURNED, *_UNSENT)
_TASK, _FUNCTION, _NONE, _VALUE = (
    with_gil.CSCHED_TASK,
    with_gil.CSCHED_FUNCTION,
    with_gil.CSCHED_NONE,
    with_gil.CSCHED_VALUE,
)
_NULL, _CHARS = ffi.NULL, ffi.typeof("char *")
_NOTHING: dict[str, Any] = {}
_EAGAIN, _EFULL, _ESTOPPED = with_gil.CSCHED_EAGAIN, with_gil.CSCHED_EFULL, with_gil.CSCHED_ESTOPPED
_EOUTPUT, _AGAIN = with_gil.CSCHED_EOUTPUT, (with_gil.CSCHED_EAGAIN, with_gil.CSCHED_EOUTPUT)


class Worker:
    """The loop of one worker process."""

    def __init__(self, fds: list[int], pipes: list[int], kernel_pidfd: int, config: dict[str, Any]) -> None:
        out = ffi.new("csched_worker_t **")
        if with_gil.csched_worker_attach(ffi.new("int[4]", fds), out) < 0:
            raise InternalError("a worker could not attach to its memory")
        self.handle = out[0]
        self.nogil_handle = nogil_cast("csched_worker_t *", int(ffi.cast("uintptr_t", self.handle)))
        self.index = int(with_gil.csched_worker_index(self.handle))
        self.config = config
        self.blobs: dict[int, memoryview] = {}
        self.function_memory: dict[int, weakref.ref[Any]] = {}  # of those read in place
        self.functions: OrderedDict[int, Any] = OrderedDict()
        self.names: dict[int, str] = {}
        self.shares = Loaded(self.blobs).here()
        self.item = ffi.new("csched_item_t *")
        watched.here.tell = self.tell_change
        stream_looks.looked_at = frozenset((stream_looks.RANDOM, stream_looks.NUMPY))
        payload.inputs.thawing = read_only.thawed
        self.output = OutputCapture(
            pipes, self.handle, self.item, lambda: self.emit(with_gil.CSCHED_OUTPUT, 0, b"")
        )
        self.end_output = self.output.end
        self.show_output = self.output.show
        self.unsent: Unsent | None = None
        self._emitting = threading.RLock()  # two threads may: see `chunk_outcomes.Unsent`
        self._sender = self.send_aside  # borrowed by C
        with_gil.csched_worker_sender(self.handle, ffi.cast("void *", id(self._sender)))
        self.profiler = Profiler(self.handle, Worker.run.__code__, self.output.channel.send_profile)
        if with_gil.csched_worker_watch(self.handle, kernel_pidfd) < 0:
            raise InternalError("a worker could not start its watching thread")
        self.in_place: list[weakref.ref[Any]] = []  # memory of the current task's inputs
        # (ticket or function, memory) still referred to
        self.pinned: list[tuple[int, list[weakref.ref[Any]]]] = []
        self.in_user_code = False
        self.failures = 1  # that an error tells; 0 when the arguments could not be unpickled, and nothing ran
        self.blocks = Blocks(self.handle, self.nogil_handle)
        self._input_out = (ffi.new("uint32_t *"), ffi.new("uint64_t[2]"))
        self.calls = PlainCalls(self.functions, self.output.spoke)
        self.imports = import_log.log or import_log.start_log()
        self.imports.tell_to(self.send_imports, self.send_load)

    # -- the loop

    def run(self) -> int:
        """Serve until the kernel retires this worker; the exit code."""
        item = self.item
        fields = ffi.buffer(item)
        unpack = ITEM.unpack_from
        spin = self.config["spin_us"]
        awaited, nogil_handle = nogil.csched_worker_await, self.nogil_handle
        while True:
            try:
                self.in_user_code = True
                rc = _CALLS(self.handle, self.calls.form, MOST_CALLS, spin, item)
                self.in_user_code = False
                self.output.streams.look()
                if rc == _EAGAIN:  # nothing there, so sleep without the GIL; what comes is taken with it
                    if awaited(nogil_handle, 500) == _EAGAIN:
                        self.unpin()
                        self.imports.tell()
                    continue
                if rc == _ESTOPPED:
                    return 0
                kind, _, function, count, _, address, size, inputs, _ = unpack(fields)
                if rc in _ASIDE:
                    self.finish(rc, function)
                elif rc < 0:
                    raise InternalError(f"a worker cannot use its rings ({rc})")
                elif kind == _TASK:
                    self.task(function, count, address, size, inputs)
                    if self.pinned:
                        self.unpin()
                elif kind == _FUNCTION:
                    self.learn(function, address, size)
                elif self.control(function, self.memory(address, size)):
                    return 0
            except KeyboardInterrupt as error:
                self.in_user_code = False
                self.calls.aside.clear()
                if with_gil.csched_worker_current(
                    self.handle
                ):  # it came while the task's outcome was being stored
                    self.publish_error(error, self.names.get(int(item.function), "?"))

    def finish(self, how: int, number: int) -> None:
        """The end of a plain call that raised, printed, returned more than a small value, or found no room for it."""
        outcome: Any = (
            self.calls.aside.pop() if self.calls.aside else MemoryError("the outcome could not be kept")
        )
        if how in _UNSENT:
            if how == _EOUTPUT:
                self.end_output(native=True)
            self.publish(_NONE if outcome is None else _VALUE, 0, outcome or b"")
            return
        _FINISHED(self.handle)
        if how == _RAISED:
            self.publish_error(outcome, self.name(number))
        else:
            self.end_output()
            self.publish_value(outcome, number)

    @staticmethod
    def memory(address: int, size: int) -> memoryview:
        return memoryview(ffi.buffer(ffi.cast("char *", address), size))

    def learn(self, number: int, address: int, size: int) -> None:
        """Remember a function's pickle, which is in shared memory or is copied from the ring; it is unpickled at its
        first use.

        One of no bytes is to be forgotten; its memory is let go of as soon as nothing made from it refers to it.
        """
        if not size:
            for known in (self.functions, self.blobs, self.names, self.shares):
                known.pop(number, None)
            if number in self.function_memory:
                self.pinned.append((number, [self.function_memory.pop(number)]))
                self.unpin()
            return
        buffer = ffi.buffer(ffi.cast(_CHARS, address), size)
        view = memoryview(buffer)
        if size > payload.INLINE_MAX or payload.has_buffers(view):
            self.function_memory[number] = weakref.ref(buffer)
        else:
            view = memoryview(bytes(view))
        self.blobs[number] = view

    def function(self, number: int) -> Any:
        found = self.functions.get(number)
        if found is None:
            blob = load_function(self.blobs[number])
            found = blob.function
            self.names[number] = blob.name
            self.functions[number] = found
            if type(found) is FirstCalls:
                # It does not refer to what is found: with a cycle its memory would be let go of late.
                found.spent = partial(self._without_looks, number)
            if len(self.functions) > MOST_FUNCTIONS:
                self.functions.popitem(last=False)
        return found

    def _without_looks(self, number: int) -> None:
        found = self.functions.get(number)
        if type(found) is FirstCalls:
            self.functions[number] = found.__wrapped__

    # -- one task

    def task(self, number: int, count: int, address: int, size: int, inputs: int) -> None:
        """Run one task that is no plain call, and publish what came of it."""
        function: Any = self.functions.get(number)
        try:
            self.in_user_code = True  # unpickling may run code of the user's
            arguments: Any = ()
            kwargs: dict[str, Any] = _NOTHING
            if size or function is None:
                if function is None and number:
                    function = self.function(number)
                arguments = self.arguments(address, size, inputs) if size else ()
                if type(arguments) is dict:
                    from .chunk import run_chunk

                    function = arguments.get("function", function)
                    with under(arguments.get("settings")), found_by_name(arguments.get("names")):
                        run_chunk(self, function, self.name(number), count, arguments)
                    return
                if type(arguments) is list:
                    function = callee(arguments, function)
                    arguments, kwargs = arguments[-2:]
                _STARTED(self.handle)  # else it has started when it was received
            value = function(*arguments, **kwargs)
            self.in_user_code = False
        except BaseException as error:
            self.in_user_code = False
            _FINISHED(self.handle)
            arguments = kwargs = None  # type: ignore[assignment]
            self.publish_error(error, self.name(number, function))
            return
        arguments = kwargs = None  # type: ignore[assignment]
        _FINISHED(self.handle)
        self.end_output()
        self.publish_value(value, number, function)

    def name(self, number: int, function: Any = None) -> str:
        """A task's function for people; ``function`` is the one that came along with a call, number 0."""
        if number or function is None:
            return self.names.get(number, "?")
        return str(getattr(function, "__qualname__", type(function).__name__))

    def arguments(self, address: int, size: int, inputs: int) -> Any:
        """A task's payload, the results of other tasks that it takes put in."""
        try:
            if not inputs:
                return self.load(address, size)
            payload.inputs.loading = self.load_input
            return self.load(address, size)
        except BaseException:
            self.failures = 0  # the kernel sends a chunk again in parts
            raise
        finally:
            if inputs:
                payload.inputs.loading = None

    def load_input(self, position: int, common: bool) -> Any:
        """The result of another task; ``common``: several elements of the chunk in hand have it."""
        status, place = self._input_out
        rc = with_gil.csched_worker_input(self.handle, position, status, place, place + 1)
        if rc < 0:
            raise InternalError(f"input {position} of a task cannot be read ({rc})")
        if status[0] == with_gil.CSCHED_NONE:
            return None
        return self.load(int(place[0]), int(place[1]), common)

    # -- inputs read in place

    def load(self, address: int, size: int, common: bool = False) -> Any:
        """Unpickle a payload for the task in hand; large arrays in it are noticed as long as they live.

        ``common``: see `payload.decode_own`.
        """
        buffer = ffi.buffer(ffi.cast(_CHARS, address), size)
        if size < payload.BUFFER_MIN:
            return pickle.loads(buffer)
        return payload.decode_own(
            memoryview(buffer), partial(self.blocks.own, self.in_place, address), common
        )

    def pin_inputs(self) -> int:
        """CSCHED_PINS for the status of the current task if something still refers to its inputs, else 0."""
        alive = [memory for memory in self.in_place if memory() is not None]
        self.in_place.clear()
        if not alive:
            return 0
        self.pinned.append((int(with_gil.csched_worker_current(self.handle)), alive))
        return int(with_gil.CSCHED_PINS)

    def unpin(self) -> None:
        """Tell the kernel which pinned inputs nothing refers to any more."""
        for entry in list(self.pinned):
            if all(memory() is None for memory in entry[1]):
                self.pinned.remove(entry)
                while with_gil.csched_worker_unpin(self.handle, entry[0]) == _EAGAIN:
                    pass

    def publish_value(self, value: Any, number: int, function: Any = None) -> None:
        if value is None:
            self.publish(_NONE, 0, b"")
            return
        try:
            try:
                encoded = payload.encode(value)
            except BaseException as error:
                encoded = encode_rest(self.name(number, function), value, error)
            self.publish(_VALUE, 0, encoded)
        except PayloadError as error:
            self.publish_error(error, self.name(number, function))

    def publish_error(self, error: BaseException, name: str) -> None:
        self.end_output()
        failures, self.failures = self.failures, 1
        self.publish(with_gil.CSCHED_ERROR, failures, encode_error(error, name))

    encode_error = staticmethod(encode_error)

    @staticmethod
    def encode_outcomes(outcomes: Outcomes, name: str) -> payload.Encoded:
        """See `chunk.Runner`."""
        return outcomes.encode(name)

    def publish(self, status: int, failures: int, encoded: payload.Encoded | bytes) -> None:
        """Put a result where the kernel finds it; waits, interruptibly, while its ring is full."""
        data, size, block = self.placed(encoded)
        if self.in_place:
            status |= self.pin_inputs()
        while (rc := _PUBLISH(self.handle, status, failures, data, size, block)) in _AGAIN:
            if rc == _EOUTPUT:
                self.end_output(native=True)
        _check_write(rc)

    def emit(self, kind: int, detail: int, encoded: payload.Encoded | bytes) -> None:
        """Send a message beside the results; waits as `publish` does."""
        self._emit(with_gil.csched_worker_emit, kind, detail, encoded)

    def partial(self, end: int, failures: int, encoded: payload.Encoded) -> None:
        """Send outcomes of a chunk's elements before ``end``; ``failures`` of all these have failed."""
        self._emit(with_gil.csched_worker_partial, end, failures, encoded)

    def _emit(self, send: Any, one: int, two: int, encoded: payload.Encoded | bytes) -> None:
        with self._emitting:
            data, size, block = self.placed(encoded)
            while (rc := send(self.handle, one, two, data, size, block)) == _EAGAIN:
                pass
        _check_write(rc)

    def send_aside(self) -> None:
        """Send outcomes while the main thread is in user code. C calls it, in a thread that is none of `threading`'s.

        What cannot be sent now is sent, or its error told, at the end of the chunk.
        """
        unsent = self.unsent
        if unsent is not None:
            with contextlib.suppress(Exception):
                unsent.send(aside=True)

    def placed(self, encoded: payload.Encoded | bytes) -> tuple[Any, int, int]:
        """Return how a payload is handed over: its bytes, its size, the block it was written to."""
        if isinstance(encoded, bytes):
            encoded = payload.Encoded(encoded, [])
        if encoded.buffers or encoded.size > payload.INLINE_MAX:
            return _NULL, encoded.size, self.blocks.store(encoded)
        return encoded.data, encoded.size, NO_BLOCK

    # -- beside tasks

    def on_interrupt(self, _: int, frame: FrameType | None) -> None:
        """SIGINT: raise only in the task it is meant for, and only in user code. The kernel repeats it until it is
        heard.
        """
        if not self.in_user_code or loads_module(frame, Worker.run.__code__):
            return
        if with_gil.csched_worker_interrupted(self.handle):
            with_gil.csched_worker_heard(self.handle)
            raise KeyboardInterrupt

    def send_imports(self, modules: list[import_log.Imported], inherited: bool = False) -> None:
        self.emit(with_gil.CSCHED_REPLY, IMPORTS, pickle.dumps((inherited, modules)))

    def send_load(self, load: import_log.Loaded) -> None:
        """An import has taken a while."""
        self.emit(with_gil.CSCHED_REPLY, LOADS, pickle.dumps(tuple(load)))

    def tell_change(self, function: str, variables: tuple[str, ...], arguments: bool) -> None:
        """A task has changed what stays here."""
        self.emit(with_gil.CSCHED_REPLY, CHANGES, pickle.dumps((function, variables, arguments)))

    def control(self, number: int, view: memoryview) -> bool:
        """A request from the kernel; True ends the worker."""
        kind, body = pickle.loads(view)
        if kind == STOP:
            return True
        if kind == CONTEXT:
            adopt(body, self.config["context"])
            self.config["context"] = body
        elif kind == CALL:
            try:
                function = load_function(memoryview(body)).function
                before = globals_made_here()
                with noting_own(function):
                    reply: Any = (True, watched.bare(function)())
                if globals_made_here() != before:
                    self.functions.clear()  # they are loaded anew, with these
                encoded = payload.encode(reply)
            except BaseException as error:
                encoded = payload.encode((False, encode_error(error, "run_on_workers")))
            self.end_output(native=True)
            self.emit(with_gil.CSCHED_REPLY, number, encoded)
        return False


def _check_write(rc: int) -> None:
    if rc < 0:
        raise InternalError(f"a worker cannot write its results ({rc})")


def main(fds: list[int], pipes: list[int], kernel_pidfd: int, config: dict[str, Any]) -> int:
    """Entry of a forked worker; ``pipes`` are those of `frames.Channel`."""
    global current
    adopt(config["context"])
    current_process().authkey = config["authkey"]  # the kernel's, for its multiprocessing.Manager
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    streams_of_their_own()
    worker = current = Worker(fds, pipes, kernel_pidfd, config)
    fork.watch(worker.handle)
    pickling.main_of_worker = sys.modules["__main__"]
    signal.signal(signal.SIGINT, worker.on_interrupt)
    threading.current_thread().name = f"cellmill-worker-{worker.index}"
    if worker.imports.imported:
        worker.send_imports(list(worker.imports.imported.values()), inherited=True)
    if config.get("initializer"):
        try:
            call_pickled(config["initializer"])
        except BaseException as error:
            worker.emit(with_gil.CSCHED_REPLY, 0, encode_error(error, "the initializer"))
            return INITIALIZER_FAILED
        worker.output.streams.keep()
        worker.end_output(native=True)
    with_gil.csched_worker_ready(worker.handle)
    code = worker.run()
    worker.profiler.tell()
    return code
