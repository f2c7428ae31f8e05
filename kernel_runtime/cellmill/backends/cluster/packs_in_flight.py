"""Packs on their way: sent to a remote worker, and not replied to."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from .engines.protocol import RemoteWorker
from .pack import Reply, Word, decode_reply


class PackOwner(Protocol):
    """The lane that a pack was sent by."""

    remote: RemoteWorker

    def answered(self, number: int, answer: Any, error: BaseException | None) -> None: ...

    def lose(self, reason: str) -> None: ...


class SentPack:
    """A pack that was sent."""

    __slots__ = ("answer", "asked", "error", "given_up", "number", "sent", "tasks", "words")

    def __init__(self, number: int, tasks: int, words: Sequence[Word] = ()) -> None:
        self.number = number
        self.tasks = tasks
        self.sent = time.monotonic()
        self.asked = False  # whether what has not begun of it was withdrawn
        self.given_up = False  # what it had done by then has come
        self.answer: Any = None
        self.error: BaseException | None = None
        self.words = words

    @property
    def over(self) -> bool:
        """There is an answer, or a reason why none comes."""
        return self.answer is not None or self.error is not None


class SentPacks:
    """The packs of all lanes that were sent, by number; called from any thread."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lanes: dict[int, PackOwner] = {}
        self._abandoned: dict[int, RemoteWorker] = {}  # by a pack that still runs where it could not be ended
        self._lock = threading.Lock()

    def add(self, lane: PackOwner) -> int:
        """Register the lane's next pack; return its number."""
        number = next(self._numbers)
        with self._lock:
            self._lanes[number] = lane
        return number

    def take(self, number: int) -> tuple[PackOwner | None, RemoteWorker | None]:
        """Forget a pack that is over; return its owner and the remote worker that becomes free by its end."""
        with self._lock:
            return self._lanes.pop(number, None), self._abandoned.pop(number, None)

    def abandon(self, lane: PackOwner) -> bool:
        """Note that the lane's remote worker becomes free when the last pack that was sent there is over. False: it is
        free.
        """
        with self._lock:
            left = [number for number, sent in self._lanes.items() if sent is lane]
            if left:
                self._abandoned[left[-1]] = lane.remote
            return bool(left)

    @property
    def abandoned(self) -> list[Hashable]:
        """Return the remote workers where a pack runs out."""
        with self._lock:
            return [remote.key for remote in self._abandoned.values()]

    def gone(self, key: Hashable) -> None:
        """Forget abandoned packs of a lost remote worker, which never becomes free."""
        with self._lock:
            self._abandoned = {n: remote for n, remote in self._abandoned.items() if remote.key != key}


def reply_to(sent: SentPack) -> Reply | BaseException:
    """Or why there is none."""
    if sent.error is not None:
        return sent.error
    try:
        return decode_reply(sent.answer)
    except Exception as error:
        return error
