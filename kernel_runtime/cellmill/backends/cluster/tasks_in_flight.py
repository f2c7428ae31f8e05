"""Tasks that a lane has taken from its ring: each has an outcome in the end, or goes back to the scheduler."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...errors import PayloadError
from ...serialization.exceptions import encode_error
from ..scheduled.scheduler import check, nogil, nogil_ffi, with_gil
from . import pack


class Taken:
    """Tasks that one lane has taken from its ring, oldest first; used by its relay thread alone."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __len__(self) -> int:
        return int(nogil.csched_lane_outstanding(self._handle))

    def publish(self, reply: pack.Reply, ahead: int) -> bool:
        """Publish outcomes for the oldest tasks. ``ahead``: the remote clock's offset in nanoseconds. Returns False
        once the scheduler has stopped.
        """
        at, records, data = 0, reply.records, reply.data
        count = reply.rows
        while True:
            n = self._publish(count - at, records, at, data, ahead)
            if n == with_gil.CSCHED_ESTOPPED:
                return False
            check(n, "publishing what came from a cluster")
            at += n
            if at == count:
                return True
            records, data = _too_large(records, data, at, n)

    def fail(self, count: int, problem: BaseException) -> None:
        """Publish a failure for the ``count`` oldest tasks."""
        failed = encode_error(problem, "the task")
        tickets = nogil_ffi.new("uint64_t[]", max(1, count))
        n = int(nogil.csched_lane_oldest(self._handle, count, tickets))
        now = time.monotonic_ns()
        rows = b"".join(
            pack.OUTCOME.pack(pack.TASK, pack.ERROR, 1, 0, tickets[i], len(failed), now, now, now, 0)
            for i in range(n)
        )
        self._publish(n, rows, 0, [failed] * n, 0)

    def _publish(self, count: int, records: Any, at: int, data: Sequence[Any], ahead: int) -> int:
        buffers = [nogil_ffi.from_buffer(part) for part in data]
        return int(
            nogil.csched_lane_publish(
                self._handle,
                count,
                nogil_ffi.cast("csched_outcome_t *", nogil_ffi.from_buffer(records)) + at,
                nogil_ffi.new("csched_part_t[]", [(buffer, len(buffer)) for buffer in buffers]),
                len(buffers),
                ahead,
            )
        )

    # -- back to the scheduler

    def give_back(self, count: int) -> None:
        """Give back the oldest tasks, which have not begun."""
        check(nogil.csched_lane_give_back(self._handle, count, 0), "tasks that come back")

    def give_back_newest(self, count: int) -> None:
        """Give back the newest tasks, which have not begun."""
        check(nogil.csched_lane_take_back(self._handle, count), "tasks that come back")

    def give_back_suspects(self, count: int, dead: bool) -> None:
        """All go back; among so many of the oldest is the one that ran. ``dead``: it may have killed its worker, so
        each of them is sent alone.
        """
        outstanding = len(self)
        suspects = min(count, outstanding)
        nogil.csched_lane_give_back(self._handle, suspects, dead)
        nogil.csched_lane_give_back(self._handle, outstanding - suspects, 0)

    def give_back_but(self, ticket: int, element: int) -> None:
        """Give back all tasks but the one that ran, at this element of it; 0: none ran."""
        outstanding = len(self)
        tickets = nogil_ffi.new("uint64_t[]", outstanding)
        nogil.csched_lane_oldest(self._handle, outstanding, tickets)
        before = (
            next((i for i in range(outstanding) if tickets[i] == ticket), outstanding)
            if ticket
            else outstanding
        )
        nogil.csched_lane_give_back(self._handle, before, 0)
        if before < outstanding:
            nogil.csched_lane_blame(self._handle, element)
            nogil.csched_lane_give_back(self._handle, outstanding - before - 1, 0)


def _too_large(
    records: memoryview, data: list[memoryview], at: int, published: int
) -> tuple[memoryview, list[memoryview]]:
    """The result at this place finds no room here: an error takes it."""
    rows = list(pack.OUTCOME.iter_unpack(records))
    used = sum(r[3] * 8 + r[5] for r in rows[at - published : at])
    row = rows[at]
    size = row[3] * 8 + row[5]
    problem = PayloadError(
        f"no room for a result of {row[5]:,} bytes in the kernel, in memory or on disk. Return it in parts, let go "
        "of earlier results, free the disk, or name another by TMPDIR."
    )
    failed = encode_error(problem, "the task")
    rows[at] = (row[0], pack.ERROR, 1, 0, row[4], len(failed), *row[6:])
    rest = [memoryview(failed), *_behind(data, used + size)]
    return memoryview(b"".join(pack.OUTCOME.pack(*r) for r in rows)), rest


def _behind(parts: Iterable[memoryview], used: int) -> Iterator[memoryview]:
    """Yield what follows the first ``used`` bytes."""
    for part in parts:
        yield part[used:]
        used = max(0, used - len(part))
