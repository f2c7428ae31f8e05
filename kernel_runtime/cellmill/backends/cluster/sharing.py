"""Shared objects on a cluster: put into the store once, read once by each worker process.

Without a store they travel as functions do, once to each remote worker.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from typing import Any

from ...serialization.payload import Encoded
from ...serialization.shared import SharedPlace
from ..scheduled.gate import Gate
from ..scheduled.scheduler import Scheduler, with_gil
from ..scheduled.sharing import Sharing
from .engines.protocol import Engine
from .remote.shared import Lent
from .values.proxies import Keeper, Lease

IN_STORE = "the store"


class ClusterSharing(Sharing):
    """The lease of one ends when no task needs it any more: a worker that comes late may have to read it still."""

    def __init__(
        self,
        scheduler: Scheduler,
        gate: Gate,
        dropped: Callable[[int], None],
        keeper: Callable[[], Keeper | None],
        engine: Engine,
    ) -> None:
        super().__init__(scheduler, gate, dropped)
        self._engine = engine
        self._keeper = keeper
        self._leases: dict[int, Lease] = {}

    def foreign(self, thing: Any) -> tuple[tuple[Any, tuple[Any, ...]], Any]:
        """See `Sharing`."""
        return self._engine.refer(thing) or super().foreign(thing)

    def drop(self, place: SharedPlace) -> None:
        """See `shared.Keeper`."""
        super().drop(place)
        lease, keeper = self._leases.pop(place.number, None), self._keeper()
        if lease is not None and keeper is not None and not self.gate.foreign:
            scheduler, number = self.scheduler, place.number
            keeper.release_when(lambda: with_gil.csched_function_users(scheduler.handle, number) < 0, lease)

    def _stored(self, encoded: Encoded, needs: Collection[int]) -> SharedPlace:
        keeper = self._keeper()
        lease = keeper.put(encoded)[1] if keeper is not None else None
        if keeper is None or lease is None:
            return super()._stored(encoded, needs)
        data = pickle.dumps(Lent(keeper.outside.source, lease.key, encoded.content), 5)
        place = super()._stored(Encoded(data, []), needs)
        self._leases[place.number] = lease
        return place._replace(size=encoded.content, where=IN_STORE)
