"""Settling tasks whose arguments or results stay outside of messages (see `proxies`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...futures import Future
from ...serialization.payload import Encoded
from ..scheduled.resolver import Resolver
from ..scheduled.scheduler import Completion
from ..scheduled.sender import Sender
from ..scheduled.stream import Chunk
from .values.proxies import Kept

if TYPE_CHECKING:
    from .backend import ClusterBackend


class CarryingFuture(Future):
    """Of a call whose arguments are outside: it is settled with more care than most."""

    __slots__ = ()


class KeptFuture(Future):
    """Its value is outside until it is asked for, and stays as long as this does: what hangs on it reads it there."""

    __slots__ = ()

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

    backend: ClusterBackend

    def outside(self, encoded: Encoded, entry: Future | Chunk) -> Encoded:
        keeper = self.backend.keeper
        if keeper is None:
            return encoded
        encoded, lease = keeper.put(encoded)
        if lease is not None:
            if type(entry) is Future:
                entry.__class__ = CarryingFuture
            entry.lease = lease  # type: ignore[union-attr]
        return encoded


class ClusterResolver(Resolver):
    """Lets go of what a task had outside once it is over."""

    backend: ClusterBackend

    def _outcome(self, future: Future, done: Completion) -> tuple[Any, BaseException | None]:
        value, error = super()._outcome(future, done)
        if type(value) is Kept:
            future.__class__ = KeptFuture
        return value, error

    def _settle(self, done: Completion) -> None:
        entry = self.table[done.slot]
        super()._settle(done)
        if getattr(entry, "lease", None) is not None:
            entry.lease = None
        keeper = self.backend.keeper
        if keeper is not None and keeper.taken:
            keeper.settled()
