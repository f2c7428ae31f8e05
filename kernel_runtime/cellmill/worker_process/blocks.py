"""Blocks of a worker: room for what it sends back, and what it got and may write to."""

from __future__ import annotations

import time
import weakref
from functools import partial
from typing import Any

from ..backends.scheduled.scheduler import Fill, ffi, fill, nogil, with_gil
from ..errors import PayloadError
from ..serialization.payload import Encoded

# The wait is short: what lets go of earlier results may be a task that waits for this very one.
MEMORY_PATIENCE_S, DISK_PATIENCE_S = 0.2, 2.0
_CHARS = ffi.typeof("char *")
_EFULL, _ETOOBIG, _EDISK = with_gil.CSCHED_EFULL, with_gil.CSCHED_ETOOBIG, with_gil.CSCHED_EDISK


class Blocks:
    """Blocks for the payloads of one worker: in memory, at once or after a wait for room, or in a file."""

    def __init__(self, handle: Any, nogil_handle: Any) -> None:
        self._handle = handle
        self._free_handle = nogil_handle
        self._full = False
        self._fill: Fill = partial(with_gil.csched_worker_fill, handle)
        self._fill_long: Fill = partial(nogil.csched_worker_fill, nogil_handle)

    def store(self, encoded: Encoded) -> int:
        """Write a payload to a block; its offset. Raises `PayloadError` when there is no room."""
        out = ffi.new("uint64_t[2]")
        end = time.monotonic() + (0 if self._full else MEMORY_PATIENCE_S)
        while (rc := with_gil.csched_worker_alloc(self._handle, encoded.size, out, out + 1)) == _EFULL:
            if time.monotonic() > end:
                break
            time.sleep(0.005)
        self._full = rc == _EFULL  # waiting was of no use: nor will it be until some room has come
        if rc in (_EFULL, _ETOOBIG):
            end += DISK_PATIENCE_S
            while (rc := nogil.csched_worker_spill(self._free_handle, encoded.size, out, out + 1)) == _EDISK:
                if time.monotonic() > end:
                    break
                time.sleep(0.05)
        if rc < 0:
            raise PayloadError(
                f"no room for a result of {encoded.size:,} bytes, in memory or on disk. Return it in parts, let go of "
                "earlier results, free the disk, or name another by TMPDIR."
            )
        fill(self._fill, self._fill_long, int(out[0]), encoded)
        return int(out[0])

    def own(self, lives: list[weakref.ref[Any]], address: int, offset: int, size: int) -> memoryview:
        """Return the part of a payload at this address that its holder may write to; see `payload.Area`. What has to be
        kept meanwhile is added to ``lives``. A copy where another holder, which may have written to it, is still there.
        """
        out, at = ffi.new("uint64_t *"), address + offset
        if with_gil.csched_worker_own(self._handle, at, size, out) < 0:
            return memoryview(bytearray(ffi.buffer(ffi.cast(_CHARS, out[0]), size)))
        # no Python runs when it goes, which an interrupt could leave half done
        end = partial(with_gil.csched_worker_disown, self._handle, at, size)
        memory = ffi.gc(ffi.cast(_CHARS, out[0]), end, size)
        lives.append(weakref.ref(memory))
        return memoryview(ffi.buffer(memory, size))
