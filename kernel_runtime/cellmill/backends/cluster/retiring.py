"""Lanes that go: because there are to be fewer, or new ones, or because what runs there does not end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ...errors import UsageError
from ..scheduled.scheduler import held
from . import troubles

if TYPE_CHECKING:
    from .lane import Lane
    from .lanes import LanePool


class Retiring:
    """Of one pool, whose words these are; from any thread."""

    def __init__(self, pool: LanePool) -> None:
        self._pool = pool

    def resize(self, count: int) -> None:
        """So many places; of a cluster that is somebody else's at most that many are used."""
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise UsageError(f"the number of workers must be a whole number of at least 1, not {count!r}")
        before, self._pool.size = self._pool.size, count
        if self._pool.engine.owns and before != count and before < 1 << 30:
            surplus = self._retire(max(0, len(self._pool.lanes) - count))
            threading.Thread(
                target=self._resize, args=(count, surplus), name="cellmill-resize", daemon=True
            ).start()
        elif not self._pool.engine.owns:
            self._retire(max(0, len(self._pool.lanes) - count))
        self._pool.open_lanes()

    def _resize(self, count: int, surplus: list[Lane]) -> None:
        for lane in surplus:  # what they run is finished first
            lane.over.wait()
        try:
            self._pool.engine.resize(count, [lane.place.key for lane in surplus])
        except Exception as error:
            troubles.warn_same_size(error)

    def _retire(self, count: int) -> list[Lane]:
        """So many lanes get no new work."""
        with self._pool.lock:
            staying = [lane for lane in self._pool.lanes.values() if not lane.retiring]
            chosen = staying[len(staying) - count :] if count else []
            for lane in chosen:
                self.retire(lane)
        return chosen

    def retire(self, lane: Lane) -> None:
        """It gets no new work, and ends when it has none."""
        lane.retiring = True
        held.csched_worker_retire(self._pool.backend.scheduler.handle, lane.index)
        lane.wake()

    def restart(self) -> None:
        """Anew everywhere; what runs is finished first. An own cluster's processes are replaced, of somebody else's
        only what Cellmill keeps there is.
        """
        with self._pool.lock:
            lanes = [lane for lane in self._pool.lanes.values() if not lane.retiring]
            for lane in lanes:
                self.retire(lane)
        if self._pool.engine.owns:
            threading.Thread(
                target=self._replace, args=(lanes,), name="cellmill-restart", daemon=True
            ).start()

    def _replace(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            lane.over.wait()
            if not self._pool.closed:
                self._kill_place(lane, "it was restarted")

    def replace(self, index: int) -> None:
        """A new worker in the place of this one, which finishes what it runs."""
        lane = self._pool.members.get(index)
        if lane is None or lane.retiring:
            return
        self.retire(lane)
        if self._pool.engine.owns:
            threading.Thread(
                target=self._replace, args=([lane],), name="cellmill-restart", daemon=True
            ).start()

    def kill(self, index: int, reason: str = "") -> None:
        """End a place at once; what else it held goes elsewhere."""
        lane = self._pool.members.get(index)
        if lane is None or lane.lost is not None:
            return
        lane.retiring = True
        self._kill_place(lane, reason or "it was ended")

    def _kill_place(self, lane: Lane, reason: str) -> None:
        try:
            self._pool.engine.kill(lane.place.key, reason)
        except Exception as error:
            with self._pool.lock:
                self._pool.places.pop(lane.place.key, None)
                self._pool.sent.abandon(lane)
            troubles.warn_unending(lane.place, error)
            lane.lose(reason)
