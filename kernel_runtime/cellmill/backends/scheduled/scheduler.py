"""The binding to csched: opaque handles, return codes as exceptions, payload views that own their memory.

Calls through ``with_gil`` keep the GIL: they are bounded and do no I/O. Calls through ``nogil`` release it: they sleep
or copy much.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import resource
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ...errors import BackendError, InternalError, PayloadError, UsageError
from ...serialization import payload
from ...serialization.payload import INLINE_MAX, Encoded

try:
    from ... import _csched, _csched_with_gil
except ImportError as error:  # pragma: no cover - a build without the C part
    raise BackendError(
        f"the local backend needs Cellmill's C scheduler, which this installation lacks ({error}). It is built "
        "on Linux (x86-64, arm64) with a C compiler: reinstall with `pip install --force-reinstall cellmill`."
    ) from error

ffi, with_gil = _csched_with_gil.ffi, _csched_with_gil.lib
nogil, nogil_ffi = _csched.lib, _csched.ffi
nogil_cast: Callable[[str, int], Any] = _csched.ffi.cast

NO_BLOCK = 2**64 - 1
COMPLETION = struct.Struct("=IHHIIQQQQII")
MESSAGE = struct.Struct("=IIIIIIQQQQQ")
JOURNEY = struct.Struct("=QIIIHBB8QfI")
NO_WORKER = 2**16 - 1
NO_ELEMENT = 2**32 - 1
BATCH = 1024


class Completion(NamedTuple):
    """End of a task, or of an attempt of it: csched_completion_t, in the format `COMPLETION`."""

    slot: int
    status: int
    worker: int
    detail: int
    elements: int
    blob: int
    address: int
    size: int
    time_ns: int  # in user code; where a limit was reached, that
    function: int
    run: int


_views = itertools.count()
_CHARS = ffi.typeof("char *")
# Bytes from which the GIL is released while they are copied. To get it back beside a busy thread takes up to 5 ms, in
# which time ten times as much is copied.
_LONG_COPY = 8 << 20
_from_buffer = ffi.from_buffer
Fill = Callable[[int, Any, int], int]  # (offset, data, bytes)


class Full(Exception):
    """The memory for payloads is full for now."""


class TooLarge(Full):
    """A payload is larger than the memory for payloads can ever hold."""


class DiskFull(Exception):
    """Nor is there room on disk."""


class Closed(RuntimeError):
    """The scheduler takes no more tasks."""


class StaleInput(Exception):
    """An input was collected between packing and submitting: pack again."""


def check(rc: int, what: str) -> int:
    """Turn a negative return code into the exception it means."""
    if rc >= 0:
        return rc
    if rc == with_gil.CSCHED_EFULL:
        raise Full
    if rc == with_gil.CSCHED_EDISK:
        raise DiskFull
    if rc == with_gil.CSCHED_ESTALE:
        raise StaleInput
    if rc == with_gil.CSCHED_ETOOBIG:
        raise PayloadError(f"{what}: larger than what can be sent at once; send it in parts or by file")
    if rc == with_gil.CSCHED_ESTOPPED:
        raise Closed("cannot schedule new futures after shutdown")
    name = ffi.string(with_gil.csched_error_name(rc)).decode()
    if rc in (with_gil.CSCHED_ENOMEM, with_gil.CSCHED_ESYSTEM):
        code = ffi.errno if rc == with_gil.CSCHED_ESYSTEM else errno.ENOMEM
        raise BackendError(f"{what}: {os.strerror(code)}. {advice(code)}")
    if rc == with_gil.CSCHED_EINVAL:
        raise UsageError(f"{what}: {name}")
    raise InternalError(f"{what}: {name} ({rc}); please report this with what you ran")


def advice(code: int) -> str:
    """Return what to do about an error of the operating system."""
    if code in (errno.EMFILE, errno.ENFILE):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return (
            f"This process may open {limit} files at a time, and a worker takes about seven: raise the limit "
            "(`ulimit -n 4096` in the shell that starts Python or Jupyter), close files, or use fewer workers."
        )
    if not os.path.exists("/proc/self/fd"):
        return (
            "There is no /proc/self/fd, by which Cellmill opens the memory that it shares with workers: /proc is not "
            "mounted here, or hidden. Mount it (`mount -t proc proc /proc`), or have the container show it; "
            'Executor(backend="inline") does without.'
        )
    return "Free memory, or use fewer workers."


class _Life:
    """Lifetime of the C object: it is freed when both the scheduler and the last view of a payload are gone.

    Which of them goes first is not ours to choose where they are garbage of one cycle, with the traceback of an error.
    """

    __slots__ = ("_handles", "_over", "_process", "_views")

    def __init__(self, handle: Any, nogil_handle: Any) -> None:
        self._handles = [(handle, nogil_handle)]
        self._views: set[int] = set()
        self._over = False
        self._process = os.getpid()

    def viewed(self, blob: int) -> Callable[[Any], None]:
        """A view of this payload, which holds a reference, is made; call what this returns when it has gone."""
        handle = self._handles[0][0]
        number = next(_views)
        self._views.add(number)

        def release(_: Any) -> None:
            if os.getpid() == self._process:
                with_gil.csched_blob_release(handle, blob)
                self._views.discard(number)
                self._destroy()

        return release

    def end(self) -> None:
        """The scheduler has gone."""
        self._over = True
        self._destroy()

    def _destroy(self) -> None:
        # in a forked child the memory is the parent's to manage
        if self._over and not self._views and os.getpid() == self._process:
            with contextlib.suppress(IndexError):  # another thread is at it
                nogil.csched_destroy(self._handles.pop()[1])


class Scheduler:
    """One csched_t. Freed with the last payload view that refers to it."""

    def __init__(
        self,
        *,
        arena_bytes: int = 0,
        file_bytes: int = 0,
        ring_bytes: int = 0,
        journey_rows: int = 0,
        spin_us: int = 20,
        worker_tasks: int = 0,
        window_ns: int = 0,
        window_most: int = 0,
    ) -> None:
        config = ffi.new(
            "csched_config_t *",
            {
                "ring_bytes": ring_bytes,
                "arena_bytes": arena_bytes,
                "file_bytes": file_bytes,
                "journey_rows": journey_rows,
                "spin_us": spin_us,
                "helper": 1,
                "worker_tasks": worker_tasks,
                "window_ns": window_ns,
                "window_most": window_most,
            },
        )
        out = ffi.new("csched_t **")
        check(with_gil.csched_create(config, out), "starting the scheduler")
        self.handle = out[0]
        self.nogil_handle = nogil_cast("csched_t *", int(ffi.cast("uintptr_t", self.handle)))
        self._life = _Life(self.handle, self.nogil_handle)
        self._fill: Fill = partial(with_gil.csched_block_fill, self.handle)
        self._fill_long: Fill = partial(nogil.csched_block_fill, self.nogil_handle)
        self._completions = ffi.new("csched_completion_t[]", BATCH)
        self._completion_bytes = memoryview(ffi.buffer(self._completions))
        self._completion_slots = self._completion_bytes.cast("I")[:: COMPLETION.size // 4]
        self._completion_statuses = self._completion_bytes.cast("H")[2 :: COMPLETION.size // 2]
        words = self._completion_bytes.cast("Q")
        self._completion_addresses, self._completion_sizes = (
            words[at :: COMPLETION.size // 8] for at in (3, 4)
        )
        self._passed = ffi.new("int[4]", [-1] * 4)  # on their way to a new worker
        self._messages = ffi.new("csched_message_t[]", BATCH)
        self._message_bytes = memoryview(ffi.buffer(self._messages))

    def __del__(self) -> None:
        life = getattr(self, "_life", None)
        if life is not None:
            life.end()

    # -- payloads

    def store(self, encoded: Encoded) -> int:
        """Copy an encoded payload into a block in memory; returns its offset. Raises `Full` or `TooLarge`."""
        out = ffi.new("uint64_t[2]")
        rc = with_gil.csched_block_alloc(self.handle, encoded.size, out, out + 1)
        if rc == with_gil.CSCHED_ETOOBIG:
            raise TooLarge
        check(rc, f"a payload of {encoded.size:,} bytes")
        return self._filled(int(out[0]), encoded)

    def spill(self, encoded: Encoded) -> int:
        """Copy an encoded payload into a block in a file; returns its offset. Raises `DiskFull`."""
        out = ffi.new("uint64_t[2]")
        rc = nogil.csched_block_spill(self.nogil_handle, encoded.size, out, out + 1)
        check(rc, f"a payload of {encoded.size:,} bytes")
        return self._filled(int(out[0]), encoded)

    def _filled(self, offset: int, encoded: Encoded) -> int:
        fill(self._fill, self._fill_long, offset, encoded)
        return offset

    def drop(self, offset: int) -> None:
        """Give back a block that was stored but not submitted."""
        with_gil.csched_block_free(self.handle, offset)

    def add_function(self, encoded: Encoded) -> int:
        """Register a function's pickle; returns its number."""
        number = ffi.new("uint32_t *")
        if not encoded.buffers and encoded.size <= INLINE_MAX:
            rc = with_gil.csched_function_add(self.handle, encoded.data, encoded.size, NO_BLOCK, number)
        else:
            try:
                offset = self.store(encoded)
            except Full:
                offset = self.spill(encoded)
            rc = with_gil.csched_function_add(self.handle, ffi.NULL, encoded.size, offset, number)
        check(rc, "registering a function")
        return int(number[0])

    @staticmethod
    def buffer(address: int, size: int) -> Any:
        """Memory of a payload, valid until its completion is committed, as what `pickle.loads` takes."""
        return ffi.buffer(ffi.cast(_CHARS, address), size)

    @classmethod
    def view(cls, address: int, size: int) -> memoryview:
        """Memory of a payload as a memoryview, valid until its completion is committed."""
        return memoryview(cls.buffer(address, size))

    def adjust_run(
        self,
        run: int,
        *,
        submitted: int = 0,
        succeeded: int = 0,
        failed: int = 0,
        cancelled: int = 0,
        lost: int = 0,
    ) -> None:
        """Correct a run's counts for what csched does not see; ``lost`` counts among ``failed``."""
        with_gil.csched_run_adjust(self.handle, run, submitted, succeeded, failed, cancelled, lost)

    def drop_function(self, number: int) -> None:
        """Forget a function as soon as no task is left that calls it."""
        with_gil.csched_function_drop(self.handle, number)

    def lasting_view(self, blob: int, address: int, size: int) -> memoryview:
        """Memory of a payload that lives as long as anything refers to the view."""
        with_gil.csched_blob_retain(self.handle, blob)
        owner = ffi.gc(ffi.cast("char *", address), self._life.viewed(blob), size)
        return memoryview(ffi.buffer(owner, size)).toreadonly()

    def own(self, view: memoryview, offset: int, size: int) -> memoryview | None:
        """Return a part of a lasting view that its holder may write to (see `payload.Area`); it keeps the payload
        alive, too.
        """
        whole, out = _from_buffer(view), ffi.new("uint64_t *")
        at = int(ffi.cast("uintptr_t", whole)) + offset
        if with_gil.csched_own(self.handle, at, size, out) < 0:
            return None
        # no Python runs when it goes, which an interrupt could leave half done
        end = partial(with_gil.csched_disown, self.handle, whole, at, size)
        return memoryview(ffi.buffer(ffi.gc(ffi.cast(_CHARS, out[0]), end, size), size))

    def load(self, view: memoryview) -> Any:
        """Unpickle what a lasting view shows, for one holder."""
        return payload.decode_own(view, partial(self.own, view))

    # -- results

    def poll(self, spin_us: int = 0) -> int:
        """Drain; return the number of available completions and messages."""
        return int(with_gil.csched_poll(self.handle, spin_us))

    def wait(self, timeout_ms: int, ticket: int = 0) -> int:
        """Wait without the GIL, for one slice of at most 50 ms, for the result of the task ``ticket`` (0: of any task);
        return what `poll` does.
        """
        return int(nogil.csched_wait_for(self.nogil_handle, ticket, timeout_ms))

    def collect(self) -> int:
        """Copy the oldest completions, at most `BATCH`, to be read; return their number."""
        return int(with_gil.csched_collect(self.handle, BATCH, self._completions))

    def completion(self, place: int) -> Completion:
        """Return one of the completions that `collect` copied."""
        return Completion._make(COMPLETION.unpack_from(self._completion_bytes, place * COMPLETION.size))

    def slot_bytes(self, n: int) -> bytes:
        """The first column of the newest ``n`` completions, as in memory."""
        return self._completion_slots[:n].tobytes()

    def slots_and_statuses(self, n: int) -> tuple[list[int], list[int]]:
        """Two columns of the ``n`` completions just collected, faster than by unpacking each."""
        return self._completion_slots[:n].tolist(), self._completion_statuses[:n].tolist()

    def addresses_and_sizes(self, n: int) -> tuple[list[int], list[int]]:
        """Return two more columns of the ``n`` completions just collected."""
        return self._completion_addresses[:n].tolist(), self._completion_sizes[:n].tolist()

    def messages(self) -> int:
        """Copy the oldest messages, at most `BATCH`, to be read; return their number."""
        return int(with_gil.csched_messages(self.handle, BATCH, self._messages))

    def message_rows(self, n: int) -> memoryview:
        """Return the messages as bytes, in the format `MESSAGE`."""
        return self._message_bytes[: n * MESSAGE.size]

    def journeys(self) -> Iterator[tuple[int, ...]]:
        """Rows of the journey ring, oldest first, in the format `JOURNEY`."""
        cursor, dropped = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        rows = ffi.new("csched_journey_t[]", BATCH)
        while n := with_gil.csched_journeys(self.handle, cursor, BATCH, rows, dropped):
            yield from JOURNEY.iter_unpack(ffi.buffer(rows)[: n * JOURNEY.size])

    def latest_journeys(self, most: int) -> list[tuple[int, ...]]:
        """The newest of them, oldest first, also of tasks whose results are not taken yet."""
        rows = ffi.new("csched_journey_t[]", most)
        n = with_gil.csched_journeys_newest(self.handle, most, rows)
        return list(JOURNEY.iter_unpack(ffi.buffer(rows)[: n * JOURNEY.size]))

    # -- workers

    def add_worker(self) -> tuple[int, list[int]]:
        """A new worker's number and the four descriptors its process needs, to be closed by `close_passed`."""
        index = ffi.new("uint32_t *")
        check(with_gil.csched_worker_add(self.handle, index, self._passed), "adding a worker")
        return int(index[0]), list(self._passed)

    def keep_passed(self) -> None:
        """The new worker lives in this process, and has taken them over."""
        self._passed[0:4] = [-1] * 4

    def close_passed(self) -> None:
        """The new worker has its descriptors, or will not come; also in a child forked meanwhile.

        One call that keeps the GIL: a child forked between the note and `os.close` would keep a descriptor.
        """
        with_gil.csched_passed_close(self._passed)


def fill(short: Fill, long: Fill, offset: int, encoded: Encoded) -> None:
    """Write an encoded payload into the block at ``offset``; ``long`` does it without the GIL."""
    for at, part in encoded.parts(offset):
        size = len(part) if isinstance(part, bytes) else part.nbytes
        if size < _LONG_COPY:
            short(offset + at, part if isinstance(part, bytes) else _from_buffer(part), size)
        else:
            long(offset + at, _csched.ffi.from_buffer(part), size)
