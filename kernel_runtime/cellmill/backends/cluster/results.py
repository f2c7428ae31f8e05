"""Values and leases of tasks whose arguments or results stay outside of messages (see `proxies`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...futures import Future, Keeping
from ...serialization.payload import Encoded
from ..scheduled.chunks import Chunk
from ..scheduled.failure_log import FailureLog
from ..scheduled.outcomes import TOLD
from ..scheduled.results import Results
from ..scheduled.scheduler import Completion, Scheduler, with_gil
from ..scheduled.sender import Sender, SenderHost
from ..scheduled.slots import SlotTable
from ..scheduled.worker_exit import Exit
from .values.proxies import Keeper, Kept

ENDED = (with_gil.CSCHED_VALUE, with_gil.CSCHED_NONE, with_gil.CSCHED_ERROR)  # by themselves
KeeperOf = Callable[[], Keeper | None]  # the backend's keeper, once there is one


class CarryingFuture(Future):
    """Future of a call whose arguments are in the store or held for it; it takes the slower path when it is settled."""

    __slots__ = ()


class KeptFuture(Future):
    """Its value is outside until it is asked for, and stays as long as this does: what hangs on it reads it there."""

    __slots__ = ()

    @property
    def _exception(self) -> BaseException | None:
        kept: Kept | None = self.__dict__.get("value")  # just before it is settled there is none
        return None if kept is None else kept.error

    @_exception.setter
    def _exception(self, error: BaseException | None) -> None:
        """It has none; its value may be lost later."""

    def unread(self) -> Kept | None:
        """See `Future`. What was read may have been changed since: tasks get it as it is here."""
        kept: Kept = self.__dict__["value"]
        return None if kept.loaded else kept

    def keep(self, keeping: Keeping) -> None:
        """See `Future`. What tasks find outside stays as it is."""
        kept: Kept = self.__dict__["value"]
        if kept.loaded and self._given is True:
            keeping.keep(kept.load())
        else:
            keeping.outside = kept

    def fetch(self) -> None:
        """See `Future`."""
        with contextlib.suppress(Exception):  # told where the value is asked for
            self.__dict__["value"].load()

    def fetch_within(self, seconds: float) -> bool:
        """See `Future`."""
        kept: Kept = self.__dict__["value"]
        return kept.load_within(seconds)

    @property
    def _result(self) -> Any:
        return self.__dict__["value"].load()

    @_result.setter
    def _result(self, value: Any) -> None:
        self.__dict__["value"] = value

    def __repr__(self) -> str:
        return f"<cellmill.Future finished, {self.__dict__['value'].size:,} bytes>"


class ClusterSender(Sender):
    """Puts what is large outside before it is handed to the scheduler."""

    def __init__(self, host: SenderHost, slots: SlotTable, keeper: KeeperOf) -> None:
        super().__init__(host, slots)
        self.plain.settings.leave_those_of_others()
        self._keeper = keeper

    def hold(self, held: list[Any], entry: Future | Chunk) -> None:
        if type(entry) is Future:
            entry.__class__ = CarryingFuture
        entry.held = held  # type: ignore[union-attr]

    def outside(self, encoded: Encoded, entry: Future | Chunk) -> Encoded:
        keeper = self._keeper()
        if keeper is None:
            return encoded
        encoded, lease = keeper.put(encoded)
        if lease is not None:
            if type(entry) is Future:
                entry.__class__ = CarryingFuture
            entry.lease = lease  # type: ignore[union-attr]
        return encoded


class ClusterResults(Results):
    """Lets go of what a task had outside once it is over."""

    stopped = TOLD

    def __init__(
        self,
        scheduler: Scheduler,
        slots: SlotTable,
        failures: FailureLog,
        names: Mapping[int, str],
        exit_of: Callable[[int], Exit | None],
        keeper: KeeperOf,
    ) -> None:
        super().__init__(scheduler, slots, failures, names, exit_of)
        self._keeper = keeper

    def of_chunk(self, done: Completion) -> Any:
        self._count_arguments(self._slots.entries[done.slot], done)
        keeper = self._keeper()
        if keeper is not None:
            keeper.count = partial(self._count, done, 0)
        return super().of_chunk(done)

    def of_task(self, future: Future, done: Completion) -> tuple[Any, BaseException | None]:
        self._count_arguments(future, done)
        value, error = super().of_task(future, done)
        if type(value) is Kept:
            value.lane = done.worker
            future.__class__ = KeptFuture
            self._count(done, 0, value.size)
        return value, error

    def settled(self, entry: Any) -> None:
        if getattr(entry, "lease", None) is not None:
            entry.lease = None
        if getattr(entry, "held", None) is not None:
            entry.held = None
        keeper = self._keeper()
        if keeper is not None and keeper.taken:
            keeper.settled()

    def _count_arguments(self, entry: Any, done: Completion) -> None:
        lease = getattr(entry, "lease", None)
        if lease is not None and lease.size and done.status in ENDED:
            self._count(done, lease.size, 0)
            lease.size = 0  # they count once, also where the task is tried again

    def _count(self, done: Completion, sent: int, received: int) -> None:
        """Count bytes that are outside of messages. The record of a run is made when its last task is settled."""
        with_gil.csched_account_add(self._scheduler.handle, done.run, done.function, sent, received)
