"""Work of a remote worker in hand: a pack whose tasks run one after another, and their outcomes."""

from __future__ import annotations

import pickle
from typing import Any

from ....serialization import payload
from ....serialization.exceptions import encode_error
from .. import clocks, pack
from ..pack import ERROR, INPUT, NONE, OUTCOME, TASK
from ..values.own_memory import own_copy


class Work:
    """A pack while it runs. `results` grows by one whole outcome at a time, whatever interrupts."""

    def __init__(
        self, number: int, records: list[tuple[int, ...]], data: memoryview, begun: int, end: int
    ) -> None:
        self.number = number
        self.given_up = False  # the caller awaits nothing of it any more
        self.begun = begun
        self.stop = len(records)  # the last record that is to be begun
        self.records = records
        self.data = data
        self.end = end
        self.next = 0  # record in hand
        self.heard = 0  # behind the last one that is begun: those that tell something are heard up to here
        self.results: list[tuple[Any, ...]] = []

    def reply(self, frames: list[bytes]) -> bytes | pack.ReplyParts:
        """Encode the outcomes so far."""
        join, results = OUTCOME.pack, self.results[:]  # it may grow meanwhile
        records = b"".join([join(*result[:10]) for result in results])
        data: list[Any] = []
        for result in results:
            if type(result[10]) is list:
                data += result[10]
            elif result[10] is not None:
                data.append(result[10])
        tasks = sum(result[0] == TASK for result in results)
        return pack.encode_reply(records, tasks, frames, data, self.begun, clocks.now())


_INTERRUPTED = encode_error(KeyboardInterrupt(), "?")


def interrupted(ticket: int, now: int) -> tuple[Any, ...]:
    """The outcome of a task that ended by KeyboardInterrupt."""
    return TASK, ERROR, 1, 0, ticket, len(_INTERRUPTED), now, now, now, 0, _INTERRUPTED


def arguments(data: memoryview, at: int, size: int, inputs: int) -> Any:
    """Unpickle a task's arguments: ``size`` bytes at offset ``at`` of ``data``, followed by ``inputs`` results that it
    takes.
    """
    view = data[at : at + size]
    if not inputs:
        return pickle.loads(view) if size < payload.BUFFER_MIN else payload.decode_own(view, _copied(view))
    places = []
    at += size
    for _ in range(inputs):
        at = (at + 7) & ~7
        status, length = INPUT.unpack_from(data, at)
        at += INPUT.size
        places.append((status, data[at : at + length]))
        at += length
    payload.inputs.loading = lambda i, common: (
        None if places[i][0] == NONE else payload.decode_own(places[i][1], _copied(places[i][1]), common)
    )
    try:
        return payload.decode_own(view, _copied(view))
    finally:
        payload.inputs.loading = None


def _copied(view: memoryview) -> payload.Area:
    """Return what copies a part of a payload for one holder."""
    return lambda at, size: memoryview(own_copy(view[at : at + size]))
