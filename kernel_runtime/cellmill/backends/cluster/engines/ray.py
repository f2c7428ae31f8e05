"""Ray as an engine: an actor is a remote worker, reached over a process that is Ray's driver.

Ray ends a driver whose head node is lost, takes over signals and the environment, and knows one cluster a process:
so the driver is not the kernel but a small process beside it (``raybridge``). A Ray of our own lives below that
process and ends with it; of a borrowed one only our actors end.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import math
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Collection, Hashable, Sequence
from typing import Any

from ....diagnostics import notices
from ....errors import BackendError, UsageError
from ....process_context.cpus import available_cpus
from ..left.keeping import Store
from .protocol import Heard, Lanes, Reference, RemoteWorker, Waiting
from .ray_inputs import refer
from .ray_values import HeldByRay
from .raybridge.link import Link

OPEN_SECONDS = 240.0  # a machine that is very busy takes two minutes to start a Ray
ASK_SECONDS = 10.0
LOOK_SECONDS = 1.0  # between looks whether the bridge is there, while a value is fetched
PROBE_SECONDS = 5.0  # to find out whether a server listens at an address
AGAIN_SECONDS = 60.0  # an own Ray that is lost is started anew, but not twice within this
INSTALL = "Ray is not installed here: pip install 'cellmill[ray]' (or use another backend)."

__all__ = ["RayEngine"]


class RayEngine:
    """A Ray cluster: of our own without an address, else the one there."""

    name = "ray"
    refills = True
    keeps = False
    spares = 0  # an own Ray has one while tasks are long

    def __init__(
        self,
        address: str | None = None,
        *,
        init: dict[str, Any] | None = None,
        actor: dict[str, Any] | None = None,
    ) -> None:
        """``init``: further arguments of `ray.init`; ``actor``: options of the actors (``num_cpus``, ``num_gpus``,
        ``resources``, ``runtime_env``, ``scheduling_strategy``). Both are pickled: they go to another process.

        Raises:
            BackendError: Ray is not installed.
            UsageError: the address is none.
        """
        if importlib.util.find_spec("ray") is None:
            raise BackendError(INSTALL)
        self.address = find(address)
        self.owns = self.address is None
        self.where = "the local Ray" if self.owns else f"the Ray cluster at {self.address}"
        self._init = dict(init or {})
        self._actor = dict(actor or {})
        self._lanes: Lanes | None = None
        self._link: Link | None = None
        self._life = 0  # which Ray it is, where an own one was lost: part of each key
        self._actors: set[tuple[int, int]] = set()
        self._workers = 0
        self._expected = 0
        self._opened = threading.Event()
        self._refused = ""
        self._lost_at = -math.inf
        self._home = os.getpid()
        self._closed = False
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._asked: dict[int, queue.SimpleQueue[list[Any]]] = {}
        self._dashboard = ""  # where Ray says that it is
        self._cluster = ""  # what names it
        self._heard: Heard | None = None  # what actors say of themselves

    # -- the beginning

    def open(self, lanes: Lanes, workers: int | None) -> int:
        """Start or join a cluster and ask for remote workers; how many are expected. At least one has come by then.

        Raises:
            BackendError: none can be had; says why, and the next step.
        """
        if self.address is not None:
            probe(self.address)
        self._lanes = lanes
        self._workers = workers or (available_cpus() if self.owns else 0)
        try:
            self._begin()
            if not self._opened.wait(OPEN_SECONDS):
                last = self._link.last_words() if self._link is not None else ""
                raise BackendError(f"{self.where} gave no worker within {OPEN_SECONDS:.0f} s.{last}")
            if self._refused:
                raise BackendError(self._refused)
        except BaseException:
            self.close()
            raise
        return self._expected

    def _begin(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._life += 1
            self.spares = 0
            self._link = Link(self._hear, self._over)
            self._link.wire.send(("open", self.address, self._workers, self._init, self._actor))

    # -- what comes

    def _hear(self, what: tuple[Any, ...], buffers: list[memoryview]) -> None:
        assert self._lanes is not None
        verb, *rest = what
        if verb == "replied":
            pack, single = rest
            self._lanes.replied(pack, buffers[0] if single else list(buffers))
        elif verb == "failed":
            pack, text = rest
            self._lanes.failed(pack, BackendError(f"Ray could not run a pack of tasks: {text}"))
        elif verb == "came":
            number, *told = rest
            key = (self._life, number)
            self._actors.add(key)
            self._lanes.came(RemoteWorker(key, *told))
        elif verb == "gone":
            number, reason = rest
            key = (self._life, number)
            self._actors.discard(key)
            self._lanes.gone(key, reason)
        elif verb == "spares":
            self.spares = int(rest[0])
        elif verb == "note":
            notices.warn(f"Ray: {rest[0]}")
        elif verb == "answered":
            number, *answer = rest
            asked = self._asked.pop(number, None)
            if asked is not None:
                asked.put(answer)
        elif verb == "fetched":
            fetching = self._asked.pop(rest[0], None)
            if fetching is not None:
                fetching.put(list(buffers))
        elif verb == "measured":
            number, answer = rest
            if self._heard is not None:
                self._heard([(self._life, number)], answer)
        elif verb == "reached":
            self._dashboard, self._cluster = map(str, rest)
        elif verb == "opened":
            self._expected = int(rest[0])
            self._opened.set()

    def _over(self, link: Link, reason: str | None) -> None:
        """The bridge has ended by itself: no cluster can be had, or it is lost."""
        assert self._lanes is not None
        last = link.last_words() if reason is None else ""
        with self._lock:
            if self._closed:
                return
            link.close()
        if not self._opened.is_set():
            self._refused = reason or f"{self.where} was lost while it started.{last}"
            self._opened.set()
            return
        text = f"{self.where} is lost: {reason or 'the process that drives it has ended'}.{last}"
        for key in list(self._actors):
            self._actors.discard(key)
            self._lanes.gone(key, text)
        before, self._lost_at = self._lost_at, time.monotonic()
        if self.owns and self._lost_at - before > AGAIN_SECONDS:
            notices.warn(f"{text} It is started anew.")
            try:
                self._begin()
            except BackendError as error:
                self._lanes.broken(error)
            return
        self._lanes.broken(BackendError(f"{text}\nMake a new executor to go on."))

    # -- what is asked

    def send(self, key: Hashable, pack: int, data: list[Any], name: str) -> None:
        """A pack for this remote worker. To one that is gone nothing is sent: `gone` tells of its packs."""
        self._say(key, "send", pack, name, buffers=data)

    def tell(self, key: Hashable, message: bytes) -> None:
        """Call `remote.hear(message)` on the remote worker, also while a pack runs there."""
        self._say(key, "tell", buffers=[message])

    def ask(self, key: Hashable, message: bytes) -> Any:
        """Call `remote.hear(message)` on the remote worker, and return its result.

        Raises:
            BackendError: there was none within seconds.
        """
        number = next(self._numbers)
        answer = self._asked[number] = queue.SimpleQueue()
        self._say(key, "ask", number, buffers=[message])
        try:
            good, value = answer.get(timeout=ASK_SECONDS)
        except queue.Empty:
            good, value = False, f"no answer within {ASK_SECONDS:.0f} s"
        finally:
            self._asked.pop(number, None)
        if not good:
            raise BackendError(f"a worker of Ray did not answer: {value}")
        return value

    def refer(self, thing: Any) -> Reference | None:
        return refer(self._cluster, self.where, thing)

    def want(self, waiting: Sequence[Waiting], there: int, more: int) -> None:
        """Actors that have no room yet are what Ray's autoscaler sees."""

    def values(self) -> HeldByRay | None:
        client = self.address is not None and self.address.startswith("ray://")
        return None if client else HeldByRay(self._fetch, self._release)

    def _fetch(self, name: bytes, index: int) -> list[memoryview]:
        """Return the parts of a value that the bridge holds, none where it is lost.

        Raises:
            BackendError: the bridge is gone.
        """
        number, link = next(self._numbers), self._link
        answer = self._asked[number] = queue.SimpleQueue()
        self._order("fetch", number, name, index)
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    return answer.get(timeout=LOOK_SECONDS)
                if link is None or link.process.poll() is not None:
                    raise BackendError(f"{self.where} is lost")
        finally:
            self._asked.pop(number, None)

    def _release(self, name: bytes) -> None:
        self._order("release", name)

    def _order(self, *what: Any) -> None:
        """Tell the bridge."""
        if self._link is not None and os.getpid() == self._home:
            self._link.wire.send(what)

    def watch(self) -> None:
        return None  # actors end with their driver

    def leave_alone(self, key: Hashable) -> None:
        """An actor is Cellmill's own, and hears nothing that is not sent to it."""

    def store(self) -> Store:
        raise UsageError("name= keeps results on clusters of Dask; on Ray there is no such thing yet")

    def measure(self, message: bytes, heard: Heard) -> None:
        """Have each actor call `remote.hear(message)`, and hear what it returns."""
        self._heard = heard
        if self._link is not None and os.getpid() == self._home:
            self._link.wire.send(("measure",), [message])

    def dashboard(self) -> str:
        return self._dashboard

    def kill(self, key: Hashable, reason: str) -> None:
        """End this actor; another one follows."""
        self._say(key, "kill", reason)

    def resize(self, workers: int, gone: Collection[Hashable] = ()) -> None:
        """So many actors: they are ours on any cluster. Those for which it has no room join when there is some."""
        self._workers = workers
        first = [key[1] for key in gone if isinstance(key, tuple)]
        if self._link is not None and os.getpid() == self._home:
            self._link.wire.send(("resize", workers, first))

    def _say(self, key: Hashable, verb: str, *rest: Any, buffers: Any = ()) -> None:
        link = self._link
        if link is None or os.getpid() != self._home:
            return
        assert isinstance(key, tuple)
        if key[0] == self._life:
            link.wire.send((verb, key[1], *rest), buffers)

    # -- the end

    def close(self) -> None:
        """An own Ray has no process left afterwards, a borrowed one nothing of ours. At most some ten seconds."""
        if os.getpid() != self._home:
            return
        with self._lock:
            link, self._link = self._link, None
            self._closed = True
        if link is not None:
            link.close()


def find(address: str | None) -> str | None:
    """The cluster that is meant: this address, else the one that this process is connected to, else RAY_ADDRESS; None:
    our own.

    Accepts ``HOST:PORT``, ``ray:HOST:PORT``, ``ray://HOST:PORT`` (Ray's client), ``local`` (our own) and ``auto``.

    Raises:
        UsageError: no address.
    """
    if address is not None and address.startswith("ray:") and not address.startswith("ray://"):
        address = address.removeprefix("ray:")
    if address == "local":
        return None
    if address is not None and address not in ("", "ray", "auto"):
        if not address.rpartition(":")[2].isdigit():
            raise UsageError(
                f"{address!r} is no address of a Ray cluster: use HOST:6379 on one of its nodes, or ray://HOST:10001."
            )
        return address
    connected = _connected(sys.modules.get("ray"))
    return connected or os.environ.get("RAY_ADDRESS") or ("auto" if address == "auto" else None)


def _connected(ray: Any) -> str | None:
    """Return the address that Ray is connected to in this process, or None where it is not."""
    if ray is None or not hasattr(ray, "is_initialized") or not ray.is_initialized():
        return None
    client: Any = sys.modules.get("ray.util.client")
    if client is not None and client.ray.is_connected():
        reached = getattr(client.ray.worker, "_conn_str", None)
        if reached:
            return f"ray://{reached}"
        raise BackendError(
            "this kernel is connected by Ray's client, and its address is not known: give it, as ray://HOST:10001."
        )
    return str(ray.get_runtime_context().gcs_address)


def probe(address: str) -> None:
    """Raise `BackendError` within seconds where no server listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS).close()
    except OSError as error:
        raise BackendError(
            f"the Ray cluster at {address} cannot be reached: {error}. Is it running (`ray status` on its head node), "
            "and is this its address? A machine outside of the cluster uses the client's port, ray://HOST:10001."
        ) from error
