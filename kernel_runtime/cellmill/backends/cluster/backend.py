"""Tasks on a cluster: the scheduler stays here, and packs of tasks go there."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ...cell_output import present_cell
from ...errors import BackendError
from ...futures import Future
from ...run_registry import Run
from ..common_options import DEFAULTS, CommonOptions
from ..scheduled import forked
from ..scheduled.backend import ScheduledBackend
from ..scheduled.mapping import streams_of
from ..scheduled.outcomes import TOLD
from ..scheduled.protocols import Receiver
from ..scheduled.resource_use import ResourceUse
from ..scheduled.scheduler import Closed
from .engines.protocol import Engine
from .lane import MOST_TASKS, PACK_NS
from .left.keeping import Keeping, asked
from .measuring import Measuring
from .output import PlaceListener
from .pool import LanePool
from .profiling import RemoteProfiling
from .results import ClusterResults, ClusterSender
from .sharing import ClusterSharing
from .shipping import Shipping
from .stopping import RemoteStopper
from .values.proxies import Keeper
from .values.proxies import keeper as make_keeper

__all__ = ["ClusterBackend"]

RING_BYTES = 4 << 20  # a pack and its results fit
MOST_TRIES = 10  # to cancel a task that goes to a remote worker again and again
KEEP_SECONDS = 86_400.0  # of what an executor with a name leaves, unless it says otherwise
KEEP_BYTES = 256_000_000
CHUNKS_AHEAD = (
    8  # they come back with their pack: as many as fill two packs, one that runs and one that waits
)
CHUNK_TIMES = 8.0  # a chunk of a map is so much longer than on this machine: it has further to go


class ClusterBackend(ScheduledBackend):
    """Tasks on the remote workers of an engine."""

    needs_threads = True
    ahead = CHUNKS_AHEAD
    stopped = TOLD
    pool: LanePool
    stopper: RemoteStopper
    listener: PlaceListener
    use: ResourceUse
    profiling: RemoteProfiling

    def __init__(
        self,
        engine: Engine,
        max_workers: int | None = None,
        options: CommonOptions = DEFAULTS,
        *,
        memory: int = 0,
        proxies: Any = None,
        proxy_above: Any = None,
        ship: Any = (),
        name: Any = None,
        keep_seconds: Any = KEEP_SECONDS,
        keep_bytes: Any = KEEP_BYTES,
    ) -> None:
        """``ship``: folders of packages, and .py files, that remote workers do not have. ``name``: under which results
        of maps are left on the cluster, for so many seconds each, and so many bytes.
        """
        shipping = Shipping(ship)
        keep = asked(name, keep_seconds, keep_bytes, engine.where, engine.owns)
        if keep is not None and not engine.keeps:
            engine.store()  # says why it has none
        self.name = engine.name
        self.keeper: Keeper | None = None
        self.engine = engine
        self._follows = False  # whether it has as many workers as there are
        super().__init__(
            1 if max_workers is None else max_workers,
            1 << 16,
            memory=memory,
            options=options,
            ring_bytes=RING_BYTES,
            window_ns=2 * PACK_NS,
            window_most=2 * MOST_TASKS,
        )
        self.stopper = RemoteStopper(self.scheduler, self.gate)
        with contextlib.ExitStack() as undo:
            undo.callback(self.resolver.stop)
            self.keeper = make_keeper(os.urandom(16), proxies, proxy_above, engine.owns, engine.values())
            if self.keeper is not None:
                undo.callback(self.keeper.close)
            try:
                self.listener = PlaceListener(
                    self, self.scheduler, self.slots, self.functions, self.shown, self.report
                )
            except OSError as error:
                raise BackendError(
                    f"no output can be heard: {error}. Close files, or raise the limit."
                ) from error
            undo.callback(self.listener.stop)
            self.pool = LanePool(
                self,
                engine,
                self.listener,
                self.sender.plain.settings.base,
                self.keeper,
                options,
                shipping,
                self.sender.plain.look_again,
            )
            undo.callback(self.pool.modules.close)
            self.stopper.pool = self.pool
            undo.callback(engine.close)
            self.attach()
            self.profiling = RemoteProfiling(self.pool, self.functions.names)
            self._measuring = Measuring(self.pool)
            self.use = ResourceUse(self, self._measuring)
            undo.pop_all()
        self._wanted, self._keep = max_workers, keep

    def open(self) -> None:
        expected = self.pool.open(self._wanted)
        self.cluster, self.borrowed = self.engine.where, not self.engine.owns
        if self._keep is not None:
            self.pool.keeping = Keeping(self.engine.store(), self._keep)
        self._measuring.start(self.use)
        self.pool.dashboard.find()
        if self._wanted is None:
            self.max_workers = max(1, expected)
            self._follows = not self.engine.refills
        forked.watch(self)
        present_cell.stop_with_cells(self)

    @property
    def dashboard(self) -> str:
        return self.pool.dashboard.link

    def make_sharing(self) -> ClusterSharing:
        return ClusterSharing(self.scheduler, self.gate, self._dropped, self._keeper, self.engine)

    def make_results(self) -> ClusterResults:
        names = self.functions.names
        return ClusterResults(self.scheduler, self.slots, self.failures, names, self.exit_of, self._keeper)

    def make_sender(self) -> ClusterSender:
        return ClusterSender(self, self.slots, self._keeper)

    def receiver(self, receiver: Receiver, run: Run, function: Any) -> Receiver:
        keeping = self.pool.keeping
        return receiver if keeping is None else keeping.receiver(receiver, run, function)

    def _keeper(self) -> Keeper | None:
        return self.keeper

    def cancel(self, future: Future) -> bool:
        """Cancel a task, also one that waits on a remote worker: what has not begun there is called back first.

        It may be on its way there again before it can be cancelled: then it is asked for once more.
        """
        for _ in range(MOST_TRIES):
            if super().cancel(future):
                return True
            if self.gate.foreign or not future._ticket or not self.pool.withdraw(future._ticket):
                return False
        return super().cancel(future)

    def set_workers(self, count: int) -> None:
        self._follows = False
        super().set_workers(count)

    def follow(self, workers: int) -> None:
        """The cluster has so many remote workers now: maps send as much as those have use for."""
        before, now = self.max_workers, max(1, workers)
        if not self._follows or now == before:
            return
        self.max_workers = now
        self.resources.refresh()
        for stream in [*streams_of(self, None), *self.batch_streams()] if now > before else []:
            with contextlib.suppress(Closed):
                stream.send()

    def memory_in_all(self) -> int:
        return super().memory_in_all() if self.engine.owns else 0

    @property
    def crowding(self) -> float:
        return CHUNK_TIMES
