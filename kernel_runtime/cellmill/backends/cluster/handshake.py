"""The first exchange with a remote worker, before any task goes there, and the last."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from ...by_value.pickling import dumps
from ...errors import BackendError
from ...process_context.settings import Settings as Habits
from ..scheduled.context_watch import context_for_clusters
from ..scheduled.scheduler import nogil
from . import clocks, diagnostics, pack
from .engines.protocol import Engine, RemoteWorker
from .modules import Listed, Texts
from .packs_in_flight import SentPack
from .page import Page
from .remote import entry, measure
from .values.proxies import Keeper

GREETING_SECONDS = 60.0
HELLOS = 4  # to a remote worker on another machine, for the clock
SLICE_MS = 500  # of a wait
CLOSING_SECONDS = 5.0


class Settings:
    """Settings that a remote worker receives before its first task."""

    def __init__(
        self,
        preloaded: list[str],
        initializer: bytes | None,
        keeper: Keeper | None,
        own: bool,
        watch: Callable[[], Any],
    ) -> None:
        """``watch``: see `Engine.watch`."""
        self._own = own  # whether the cluster ends with this process
        self._watch = watch
        self._preloaded = preloaded  # may grow
        self._base = context_for_clusters(Habits())
        self._initializer = initializer
        self._keeper = keeper
        self._outside: bytes | None = None

    def encode(self, page: str, settings: Habits, modules: Listed, *, alone: bool) -> bytes:
        """Pickle the present settings for the remote worker that writes this page. The cluster is reached by then.
        ``alone``: no other one is in its process.
        """
        if self._outside is None and self._keeper is not None:
            self._outside = dumps(self._keeper.outside)
        return pickle.dumps(
            {
                "page": page,
                "alone": alone,
                "boot": clocks.boot(),
                "process": measure.process(),
                "ends_with": os.getpid() if self._own else 0,
                "watch": self._watch(),
                "context": context_for_clusters(settings),
                "base": self._base,
                "preload": list(self._preloaded),
                "initializer": self._initializer,
                "outside": self._outside,
                "modules": modules,
            }
        )


class Greeter(Protocol):
    """The lane that meets its remote worker."""

    remote: RemoteWorker
    handle: Any
    page: Page
    clock: clocks.Clock
    packs: deque[SentPack]
    pid: int
    lost: str | None
    retiring: bool

    @property
    def closed(self) -> bool:
        """Whether its pool is."""

    def dispatch(self, kind: int, tasks: int, body: list[Any]) -> SentPack: ...

    def hear(self, frames: memoryview) -> None: ...

    def texts(self, names: Iterable[str], shipped: bool) -> tuple[Texts, bytes | None]: ...

    def initializer_failed(self, error: bytes) -> None: ...


def greet(lane: Greeter, settings: bytes) -> bool:
    """Exchange identities; True: tasks may come. In its relay thread.

    Raises:
        BackendError: Cellmill is not there, or another version; says the next step.
    """
    for count in range(HELLOS):
        # settings are pickled: they go where the first exchange has found the same versions
        answer = _exchange(lane, [settings] if count == 1 else [])
        if answer is not None and answer.get("lacking"):
            answer = _exchange(lane, [settings, pickle.dumps(lane.texts(*answer["lacking"]))])
        if answer is None:
            return False
        if count == 0:
            _meet(lane, answer)
        elif count == 1 and not _settled(lane, answer):
            return False
        if lane.clock.same and count:
            break
    return True


def _exchange(lane: Greeter, body: list[Any]) -> dict[str, Any] | None:
    """One exchange; None where the lane goes."""
    sent = time.monotonic_ns()
    asked = lane.dispatch(pack.HELLO, 0, body)
    deadline = time.monotonic() + GREETING_SECONDS
    while not asked.over and lane.lost is None:
        nogil.csched_lane_wait(lane.handle, SLICE_MS)
        if lane.closed or lane.retiring:
            return None
        if time.monotonic() > deadline:
            diagnostics.warn_slow(lane.remote)
            deadline = time.monotonic() + GREETING_SECONDS
    if lane.lost is not None:
        return None
    received = time.monotonic_ns()
    lane.packs.clear()
    if asked.error is not None:
        raise diagnostics.explain(asked.error)
    reply = pack.decode_reply(asked.answer)
    lane.clock.exchanged(sent, reply.begun, reply.ended, received)
    if reply.frames.nbytes:
        lane.hear(reply.frames)
    answer: dict[str, Any] = pickle.loads(b"".join(reply.data))
    return answer


def _meet(lane: Greeter, answer: dict[str, Any]) -> None:
    mine, theirs = entry.versions(), answer["versions"]
    if mine != theirs:
        differ = ", ".join(
            f"{k} {theirs.get(k, '?')} (here: {v})" for k, v in mine.items() if theirs.get(k) != v
        )
        raise BackendError(
            f"the worker {lane.remote.label} has {differ}. Tasks and results cannot be exchanged between them: "
            "install the same versions at both ends."
        )
    lane.clock.same = bool(answer["boot"]) and answer["boot"] == clocks.boot()
    lane.pid = lane.pid or int(answer["pid"])


def _settled(lane: Greeter, answer: dict[str, Any]) -> bool:
    lane.page.known = bool(answer["page"])
    if "error" in answer:
        lane.initializer_failed(answer["error"])
        return False
    return True


def take_leave(engine: Engine, token: bytes, remotes: Iterable[Hashable]) -> None:
    """Have each remote worker put back what it was like, and wait a moment for its word: the way there ends next."""
    message = pickle.dumps((pack.LEAVE, token))
    threads = [
        threading.Thread(target=_leave, args=(engine, key, message), name="cellmill-leave", daemon=True)
        for key in remotes
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + CLOSING_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _leave(engine: Engine, key: Hashable, message: bytes) -> None:
    with contextlib.suppress(Exception):  # a remote worker that is going, or does not hear
        engine.ask(key, message)
