"""Batches of joblib's calls on their way to a worker: a pickle, and large arrays beside it, each sent once. One call of
numbers and text is a task as it is.

joblib's own workers see a large array as it was when it was first met. Here its bytes are compared with those that were
sent, so that an array that changed between two calls is sent again.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from cffi import FFI
from joblib.parallel import BatchedCalls, parallel_config

from ..diagnostics import notices
from ..diagnostics.naming import call_text, name_call
from ..diagnostics.short_text import HIDDEN_ARGUMENT, counted
from ..errors import PayloadError
from ..process_context import native_threads
from ..randomness import given
from ..serialization import payload
from ..serialization.function_code import function_name
from ..serialization.shared import Shared, attached, detached, share, unshared
from ..serialization.unpicklable import explain_argument

MOST_RUNNERS = 64
Runners = dict[tuple[int, bool], Callable[..., Any]]  # by the identity of the function, which they keep alive
_lasting: Runners = {}  # for functions that hold nothing: another call of joblib.Parallel has them again
_ffi = FFI()


class Packed(NamedTuple):
    """A batch as the argument of a task."""

    data: bytes  # of the calls, and the nested backend: see `SentOnce.packed`
    buffers: list[Any]  # a `pickle.PickleBuffer` each, or a shared one
    shared: tuple[Shared, ...]  # that the calls were given
    size: int  # calls
    threads: int | None  # of native libraries, at most; None: as many as they are set to

    def __repr__(self) -> str:
        return f"<{counted(self.size, 'call')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return payload.labelled, (counted(self.size, "call"), Packed, *self)


class _Sent(NamedTuple):
    copy: bytes
    handle: Shared


class SentOnce:
    """The large buffers of one call of `joblib.Parallel`. Only joblib's dispatch uses it, one thread at a time."""

    def __init__(self, least: int | None) -> None:
        """``least``: bytes of a buffer that is sent once and read in place; None: none is."""
        self._least = least
        self._sent: dict[tuple[int, int], _Sent] = {}
        self._nested: tuple[Any, int | None, bytes] = (None, None, b"")
        self._runners: Runners = {}

    def packed(self, batch: BatchedCalls, threads: int | None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the function and the arguments of the task for a batch; raise `PayloadError` where it has none.
        ``threads``: of native libraries in the task, at most.

        Calls travel in columns: their functions, unless all have the task's, their arguments, and those by name, if
        there are any.
        """
        if len(batch.items) == 1:
            function, args, kwargs = batch.items[0]
            if not kwargs and payload.is_simple(args):
                return self._runner(function, alone=True), (self._around(batch, threads), *args)
        functions = [function for function, _, _ in batch.items]
        args = [args for _, args, _ in batch.items]
        kwargs = [kwargs for _, _, kwargs in batch.items]
        function = functions[0]
        same = all(map(is_, functions, repeat(function)))
        calls = None if same else functions, args, kwargs if any(kwargs) else None
        found: list[payload.Encoded] = []

        def dump() -> bytes:
            found[:] = [payload.encode((calls, batch._backend, batch._n_jobs))]
            return found[0].data

        try:
            data, shared = detached(dump)
        except PayloadError:
            raise
        except Exception as error:
            raise self._explained(batch, error) from error
        (encoded,) = found
        # calls of one batch share their copy of a generator, which goes on there
        given.look(calls, encoded.texts, function_name(function), function)
        if b"memmap" in encoded.texts:
            _look_for_files(batch)
        packed = Packed(data, [self._placed(view) for view in encoded.buffers], shared, len(args), threads)
        return self._runner(function, alone=False) if same else run_any, (packed,)

    def close(self) -> None:
        """Let go of what was sent; tasks that were submitted have it still."""
        for sent in self._sent.values():
            sent.handle.close()
        self._sent.clear()

    def _explained(self, batch: BatchedCalls, error: Exception) -> PayloadError:
        """Say which argument of which call cannot be pickled."""
        for function, args, kwargs in batch.items:
            try:
                payload.encode((function, args, kwargs))
            except Exception as found:
                return explain_argument(function_name(function), args, kwargs, found)
        return explain_argument("the calls of a batch", (), {}, error)

    def _runner(self, function: Callable[..., Any], *, alone: bool) -> Callable[..., Any]:
        """Return what calls this function once, or for each item of a batch: the same one each time, so it travels
        once.
        """
        runners = _lasting if _holds_nothing(function) else self._runners
        found = runners.get((id(function), alone))
        if found is None:
            if len(runners) > MOST_RUNNERS:
                runners.clear()
            found = runners[id(function), alone] = _once(function) if alone else _repeated(function)
        return found

    def _around(self, batch: BatchedCalls, threads: int | None) -> bytes:
        """Return what a call finds around it, see `_once`: the backend of calls inside it, and threads."""
        backend, n_jobs, found = self._nested
        if not found or backend is not batch._backend or n_jobs != batch._n_jobs:
            found = HIDDEN_ARGUMENT + pickle.dumps((batch._backend, batch._n_jobs, threads), 5)
            self._nested = batch._backend, batch._n_jobs, found
        return found

    def _placed(self, view: memoryview) -> pickle.PickleBuffer | Shared:
        if self._least is None or view.nbytes < self._least:
            return pickle.PickleBuffer(view)
        place = _ffi.from_buffer(view)
        key = int(_ffi.cast("uintptr_t", place)), view.nbytes
        sent = self._sent.get(key)
        if sent is None or _ffi.buffer(place, view.nbytes) != sent.copy:
            copy = bytes(view)  # an earlier one is let go of with the last batch that refers to it
            sent = self._sent[key] = _Sent(copy, share(pickle.PickleBuffer(copy)))
        return sent.handle


def _holds_nothing(function: Callable[..., Any]) -> bool:
    """Whether a function has nothing of its own but its code: it may be kept when nothing else refers to it."""
    if type(function) is FunctionType:
        return not (
            function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__
        )
    return type(function) is BuiltinFunctionType and type(function.__self__) is ModuleType


def _look_for_files(batch: BatchedCalls) -> None:
    """Say that a task does not write to the file of an array, as joblib's own processes do."""
    kind = getattr(sys.modules.get("numpy"), "memmap", None)
    for function, args, kwargs in batch.items:
        for value in (*args, *kwargs.values()):
            if type(value) is kind and value.mode in ("r+", "w+"):
                name = function_name(function)
                notices.give(
                    ("array in a file", name),
                    f"{name} is given a numpy.memmap that can be written to. A task has a copy of it: what it writes "
                    "there does not reach the file. Give it the file's name, and open it in the function: "
                    "numpy.memmap(name, mode='r+', ...). This note is shown once.",
                    function,
                )


def _once(function: Callable[..., Any]) -> Callable[..., tuple[Any, float]]:
    """Return what calls a function once in the worker, under the function's name; see `_run` for what it returns."""

    def run(around: bytes, *args: Any) -> tuple[Any, float]:
        began = time.perf_counter()
        backend, n_jobs, threads = pickle.loads(memoryview(around)[len(HIDDEN_ARGUMENT) :])
        with native_threads.limited(threads), parallel_config(backend=backend, n_jobs=n_jobs):
            return function(*args), time.perf_counter() - began

    run.__name__ = run.__qualname__ = function_name(function)
    return run


def _repeated(function: Callable[..., Any]) -> Callable[[Packed], tuple[Any, ...]]:
    """Return what calls one function for each item of a batch in the worker, under the function's name."""

    def run(packed: Packed) -> tuple[Any, ...]:
        return _run(packed, function)

    run.__name__ = run.__qualname__ = function_name(function)
    return run


def run_any(packed: Packed) -> tuple[Any, ...]:
    """Run a batch of calls of several functions in the worker; see `_run` for what it returns."""
    return _run(packed, None)


def _run(packed: Packed, function: Callable[..., Any] | None) -> tuple[Any, ...]:
    """Return the results of a batch, and last the seconds that it took."""
    began = time.perf_counter()
    shared, buffers = unshared((packed.shared, packed.buffers))  # threads of the kernel get the handles
    with attached(shared):
        (functions, args, kwargs), backend, n_jobs = pickle.loads(packed.data, buffers=buffers)
    # one of them has an end
    calls = zip(functions or repeat(function), args, kwargs or repeat({}), strict=False)
    results: list[Any] = []
    with native_threads.limited(packed.threads), parallel_config(backend=backend, n_jobs=n_jobs):
        for called, its_args, its_kwargs in calls:
            try:
                results.append(called(*its_args, **its_kwargs))
            except Exception as error:
                name_call(error, call_text(function_name(called), its_args, its_kwargs, Shared))
                raise
    return *results, time.perf_counter() - began
