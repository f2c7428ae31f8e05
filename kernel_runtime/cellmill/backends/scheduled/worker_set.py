"""The workers of one pool: how many are wanted, which stay, and which end when they have finished what they run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from ...process_context.interrupts import uninterrupted
from ...task import check_worker_count
from .scheduler import Scheduler, with_gil


class Member(Protocol):
    """A worker of a pool."""

    index: int
    retiring: bool


M = TypeVar("M", bound=Member)


class WorkerSet(Generic[M]):
    """Workers by index; ``lock`` guards them.

    ``start_missing``: starts workers until as many stay as are wanted. A Stop that comes between the end of some and
    this call is raised after it, since it would leave fewer workers, or none.
    """

    def __init__(self, scheduler: Scheduler, start_missing: Callable[[], None]) -> None:
        self._scheduler = scheduler
        self._start_missing = start_missing
        self.lock = threading.RLock()
        self.wanted = 0
        self.closed = False
        self.members: dict[int, M] = {}

    def staying(self) -> list[M]:
        """Return the workers that are not about to end; with the lock held."""
        return [member for member in self.members.values() if not member.retiring]

    def missing(self) -> int:
        """Return how many workers are to be started; with the lock held. Fewer than none: so many are too many."""
        return 0 if self.closed else self.wanted - len(self.staying())

    def retire(self, member: M) -> None:
        """Have a worker end when it has finished what it runs; with the lock held."""
        member.retiring = True
        with_gil.csched_worker_retire(self._scheduler.handle, member.index)

    def resize(self, count: int, resized: Callable[[], None] = lambda: None) -> None:
        """Have so many workers; ``resized`` is called with the lock held, before others are started."""
        check_worker_count(count)
        with uninterrupted():
            with self.lock:
                self.wanted = count
                for member in self.staying()[count:]:
                    self.retire(member)
                resized()
            self._start_missing()

    def renew(self, indexes: Iterable[int]) -> None:
        """Start new workers in the place of these."""
        with uninterrupted():
            with self.lock:
                for index in indexes:
                    member = self.members.get(index)
                    if member is not None and not member.retiring:
                        self.retire(member)
            self._start_missing()

    def renew_all(self) -> None:
        """Start new workers in the place of all."""
        self.renew(list(self.members))

    def close(self) -> list[M]:
        """Have all workers end, and start no more; return all that are left."""
        with self.lock:
            self.closed = True
            for member in self.staying():
                self.retire(member)
            return list(self.members.values())
