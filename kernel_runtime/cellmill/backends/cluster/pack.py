"""The bytes between kernel and remote workers: packs of tasks one way, replies the other, messages beside them.

A pack is a list of buffers: a head, records (csched_packed_t) and what they point to. A reply is a head, records
(csched_outcome_t), what was printed (as in `output_frames`), and the results one after another: in one buffer, or in
several where results are large.
Neither is pickled: only the payloads in them are, and those the scheduler does not look into.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, NamedTuple

PROTOCOL = 1
PACKED = struct.Struct("=IIQIIIIQQ")  # kind, function, ticket, count, inputs, alone, 0, at, size
OUTCOME = struct.Struct(
    "=IIIIQQQQQQ"
)  # kind, status, failures, marks, ticket, size, received, started, finished, stays
INPUT = struct.Struct("=QQ")  # status, size
PAGE = struct.Struct("=QQQ")  # what runs: ticket, element, since when
TASK, FUNCTION, CONTROL = 1, 2, 3  # kinds, as CSCHED_ has them
VALUE, NONE, ERROR = 0, 1, 2  # statuses, the same
UNNAMED = "cellmill"  # what clusters show of packs without a function
HELLO, TASKS = 0, 1  # kinds of packs
CONTEXT, CALL, LEAVE = 2, 3, 4  # requests, by control records (as `worker` has them) and messages
MODULES = 10  # a request as well
INTERRUPT, WITHDRAW, MEASURE, PROFILE, GIVE_UP = 5, 6, 7, 8, 9  # messages alone
APART = 64 << 10  # bytes, from which on a part of a reply is a buffer of its own
_PACK_HEAD = struct.Struct("=4sHH16sQQQ")
_REPLY_HEAD = struct.Struct("=4sIQQQQ")
_MAGIC = b"CMP1"


class PackHead(NamedTuple):
    """Head of a pack. ``runner`` is the lane, within which functions are known by number."""

    protocol: int
    kind: int
    token: bytes  # of the backend, 16 bytes
    runner: int
    number: int  # of the pack: later ones at a runner have larger numbers
    budget_ns: int  # after so long no other task of the pack is begun

    def encode(self) -> bytes:
        return _PACK_HEAD.pack(
            _MAGIC, self.protocol, self.kind, self.token, self.runner, self.number, self.budget_ns
        )


def pack_head(buffer: bytes | memoryview) -> PackHead:
    """Read it; raises `ValueError` for bytes that are none."""
    magic, *fields = _PACK_HEAD.unpack_from(buffer)
    if magic != _MAGIC:
        raise ValueError("these bytes are no pack of tasks")
    return PackHead(*fields)


class Word(NamedTuple):
    """Content of a pack beside its tasks: a function, or a request (with a number where an answer is wanted)."""

    kind: int
    number: int
    body: memoryview


def words(records: bytes, data: bytes) -> list[Word]:
    """Return the words of a pack, in their order."""
    view, rows = memoryview(data), PACKED.iter_unpack(records)
    return [Word(kind, number, view[at : at + size]) for kind, number, *_, at, size in rows if kind != TASK]


def with_words(first: list[Word], records: bytes, data: bytes) -> tuple[bytes, bytes]:
    """The pack that says these before all else."""
    rows, at = [], len(data)
    for word in first:
        rows.append(PACKED.pack(word.kind, word.number, 0, 0, 0, 0, 0, at, word.body.nbytes))
        at += word.body.nbytes
    return b"".join([*rows, records]), b"".join([data, *(word.body for word in first)])


class Reply(NamedTuple):
    """``begun`` and ``ended``: when the pack came there and its reply left, by the clock of the remote worker."""

    records: memoryview
    frames: memoryview
    data: list[memoryview]  # one after another
    begun: int
    ended: int
    tasks: int  # among the records, the others being replies to requests

    @property
    def rows(self) -> int:
        return self.records.nbytes // OUTCOME.size

    def mean_ns(self) -> float:
        """Mean duration of the pack's tasks in nanoseconds; 0 if it has none."""
        if not self.tasks:
            return 0.0
        first = OUTCOME.unpack_from(self.records)
        at = self.records.nbytes - OUTCOME.size
        while OUTCOME.unpack_from(self.records, at)[0] != TASK:
            at -= OUTCOME.size
        finished = OUTCOME.unpack_from(self.records, at)[8]
        return float(max(1, finished - (first[6] or self.begun))) / self.tasks


class ReplyParts(list[Any]):
    """The buffers of a reply. Its pickle is that of a plain list, which has the large ones beside it."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if protocol < 5:
            return list, ([bytes(part) for part in self],)
        apart = pickle.PickleBuffer
        return list, ([part if len(part) < APART else apart(memoryview(part).toreadonly()) for part in self],)


def encode_reply(
    records: bytes,
    tasks: int,
    frames: list[bytes],
    data: list[bytes | memoryview],
    begun: int,
    ended: int,
) -> bytes | ReplyParts:
    """Encode a reply. Large parts of its data are not copied; all others are joined."""
    shown = b"".join(frames)
    together: list[Any] = [
        _REPLY_HEAD.pack(_MAGIC, tasks, len(records), len(shown), begun, ended),
        records,
        shown,
    ]
    if max(map(len, data), default=0) < APART:
        return b"".join(together + data)
    parts = ReplyParts()
    for part in data:
        if len(part) < APART:
            together.append(part)
            continue
        if together:
            parts.append(b"".join(together))
            together = []
        parts.append(part)
    if together:
        parts.append(b"".join(together))
    return parts


def joined_reply(reply: bytes | ReplyParts) -> bytes:
    """Return a reply as one buffer."""
    return b"".join(reply) if isinstance(reply, list) else reply


def reply_size(reply: Any) -> int:
    """Return how many bytes a reply has."""
    return sum(memoryview(part).nbytes for part in (reply if isinstance(reply, list) else [reply]))


def decode_reply(reply: Any) -> Reply:
    """Views of the parts of a reply: bytes, or a list of them; raises `ValueError` for bytes that are none."""
    first, *others = reply if isinstance(reply, list) else [reply]
    view = memoryview(first).cast("B")
    magic, tasks, records, frames, begun, ended = _REPLY_HEAD.unpack_from(view)
    at = _REPLY_HEAD.size
    if magic != _MAGIC or records % OUTCOME.size or at + records + frames > view.nbytes:
        raise ValueError("these bytes are no reply to a pack")
    shown = at + records
    data = [view[shown + frames :], *(memoryview(other).cast("B") for other in others)]
    return Reply(view[at:shown], view[shown : shown + frames], data, begun, ended, tasks)
