"""The pool of a cluster's lanes: places come and go, and each has a lane of the scheduler while it is there."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import cloudpickle

from ...errors import BackendError, CellmillError, UsageError
from ...raised import load_error
from ...task import WorkerInfo
from ..local.children import Exit
from ..local.zygote_client import WorldWatch, current_world
from ..scheduled.requests import REPLY_SECONDS, Requests
from ..scheduled.scheduler import held
from ..scheduled.worker_infos import info_of, infos
from . import clocks
from .engine import Engine, Place
from .lane import Lane, describe
from .pack import LEAVE, WORLD
from .stopping import place_of

if TYPE_CHECKING:
    from .backend import ClusterBackend

WAITING_SECONDS = 10.0  # without any place, before that is said
CLOSING_SECONDS = 5.0
SPREAD_SECONDS = 0.1  # between looks at what waits behind long tasks


class LanePool:
    """The workers of a `ClusterBackend`, and what its engine tells (`engine.Lanes`); from any thread."""

    def __init__(
        self,
        backend: ClusterBackend,
        engine: Engine,
        *,
        initializer: Callable[..., Any] | None,
        initargs: tuple[Any, ...],
        preload: Iterable[str],
    ) -> None:
        self.backend = backend
        self.engine = engine
        self.token = os.urandom(16)
        self.size = 0
        self.members: dict[int, Lane] = {}  # by the scheduler's number
        self.exits: dict[int, Exit] = {}
        self.preloaded = list(preload)
        self.restarts = 0
        self.closed = False
        self.world = WorldWatch()
        self._base = current_world()
        self._initializer = cloudpickle.dumps((initializer, initargs)) if initializer is not None else None
        keeper = backend.keeper
        self._outside = None if keeper is None else cloudpickle.dumps(keeper.outside)
        self._places: dict[Hashable, Place] = {}
        self._lanes: dict[Hashable, Lane] = {}
        self._numbers = itertools.count(1)
        self._packs = itertools.count(1)
        self._sent: dict[int, Lane] = {}
        self._abandoned: dict[int, Place] = {}  # by a pack that still runs where nobody could end it
        self.requests = Requests(backend)
        self._lock = threading.RLock()
        self._opened = 0.0
        self.folder = tempfile.mkdtemp(prefix="cellmill-lanes-")

    # -- what the engine tells

    def came(self, place: Place) -> None:
        with self._lock:
            self._places[place.key] = place
        self._open_lanes()

    def gone(self, key: Hashable, reason: str) -> None:
        with self._lock:
            self._places.pop(key, None)
            lane = self._lanes.get(key)
            self._abandoned = {n: p for n, p in self._abandoned.items() if p.key != key}
        if lane is not None:
            lane.lose(reason)
        self._open_lanes()

    def replied(self, pack: int, reply: Any) -> None:
        self._answer(pack, reply, None)

    def failed(self, pack: int, error: BaseException) -> None:
        self._answer(pack, None, error)

    def broken(self, error: BackendError) -> None:
        if self.closed:
            return
        self.backend.break_down(error)
        with self._lock:
            self._places.clear()
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.lose(str(error))

    def _answer(self, number: int, reply: Any, error: BaseException | None) -> None:
        with self._lock:
            lane = self._sent.pop(number, None)
            place = self._abandoned.pop(number, None)
        if lane is not None:
            lane.answered(number, reply, error)
        if place is not None and not self.closed:
            self.came(place)  # what could not be ended there is over

    # -- for lanes

    def next_pack(self, lane: Lane) -> int:
        number = next(self._packs)
        with self._lock:
            self._sent[number] = lane
        return number

    def forget_pack(self, number: int) -> None:
        with self._lock:
            self._sent.pop(number, None)

    def settings(self, page: str) -> bytes:
        """What a place needs before its first task."""
        return pickle.dumps(
            {
                "page": page,
                "boot": clocks.boot(),
                "world": current_world(),
                "base": self._base,
                "preload": list(self.preloaded),
                "initializer": self._initializer,
                "outside": self._outside,
            }
        )

    def explain(self, error: BaseException) -> CellmillError:
        text = f"{type(error).__name__}: {error}"
        if "cellmill" in text and isinstance(error, (ModuleNotFoundError, ImportError, AttributeError)):
            found = BackendError(
                f"the cluster's workers cannot import Cellmill ({text}). Install it there as well, the same version: "
                "`pip install cellmill`."
            )
            found.__cause__ = error
            return found
        return describe(error)

    def failed_lane(self, lane: Lane, error: BaseException) -> None:
        """Its relay gave up."""
        if self.closed or lane.lost is not None:
            return
        lane.lost = str(error)
        with self._lock:
            self._places.pop(lane.place.key, None)
        if isinstance(error, BackendError):
            if not any(other.ready for other in list(self.members.values()) if other is not lane):
                self.backend.break_down(error)
            else:
                warnings.warn(
                    f"cellmill goes on without {lane.place.label}: {error}", RuntimeWarning, stacklevel=1
                )
        else:
            self.backend.report(error)
            if not any(other.ready for other in list(self.members.values()) if other is not lane):
                self.backend.break_down(describe(error))

    def initializer_failed(self, data: bytes) -> None:
        error = BackendError("the initializer of the workers failed")
        error.__cause__ = load_error(data)
        self.backend.break_down(error)

    def note_slow(self, lane: Lane) -> None:
        warnings.warn(
            f"cellmill: the worker {lane.place.label} has not answered for a minute; it may be busy with other work "
            "of this cluster. Tasks wait for it.",
            RuntimeWarning,
            stacklevel=1,
        )

    def ended(self, lane: Lane) -> None:
        """Just before the scheduler hears of it."""
        with self._lock:
            self.members.pop(lane.index, None)
            if self._lanes.get(lane.place.key) is lane:
                del self._lanes[lane.place.key]
            if lane.lost is None or self.closed:
                return
            how = Exit(None, None)
            how.reason = f"was lost: {lane.lost} ({lane.place.label})"
            how.task = info_of(self.backend, lane.index).ticket or None
            how.output = self.backend.listener.ended_lane(lane, how.task or 0)
            self.exits[lane.index] = how
            self.restarts += 1

    def after_end(self, lane: Lane) -> None:
        self._open_lanes()

    # -- places and lanes

    def _open_lanes(self) -> None:
        with self._lock:
            if self.closed or self.backend.broken is not None:
                return
            free = [place for key, place in self._places.items() if key not in self._lanes]
            room = self.size - sum(not lane.retiring for lane in self._lanes.values())
            for place in free[: max(0, room)]:
                lane = Lane(self, place, next(self._numbers))
                self._lanes[place.key] = lane
                self.members[lane.index] = lane
                lane.start()

    def open(self, workers: int | None) -> int:
        """Reach the cluster; the number of places that it is to have."""
        self.size = workers or 1 << 30
        expected = self.engine.open(self, workers)
        if hasattr(self.engine, "ask"):
            threading.Thread(target=self._spread, name="cellmill-spread", daemon=True).start()
        self._opened = time.monotonic()
        if not expected:
            self._waiter = threading.Thread(target=self._say_waiting, name="cellmill-waiting", daemon=True)
            self._waiter.start()
        return expected

    def _spread(self) -> None:
        """What waits behind long tasks goes to places that have nothing to do."""
        while not self.closed:
            time.sleep(SPREAD_SECONDS)
            lanes = list(self.members.values())
            if not any(lane.idle for lane in lanes):
                continue
            for lane in lanes:
                if lane.holds_others_back(time.monotonic()):
                    threading.Thread(target=lane.ask_back, name="cellmill-ask", daemon=True).start()

    def withdraw(self, ticket: int) -> bool:
        """Have a task that was sent come back, with all that has not begun there; False: it runs, or did."""
        place = place_of(self.backend.scheduler.handle, ticket)
        lane = self.members.get(place) if place is not None else None
        if lane is None or lane.runs(ticket) or not hasattr(self.engine, "ask"):
            return False
        lane.ask_back()
        return True

    def _say_waiting(self) -> None:
        while not self.closed and not self.members and self.backend.broken is None:
            time.sleep(0.1)
            if time.monotonic() - self._opened > WAITING_SECONDS and self.backend.stats().queued:
                warnings.warn(
                    f"cellmill waits for workers: the {self.engine.name} cluster has none so far. Tasks start as soon "
                    "as one comes; scale the cluster, or look at what keeps its jobs from starting.",
                    RuntimeWarning,
                    stacklevel=1,
                )
                return

    def resize(self, count: int) -> None:
        """So many places; of a cluster that is somebody else's at most that many are used."""
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise UsageError(f"the number of workers must be a whole number of at least 1, not {count!r}")
        before, self.size = self.size, count
        if self.engine.owns and before != count and before < 1 << 30:
            surplus = self._retire(max(0, len(self._lanes) - count))
            threading.Thread(
                target=self._resize, args=(count, surplus), name="cellmill-resize", daemon=True
            ).start()
        elif not self.engine.owns:
            self._retire(max(0, len(self._lanes) - count))
        self._open_lanes()

    def _resize(self, count: int, surplus: list[Lane]) -> None:
        for lane in surplus:  # what they run is finished first
            lane.over.wait()
        try:
            self.engine.resize(count, [lane.place.key for lane in surplus])
        except Exception as error:
            warnings.warn(f"cellmill: {describe(error)}", RuntimeWarning, stacklevel=1)

    def _retire(self, count: int) -> list[Lane]:
        """So many lanes get no new work."""
        with self._lock:
            staying = [lane for lane in self._lanes.values() if not lane.retiring]
            chosen = staying[len(staying) - count :] if count else []
            for lane in chosen:
                self._retire_lane(lane)
        return chosen

    def _retire_lane(self, lane: Lane) -> None:
        lane.retiring = True
        held.csched_worker_retire(self.backend.scheduler.handle, lane.index)
        lane.wake()

    def restart(self) -> None:
        """Anew everywhere; what runs is finished first. An own cluster's processes are replaced, of somebody else's
        only what Cellmill keeps there is.
        """
        with self._lock:
            lanes = [lane for lane in self._lanes.values() if not lane.retiring]
            for lane in lanes:
                self._retire_lane(lane)
        if self.engine.owns:
            threading.Thread(
                target=self._replace, args=(lanes,), name="cellmill-restart", daemon=True
            ).start()

    def _replace(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            lane.over.wait()
            if not self.closed:
                self._kill_place(lane, "it was restarted")

    def replace(self, index: int) -> None:
        """A new worker in the place of this one, which finishes what it runs."""
        lane = self.members.get(index)
        if lane is None or lane.retiring:
            return
        self._retire_lane(lane)
        if self.engine.owns:
            threading.Thread(
                target=self._replace, args=([lane],), name="cellmill-restart", daemon=True
            ).start()

    def kill(self, index: int, reason: str = "") -> None:
        """End a place at once; what else it held goes elsewhere."""
        lane = self.members.get(index)
        if lane is None or lane.lost is not None:
            return
        lane.retiring = True
        self._kill_place(lane, reason or "it was ended")

    def _kill_place(self, lane: Lane, reason: str) -> None:
        try:
            self.engine.kill(lane.place.key, reason)
        except Exception as error:
            with self._lock:
                left = [n for n, sent in self._sent.items() if sent is lane]
                self._places.pop(lane.place.key, None)
                if left:
                    self._abandoned[left[-1]] = lane.place
            warnings.warn(
                f"cellmill: what runs at {lane.place.label} cannot be ended: {error}. It is left alone, and its place "
                "is used again when it is through.",
                RuntimeWarning,
                stacklevel=1,
            )
            lane.lose(reason)

    def preload(self, modules: Iterable[str]) -> None:
        """For places that are settled from now on; `restart` follows."""
        for name in [modules] if isinstance(modules, str) else modules:
            if name not in self.preloaded:
                self.preloaded.append(name)

    def close(self, wait: bool) -> None:
        """No lane is left, and nothing of ours in a cluster that is somebody else's."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            lanes = list(self._lanes.values())
            for lane in lanes:
                self._retire_lane(lane)
        deadline = time.monotonic() + CLOSING_SECONDS
        for lane in lanes:
            if not lane.over.wait(max(0.0, deadline - time.monotonic())):
                lane.lose("the executor was shut down")
        for lane in lanes:
            lane.join(2)
        if not self.engine.owns:
            self._take_leave()
        self.engine.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.backend.keeper is not None:
            self.backend.keeper.close()

    def _take_leave(self) -> None:
        """Have each place put back what it was like, and wait for its word for a moment: the way there ends next."""
        message = pickle.dumps((LEAVE, self.token))
        threads = [
            threading.Thread(target=self._leave, args=(key, message), name="cellmill-leave", daemon=True)
            for key in list(self._places)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + CLOSING_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _leave(self, key: Hashable, message: bytes) -> None:
        with contextlib.suppress(Exception):  # a place that is going, or does not hear
            getattr(self.engine, "ask", self.engine.tell)(key, message)

    # -- talking to places

    def touched(self) -> bool:
        """At a glance: whether there is something to send."""
        return self.world.touched()

    def sync_world(self) -> None:
        """Send places what changed in the kernel's surroundings since the last look."""
        if not self.world.changed():
            return
        world = current_world()
        for index in list(self.members):
            self.requests.send(index, 0, (WORLD, world))

    def call_everywhere(self, function: Callable[..., Any]) -> list[Any]:
        """Call ``function()`` once at each place; their values, in the order of the workers."""
        self.sync_world()
        return self.requests.call(function, self._settled())

    def _settled(self) -> Iterator[int]:
        """Numbers of the lanes, once the places that are there are ready or some time has passed."""
        deadline = time.monotonic() + REPLY_SECONDS
        while time.monotonic() < deadline and self.backend.broken is None:
            lanes = list(self.members.values())
            if (
                lanes
                and len(lanes) >= min(self.backend.max_workers, self.size)
                and all(lane.ready for lane in lanes)
            ):
                break
            time.sleep(0.01)
        yield from sorted(lane.index for lane in list(self.members.values()) if not lane.retiring)

    def reply(self, index: int, number: int, data: bytes) -> None:
        """A place's answer to a request."""
        self.requests.reply(number, data)

    # -- figures

    def infos(self) -> list[WorkerInfo]:
        """One record per place."""
        self.backend.scheduler.poll()
        with self._lock:
            members = list(self.members.values())
        return infos(self.backend, members, self.restarts)
