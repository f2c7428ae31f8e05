"""What tasks share on a cluster: put into the store once, read once by each process of a worker.

Without a store it travels as functions do, once to each place.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection
from typing import TYPE_CHECKING

from ...payload import Encoded
from ...shared import Place
from ..scheduled.scheduler import held
from ..scheduled.sharing import Sharing
from .borrowed import Lent
from .proxies import Lease

if TYPE_CHECKING:
    from .backend import ClusterBackend

IN_STORE = "the store"


class ClusterSharing(Sharing):
    """Leases end when no task needs the object any more: a place that comes late may have to read it still."""

    backend: ClusterBackend

    def __init__(self, backend: ClusterBackend) -> None:
        super().__init__(backend)
        self._leases: dict[int, Lease] = {}
        self.leaving: dict[int, Lease] = {}  # of what was dropped, while tasks may need it

    def drop(self, place: Place) -> None:
        """See `shared.Keeper`."""
        super().drop(place)
        lease = self._leases.pop(place.number, None)
        if lease is not None and not self.backend.foreign:
            self.leaving[place.number] = lease
            self.let_go()

    def let_go(self) -> None:
        """Of what no task needs any more."""
        for number in list(self.leaving):
            if held.csched_function_users(self.scheduler.handle, number) < 0:
                self.leaving.pop(number, None)

    def _stored(self, encoded: Encoded, needs: Collection[int]) -> Place:
        keeper = self.backend.keeper
        lease = keeper.put(encoded)[1] if keeper is not None else None
        if keeper is None or lease is None:
            return super()._stored(encoded, needs)
        data = pickle.dumps(Lent(keeper.outside.source, lease.key, encoded.size), 5)
        place = super()._stored(Encoded(data, []), needs)
        self._leases[place.number] = lease
        return place._replace(size=encoded.size, where=IN_STORE)
