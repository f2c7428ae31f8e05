"""The pool of a cluster's lanes: remote workers come and go, and each has a lane while it is there."""

from __future__ import annotations

import itertools
import os
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from ...errors import BackendError
from ...process_context.settings import Settings as ProcessSettings
from ...serialization.exceptions import load_error
from ...task import Stats, WorkerInfo
from ...worker_process.protocol import IMPORTS
from ..common_options import CommonOptions
from ..scheduled.context_watch import ContextWatch, context_for_clusters
from ..scheduled.observer import Observer
from ..scheduled.protocols import PoolHost
from ..scheduled.requests import REPLY_SECONDS, Requests
from ..scheduled.resolver import Resolver
from ..scheduled.worker_exit import Exit
from ..scheduled.worker_infos import info_of, infos
from . import diagnostics
from .dashboard import Dashboard
from .demand import Demand
from .engines.protocol import Engine, RemoteWorker
from .handshake import CLOSING_SECONDS, Settings, take_leave
from .lane import Lane
from .left.keeping import Keeping
from .looking import Looking
from .modules import SentModules, Texts
from .output import PlaceListener
from .pack import CONTEXT, UNNAMED
from .packs_in_flight import SentPacks
from .rebalancing import Rebalancing
from .retiring import Retiring
from .shipping import Shipping
from .values import folders
from .values.proxies import Keeper

WAITING_SECONDS = 10.0  # without any remote worker, before that is said


class LanePoolHost(PoolHost, Protocol):
    """The backend that a pool of lanes belongs to."""

    resolver: Resolver
    observer: Observer

    def follow(self, workers: int) -> None:
        """The cluster has so many remote workers now."""

    def stats(self) -> Stats: ...


class LanePool:
    """The workers of a `ClusterBackend`, and what its engine tells (`engine.Lanes`); from any thread."""

    def __init__(
        self,
        host: LanePoolHost,
        engine: Engine,
        listener: PlaceListener,
        base: ProcessSettings,
        keeper: Keeper | None,
        options: CommonOptions,
        shipping: Shipping,
        look_again: Callable[[], Any],
    ) -> None:
        """``look_again``: has the next call look at what the kernel has imported."""
        self._host = host
        self.scheduler = host.scheduler
        self._listener = listener
        self._keeper = keeper
        self.engine = engine
        self.token = os.urandom(16)
        self.size = 0
        self.members: dict[int, Lane] = {}  # by the scheduler's number
        self.exits: dict[int, Exit] = {}
        self.preloaded = options.modules
        self.restarts: Counter[int] = Counter()
        self.closed = False
        self.context = ContextWatch(base)
        self.modules = SentModules(self, host.functions, host.scheduler, shipping, look_again)
        options.tell_of_globals()
        initializer = options.pickled_initializer()
        self.settings = Settings(self.preloaded, initializer, keeper, engine.owns, engine.watch)
        self.remotes: dict[Hashable, RemoteWorker] = {}
        self.lanes: dict[Hashable, Lane] = {}  # by their remote workers
        self._numbers = itertools.count(1)
        self.sent = SentPacks()
        self.retiring = Retiring(self)
        self.rebalancing = Rebalancing(self)
        self.looking = Looking()
        self.requests = Requests(host.scheduler, host.gate, host.resolve, self.members)
        self.lock = threading.RLock()
        self._waiter: threading.Thread | None = None
        self.folder = folders.private("lanes")
        self.dashboard = Dashboard(engine)
        self.keeping: Keeping | None = None  # where results are left on the cluster

    # -- what the engine tells

    def came(self, *remotes: RemoteWorker) -> None:
        with self.lock:
            self.remotes.update({remote.key: remote for remote in remotes})
        self.open_lanes()

    def gone(self, key: Hashable, reason: str, left: bool = False) -> None:
        with self.lock:
            self.remotes.pop(key, None)
            lane = self.lanes.get(key)
            self.sent.gone(key)
        if lane is not None:
            if left:
                lane.blameless = lane.left = True
            lane.lose(reason)
        self.open_lanes()

    def replied(self, pack: int, reply: Any) -> None:
        self._answer(pack, reply, None)

    def failed(self, pack: int, error: BaseException) -> None:
        self._answer(pack, None, error)

    def broken(self, error: BackendError) -> None:
        if self.closed:
            return
        self._host.break_down(error)
        with self.lock:
            self.remotes.clear()
            lanes = list(self.lanes.values())
        for lane in lanes:
            lane.lose(str(error))

    def _answer(self, number: int, reply: Any, error: BaseException | None) -> None:
        lane, remote = self.sent.take(number)
        if lane is not None:
            lane.answered(number, reply, error)
        if remote is not None and not self.closed:
            self.came(remote)  # what could not be ended there is over

    # -- what lanes tell

    def failed_lane(self, lane: Lane, error: BaseException) -> None:
        """Its relay gave up."""
        if self.closed or lane.lost is not None:
            return
        lane.lost = str(error)
        if isinstance(error, BackendError):
            self._refuse(lane.remote, error)
        else:
            with self.lock:
                self.remotes.pop(lane.remote.key, None)
            self._host.report(error)
            if not any(other.ready for other in list(self.members.values()) if other is not lane):
                self._host.break_down(diagnostics.describe(error))

    def _refuse(self, unfit: RemoteWorker, error: BackendError) -> None:
        """Go on without the process of a remote worker that cannot run packs; it is left alone."""
        with self.lock:
            known = unfit.key in self.remotes
            for key in [key for key, remote in self.remotes.items() if remote.process == unfit.process]:
                del self.remotes[key]
            others = bool(self.remotes)
        self.engine.leave_alone(unfit.key)
        if not others:
            self._host.break_down(error)
        elif known:  # the first of its threads says it
            diagnostics.warn_without(unfit, error)

    @property
    def stopped(self) -> bool:
        """Whether completions are not settled any more."""
        return self._host.resolver.stopped

    def settings_for(self, remote: RemoteWorker, page: str) -> bytes:
        """Return the pickled settings that a remote worker receives before its first task."""
        alone = remote.process_key is None
        return self.settings.encode(page, self.context.settings, self.modules.listed, alone=alone)

    def texts(self, names: Iterable[str], shipped: bool) -> tuple[Texts, bytes | None]:
        """Return the texts of modules of these names, and the archive of what is shipped if it is wanted."""
        return self.modules.texts(names), self.modules.shipping.archive() if shipped else None

    def name_of(self, function: int | None) -> str:
        """Return the short name of the function with this number, for the cluster's own dashboard."""
        name = self._host.functions.names.get(function or 0, "?").rpartition("<locals>.")[2].strip("<>")
        return name if name.isprintable() and name[:1].isidentifier() else UNNAMED

    def hear(self, index: int, frames: memoryview) -> None:
        """Pass on output that tasks of a lane have printed."""
        self._listener.hear_lane(index, frames)

    def initializer_failed(self, data: bytes) -> None:
        error = BackendError("the initializer of the workers failed")
        error.__cause__ = load_error(data)
        self._host.break_down(error)

    def ended(self, lane: Lane) -> None:
        """Just before the scheduler hears of it."""
        self.modules.gone(lane.index)
        with self.lock:
            self.members.pop(lane.index, None)
            if self.lanes.get(lane.remote.key) is lane:
                del self.lanes[lane.remote.key]
            if lane.lost is None or lane.left or self.closed:
                return
            how = Exit(None, None)
            how.reason = f"was lost: {lane.lost} ({lane.remote.label})"
            how.shared = lane.remote.process_key is not None
            how.task = info_of(self.scheduler, lane.index).ticket or None
            how.output = self._listener.ended_lane(lane.index, how.task or 0)
            self.exits[lane.index] = how
            self.restarts[lane.index] += 1

    def after_end(self, lane: Lane) -> None:
        self.open_lanes()
        if not self.members:
            self._begin_waiting()

    # -- remote workers and lanes

    def open_lanes(self) -> None:
        """A lane for each remote worker without one, as many as wanted."""
        with self.lock:
            if self.closed or self._host.gate.broken is not None:
                return
            free = [remote for key, remote in self.remotes.items() if key not in self.lanes]
            room = self.size - sum(not lane.retiring for lane in self.lanes.values())
            for remote in free[: max(0, room)]:
                lane = Lane(self, remote, next(self._numbers))
                self.lanes[remote.key] = lane
                self.members[lane.index] = lane
                lane.start()

    def open(self, workers: int | None) -> int:
        """Reach the cluster; the number of remote workers that it is to have."""
        self.size = workers or 1 << 30
        expected = self.engine.open(self, workers)
        if self.engine.owns:
            self.size = expected
        self.rebalancing.start()
        if not self.engine.owns:
            Demand(self, self._host).start()
        if not expected:
            self._begin_waiting()
        return expected

    def _begin_waiting(self) -> None:
        """There is no remote worker: if tasks wait for one, that is said after a while."""
        with self.lock:
            if self._waiter is None and not self.closed:
                self._waiter = threading.Thread(
                    target=self._say_waiting, name="cellmill-waiting", daemon=True
                )
                self._waiter.start()

    def _say_waiting(self) -> None:
        begun = time.monotonic()
        while not self.closed and not self.members and self._host.gate.broken is None:
            self.looking.over.wait(0.1)
            if not self._host.stats().queued:
                begun = time.monotonic()
            elif time.monotonic() - begun > WAITING_SECONDS:
                diagnostics.warn_empty(self.engine.where)
                break
        with self.lock:
            self._waiter = None

    def resize(self, count: int) -> None:
        """So many remote workers; of a borrowed cluster at most that many are used."""
        self.retiring.resize(count)

    def restart(self) -> None:
        """Anew everywhere; what runs is finished first. An own cluster's processes are replaced, of a borrowed one's
        only what Cellmill keeps there is, and modules of the user's are loaded again.
        """
        self.modules.renew()
        self.retiring.restart()

    def renew(self) -> None:
        """New lanes in the place of all: what remote workers have of the user's modules is out of date."""
        self.retiring.renew()

    def replace(self, index: int) -> None:
        """A new worker in the place of this one, which finishes what it runs."""
        self.retiring.replace(index)

    def kill(self, index: int, reason: str = "") -> None:
        """End a remote worker at once; what else it held goes elsewhere."""
        self.retiring.kill(index, reason)

    def withdraw(self, ticket: int) -> bool:
        """Have a task that was sent come back, with all that has not begun there; False: it runs, or did."""
        return self.rebalancing.withdraw(ticket)

    def preload(self, modules: Iterable[str]) -> None:
        """Import these modules on remote workers that are set up from now on; `restart` follows."""
        for name in [modules] if isinstance(modules, str) else modules:
            if name not in self.preloaded:
                self.preloaded.append(name)

    def close(self, wait: bool) -> None:
        """No lane is left, and nothing of ours in a borrowed cluster."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            self.dashboard.close()
            self.modules.close()
            lanes = list(self.lanes.values())
            for lane in lanes:
                self.retiring.retire(lane)
        deadline = time.monotonic() + CLOSING_SECONDS
        for lane in lanes:
            if not lane.over.wait(max(0.0, deadline - time.monotonic())):
                lane.lose("the executor was shut down")
        for lane in lanes:
            lane.join(2)
        self.looking.end()
        if self.keeping is not None:
            self.keeping.close()
        if not self.engine.owns:
            take_leave(self.engine, self.token, [*self.remotes, *self.sent.abandoned])
        if self._keeper is not None:
            self._keeper.close()
        self.engine.close()
        folders.remove(self.folder)

    # -- talking to remote workers

    def touched(self) -> bool:
        """Whether something may have to be sent to the remote workers; a fast check."""
        return self.context.touched() or self.modules.touched()

    def sync_context(self) -> None:
        """Send remote workers what changed in the kernel's context and modules since the last look."""
        self.modules.look()
        if not self.context.changed():
            return
        self.context.warn(self.scheduler)
        context = context_for_clusters(self.context.settings)
        for index in list(self.members):
            self.requests.tell_latest(index, CONTEXT, (CONTEXT, context))
        self.context.told()

    def call_everywhere(self, function: Callable[..., Any]) -> list[Any]:
        """Call ``function()`` once on each remote worker; their values, in the order of the workers."""
        self.sync_context()
        return self.requests.call(function, self._settled())

    def _settled(self) -> Iterator[int]:
        """Numbers of the lanes, once the remote workers that are there are ready or some time has passed."""
        deadline = time.monotonic() + REPLY_SECONDS
        while time.monotonic() < deadline and self._host.gate.broken is None:
            lanes = [lane for lane in list(self.members.values()) if not lane.retiring]
            wanted = min(self._host.max_workers, self.size)
            if not self.engine.refills:
                wanted = min(wanted, len(self.remotes))
            if lanes and len(lanes) >= wanted and all(lane.ready for lane in lanes):
                break
            time.sleep(0.01)
        yield from sorted(lane.index for lane in list(self.members.values()) if not lane.retiring)

    def reply(self, index: int, number: int, data: bytes) -> None:
        """A remote worker's answer to a request, or a word of its own."""
        if number == IMPORTS:
            self.modules.hear(index, *pickle.loads(data))
        else:
            self.requests.reply(number, data)

    # -- figures

    def infos(self) -> list[WorkerInfo]:
        """One record per remote worker."""
        self.scheduler.poll()
        with self.lock:
            members = list(self.members.values())
            threads = Counter(remote.process for remote in self.remotes.values())
        found = infos(self.scheduler, self._host.functions.names, members, self.restarts)
        remotes = {lane.index: lane.remote for lane in members}
        return [
            replace(
                info,
                address=remotes[info.index].label,
                threads=max(1, threads[remotes[info.index].process]),
            )
            for info in found
        ]

    @property
    def loads(self) -> tuple[()]:
        return ()  # remote workers do not tell

    def processor_seconds(self) -> dict[int, float]:
        return {}  # remote workers are on other machines
