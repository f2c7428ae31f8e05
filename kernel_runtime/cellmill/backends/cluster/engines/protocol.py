"""The interface of an engine (Dask, Ray): packs of tasks are sent to remote workers, and replies come back.

A *remote worker* runs one pack at a time: a worker of Dask, an actor of Ray.  A *pack* is a list of buffers that
`cellmill.backends.cluster.remote.entry.run` takes there; its reply is what that returned.  Which tasks are in a
pack, and what becomes of them when a remote worker is lost, is no business of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cellmill.errors import BackendError

from ..left.keeping import Store


@dataclass(frozen=True, slots=True)
class RemoteWorker:
    """A remote process that can run packs."""

    key: Hashable  # the engine's name for it
    label: str  # for people: host and process
    host: str
    pid: int  # 0: not known
    packs: int = 2  # that may be outstanding; 1 where two could run at once, or the later one first
    process_key: Hashable = None  # equal for those that share a process; None: it has one of its own
    limit: int = 0  # bytes of memory at which the cluster ends its process; 0: none, or not known

    @property
    def address(self) -> str:
        """Return its process's name for people."""
        return self.label if self.process_key is None else str(self.process_key)

    @property
    def process(self) -> Hashable:
        """Return what names its process, equal for those that share one."""
        return self.key if self.process_key is None else self.process_key


@dataclass(frozen=True, slots=True)
class Waiting:
    """Tasks that wait in the kernel for a remote worker."""

    tasks: float  # how many, about
    seconds: float  # that each takes; 0: not known


Reference = tuple[tuple[Any, tuple[Any, ...]], Any]  # a reduction (see `pickle`), and what is held
Heard = Callable[[Sequence[Hashable], Any], None]  # the remote workers of one process, and its answer


class Lanes(Protocol):
    """Receives an engine's events, from any thread, also within a call of the engine; never blocks for long."""

    def came(self, *remotes: RemoteWorker) -> None:
        """These remote workers take packs from now on."""

    def gone(self, key: Hashable, reason: str, left: bool = False) -> None:
        """The remote worker is lost, and with it every pack that was sent there and has not been replied to.
        ``left``: the cluster has let it go, which no task is to blame for.
        """

    def replied(self, pack: int, reply: Any) -> None:
        """`remote.run` returned ``reply`` for this pack."""

    def failed(self, pack: int, error: BaseException) -> None:
        """The engine could not run the pack; the remote worker still exists."""

    def broken(self, error: BackendError) -> None:
        """The cluster is gone for good: nothing will come any more."""


class Engine(Protocol):
    """A cluster.  Called from the pool's own threads, never from the cluster's event loop."""

    name: str  # "dask", "ray"
    owns: bool  # whether the cluster ends with us
    where: str  # which cluster it is, for people: "the Dask cluster at tcp://10.0.0.7:8786"; known once it is open
    refills: bool  # whether it keeps as many remote workers as wanted; others come and go as they please
    keeps: bool  # whether it has a `store`

    @property
    def spares(self) -> int:
        """How many remote workers there are, or come, beyond those that are wanted: they stand in for lost ones."""

    def open(self, lanes: Lanes, workers: int | None) -> int:
        """Connect or start, within a bound; the number of remote workers expected, each of which `came` tells of.

        Raises:
            BackendError: it cannot be reached or started; says the likely cause and the next step.
        """

    def send(self, key: Hashable, pack: int, data: list[Any], name: str) -> None:
        """Run `remote.run(data)`, under this name for people, on the remote worker. Its packs run one after
        another, in the order in which they were sent: one for which the cluster does not see to that says so
        by `RemoteWorker.packs`. A remote worker without Cellmill, or with another Python, fails the pack and
        is otherwise unharmed.
        """

    def tell(self, key: Hashable, message: bytes) -> None:
        """Call `remote.hear(message)` on the remote worker, also while a pack runs there."""

    def ask(self, key: Hashable, message: bytes) -> Any:
        """Call `remote.hear(message)` on the remote worker, also while a pack runs there, and return its result."""

    def refer(self, thing: Any) -> Reference | None:
        """Return what stands for a future or a collection of the engine's own in the arguments of a task, and what has
        to be held until that is over; None where this cluster does not have it.

        Raises:
            ShareError: it is of another cluster; says the next step.
        """

    def want(self, waiting: Sequence[Waiting], there: int, more: int) -> None:
        """Tell the scheduler of a borrowed cluster, which may grow and shrink with its work, what waits. ``there``: the
        number of remote workers; ``more``: how many more would be used. Called now and then, by one thread.
        """

    def values(self) -> Any:
        """Return the connector (see `values.stores`) to results that stay on the workers by the cluster's means, None
        where it has none. Called before `open`.
        """

    def watch(self) -> Callable[[bytes], None] | None:
        """Return what a remote worker calls in its first pack, with the caller's token, so that nothing of the caller
        remains there when its kernel is killed; None where the cluster itself sees to that. It can be pickled.
        """

    def leave_alone(self, key: Hashable) -> None:
        """Send nothing more to the process of this remote worker: it cannot run packs."""

    def store(self) -> Store:
        """Return where an executor with a name leaves results on this cluster; it is open.

        Raises:
            UsageError: such a cluster keeps none.
        """

    def measure(self, message: bytes, heard: Heard) -> None:
        """Have each process with remote workers call `remote.hear(message)`, also while packs run there, once or now
        and then for a while, and pass on what it returns. One that has not answered may be left out. Returns at once.
        """

    def dashboard(self) -> str:
        """Return where the cluster says that its own dashboard is; "" for nowhere. It may ask the cluster."""

    def kill(self, key: Hashable, reason: str) -> None:
        """End that remote worker at once; `gone` follows, and `came` where it is replaced.

        Raises:
            BackendError: the cluster gives no way to end it.
        """

    def resize(self, workers: int, gone: Collection[Hashable] = ()) -> None:
        """Ask for that many remote workers. Those in ``gone`` have nothing to do any more: they go first.

        Raises:
            UsageError: the cluster is borrowed.
        """

    def close(self) -> None:
        """Within a bound: an own cluster is ended, a borrowed one has nothing of ours left."""
