"""Lanes that go: because there are to be fewer, or new ones, or because what runs there does not end."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, Protocol

from ...task import check_worker_count
from ..scheduled.scheduler import Scheduler, with_gil
from . import diagnostics
from .engines.protocol import Engine, RemoteWorker
from .lane import Lane
from .packs_in_flight import SentPacks


class Lanes(Protocol):
    """The pool of lanes; ``lock`` guards its tables."""

    engine: Engine
    scheduler: Scheduler
    closed: bool
    size: int
    lock: Any
    members: dict[int, Lane]
    lanes: dict[Hashable, Lane]
    remotes: dict[Hashable, RemoteWorker]
    sent: SentPacks

    def open_lanes(self) -> None: ...

    def came(self, remote: RemoteWorker) -> None: ...


class Retiring:
    """Resizes and restarts one pool; called from any thread."""

    def __init__(self, pool: Lanes) -> None:
        self._pool = pool
        self._resizing = threading.Lock()

    def resize(self, count: int) -> None:
        """Change the number of remote workers; of a borrowed cluster at most that many are used."""
        check_worker_count(count)
        with self._pool.lock:
            before, self._pool.size = self._pool.size, count
            surplus = [lane for lane in self._pool.lanes.values() if not lane.retiring][count:]
            for lane in surplus:
                self.retire(lane)
        if self._pool.engine.owns and before != count:
            threading.Thread(
                target=self._resize, args=(surplus,), name="cellmill-resize", daemon=True
            ).start()
        self._pool.open_lanes()

    def _resize(self, surplus: list[Lane]) -> None:
        for lane in surplus:  # what they run is finished first
            lane.over.wait()
        with self._resizing:
            with self._pool.lock:  # by now another number may be wanted
                remotes = self._pool.remotes
                free = [key for key in remotes if key not in self._pool.lanes]
                there = len(remotes) - self._pool.engine.spares
                spare = min(len(free), max(0, there - self._pool.size))
                gone = {key: remotes.pop(key) for key in free[len(free) - spare :]}
                count = max(
                    self._pool.size, there - len(gone)
                )  # what still runs goes later, by the next of these
            try:
                self._pool.engine.resize(count, gone)
            except Exception as error:
                diagnostics.warn_same_size(error)
                for remote in gone.values():
                    self._pool.came(remote)

    def retire(self, lane: Lane) -> None:
        """End a lane: it gets no new tasks, and closes when it has none left."""
        lane.retiring = True
        with_gil.csched_worker_retire(self._pool.scheduler.handle, lane.index)
        lane.wake()

    def restart(self) -> None:
        """Anew everywhere; what runs is finished first. An own cluster's processes are replaced, of a borrowed one's
        only what Cellmill keeps there is.
        """
        lanes = self.renew()
        if self._pool.engine.owns:
            threading.Thread(
                target=self._replace, args=(lanes,), name="cellmill-restart", daemon=True
            ).start()

    def renew(self) -> list[Lane]:
        """End all lanes; others take their places. Returns those that end."""
        with self._pool.lock:
            lanes = [lane for lane in self._pool.lanes.values() if not lane.retiring]
            for lane in lanes:
                self.retire(lane)
        return lanes

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
        """End a remote worker at once; what else it held goes elsewhere."""
        lane = self._pool.members.get(index)
        if lane is None or lane.lost is not None:
            return
        lane.retiring = True
        self._kill_place(lane, reason or "it was ended")

    def _kill_place(self, lane: Lane, reason: str) -> None:
        members = list(self._pool.members.values())
        beside = [o for o in members if o is not lane and o.remote.process == lane.remote.process]
        for other in beside:
            other.blameless = True
        try:
            self._pool.engine.kill(lane.remote.key, reason)
        except Exception as error:
            for other in beside:
                other.blameless = False
            with self._pool.lock:
                runs = self._pool.sent.abandon(lane)
                if runs:
                    self._pool.remotes.pop(lane.remote.key, None)
            if runs:
                diagnostics.warn_unending(lane.remote, error)
            lane.give_up(reason)
