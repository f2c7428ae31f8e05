"""The actors of one kernel on a cluster: made, watched, replaced, ended."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import LONG_SECONDS
from . import head, trouble
from .actor import GROUPS, THREADS, PackActor, process_space, wrap
from .kept import KeptObjects
from .wire import Wire

OPEN_SECONDS = 60.0  # until the first actor runs
NOTE_SECONDS = 15.0  # until it is said that some wait for room
MOST_FAILED = 3  # actors that did not start, one after another
GO_SECONDS = 2.0
_GROUP_OF = {"run": "run", "run_and_keep": "run", "hear": "control", "about": "control", "watch": "watch"}
_RETURNS = {"run_and_keep": 2}


@dataclass(slots=True)
class Actor:
    """An actor of ours."""

    handle: Any
    born: float
    pid: int = 0  # in this machine's process space; 0: not up, or elsewhere
    up: bool = False
    packs: int = 0
    since: float = 0.0  # when the oldest of these was sent, or the one before it was over
    measured: bool = False  # it was asked what it uses, and has not answered yet


class Actors:
    """Called by the bridge's main thread, and called back by Ray's.

    Ray's client waits for the thread that calls back: nothing is asked of Ray with the lock held, or from a callback.
    """

    def __init__(
        self,
        ray: Any,
        own: bool,
        options: dict[str, Any],
        wire: Wire,
        call_soon: Callable[..., None],
    ) -> None:
        self._ray = ray
        self._own = own
        self._wire = wire
        self.kept = KeptObjects(ray, wire)
        self._call_soon = call_soon
        self._lock = threading.RLock()  # held while something is told, so that nothing follows `gone`
        self._actors: dict[int, Actor] = {}
        self._next = 0
        self._wanted = 0
        self._spares = 0  # beyond these: a process that is ended takes seconds to be replaced
        self._opened = False
        self._began = time.monotonic()
        self._failed_starts = 0
        self._noted = 0
        self._closing = False
        self._client = bool(ray.util.client.ray.is_connected())
        if self._client:
            beside: dict[str, Any] = {"max_concurrency": THREADS}
        else:
            beside = {"concurrency_groups": GROUPS}
            for name, group in _GROUP_OF.items():
                returns = {"num_returns": _RETURNS.get(name, 1)}
                ray.method(concurrency_group=group, **returns)(getattr(PackActor, name))
        # An own Ray has no other use for its CPUs, and actors may become more than it began with.
        chosen = {"num_cpus": 0 if own else 1} | options
        self._cpus = float(chosen["num_cpus"])
        self._class = ray.remote(max_restarts=0, max_task_retries=0, **beside, **chosen)(PackActor)

    def open(self, workers: int) -> None:
        """Ask for actors: so many, or with 0 as many as the cluster has CPUs to give now."""
        if not workers:
            free = self._ray.available_resources().get("CPU", 0.0)
            workers = max(1, int(free / self._cpus)) if self._cpus else 1
        self._wanted = workers
        self.fill()

    def fill(self) -> None:
        """Make what is missing."""
        try:
            while self._missing():
                self._make()
        except Exception as error:
            self._call_soon("end", f"no worker can be asked for: {trouble.first_lines(str(error), 4)}")

    def _missing(self) -> bool:
        with self._lock:
            return len(self._actors) < self._wanted + self._spares and not self._closing

    def _make(self) -> None:
        key = self._next
        self._next += 1
        handle = self._class.remote(self._client)
        with self._lock:
            self._actors[key] = Actor(handle, time.monotonic())
        handle.about.remote().future().add_done_callback(functools.partial(self._about, key))

    def _about(self, key: int, told: Any) -> None:
        error = told.exception()
        if error is not None:
            self._unmade(key, error)
            return
        about = told.result()
        with self._lock:
            one = self._actors.get(key)
            if one is None or self._closing:
                return
            self._failed_starts = 0
            one.up = True
            one.pid = about["pid"] if about["space"] == process_space() else 0
            if not self._opened:
                self._opened = True
                self._wire.send(("opened", self._wanted))
            label = f"{about['host']}, process {about['pid']}"
            packs = 1 if self._client else 2  # the actors that it makes run calls in any order
            self._wire.send(("came", key, label, about["host"], about["pid"], packs))
        self._call_soon("watch", key)  # Ray's client cannot be called from its own thread

    def watch(self, key: int) -> None:
        """Hear of its end."""
        with self._lock:
            one = self._actors.get(key)
        if one is not None:
            one.handle.watch.remote().future().add_done_callback(functools.partial(self._ended, key))

    def _unmade(self, key: int, error: BaseException) -> None:
        with self._lock:
            if self._actors.pop(key, None) is None or self._closing:
                return
            if self._spares and len(self._actors) >= self._wanted:
                self._spares = 0
                self._wire.send(("spares", 0))
                return
            self._failed_starts += 1
            text = trouble.not_made(error, "the local Ray" if self._own else "the Ray cluster")
            if not trouble.is_missing(str(error)) and self._failed_starts < MOST_FAILED:
                self._call_soon("fill")
            elif any(one.up for one in self._actors.values()):
                self._wanted = len(self._actors)
                self._wire.send(("note", f"{text}\nThe work goes on with {self._wanted} workers."))
            else:
                self._call_soon("end", text)

    def _ended(self, key: int, told: Any) -> None:
        error = told.exception()
        self._lost(key, trouble.lost(error) if error is not None else "it ended by itself")

    def _lost(self, key: int, reason: str) -> None:
        with self._lock:
            one = self._actors.pop(key, None)
            if one is None or self._closing:
                return
            if self._own and one.pid:
                head.kill_below(group=one.pid)  # what its tasks had started
            self._wire.send(("gone", key, reason))
        self._call_soon("fill")

    # -- what is asked of them

    def send(self, key: int, pack: int, name: str, buffers: list[memoryview]) -> None:
        """A pack for this actor, which runs them in order."""
        with self._lock:
            one = self._actors.get(key)
            if one is None:
                return
            one.packs += 1
            if one.packs == 1:
                one.since = time.monotonic()
        try:
            if self._client:
                reply, kept = one.handle.run.remote(wrap(buffers, copied=True)), None
            else:
                reply, kept = one.handle.run_and_keep.options(name=name).remote(wrap(buffers))
        except Exception as error:  # the object store is full, say
            self._tell(key, ("failed", pack, f"{type(error).__name__}: {trouble.first_lines(str(error), 6)}"))
            return
        reply.future().add_done_callback(functools.partial(self._ran, key, pack, kept))

    def _ran(self, key: int, pack: int, kept: Any, told: Any) -> None:
        error = told.exception()
        if error is None:
            single, buffers, *named = told.result()
            views = [memoryview(each) for each in buffers]
            if named and named[1]:
                views[0] = self.kept.keep(kept, named[0], named[1], views[0])
            self._tell(key, ("replied", pack, single), views)
            return
        exceptions = self._ray.exceptions
        if isinstance(error, exceptions.ActorUnavailableError):
            self._call_soon("kill", key, "Ray has no connection to it any more")
        elif isinstance(error, exceptions.RayActorError):
            self._lost(key, trouble.lost(error))
        else:
            self._tell(key, ("failed", pack, f"{type(error).__name__}: {trouble.last_lines(str(error), 12)}"))

    def _tell(self, key: int, what: tuple[Any, ...], buffers: list[memoryview] | None = None) -> None:
        """Only for an actor that exists: packs of a lost one are lost, whatever comes back."""
        with self._lock:
            one = self._actors.get(key)
            if one is not None:
                one.packs -= 1
                one.since = time.monotonic()
                self._wire.send(what, buffers or ())

    def tell(self, key: int, message: bytes) -> None:
        """Call the actor's `hear`, also while a pack runs there."""
        with self._lock:
            one = self._actors.get(key)
        if one is not None and one.up:
            one.handle.hear.remote(message)

    def ask(self, key: int, number: int, message: bytes) -> None:
        """Call the actor's `hear`, and send its result back under ``number``."""
        with self._lock:
            one = self._actors.get(key)
        if one is None or not one.up:
            self._wire.send(("answered", number, False, "there is no such worker"))
            return
        one.handle.hear.remote(message).future().add_done_callback(functools.partial(self._answered, number))

    def _answered(self, number: int, told: Any) -> None:
        error = told.exception()
        good = error is None
        self._wire.send(
            ("answered", number, good, told.result() if good else trouble.first_lines(str(error)))
        )

    def measure(self, message: bytes) -> None:
        """Call the `hear` of all actors, and send on what each returns. One that has not answered is left out."""
        with self._lock:
            due = [(key, one) for key, one in self._actors.items() if one.up and not one.measured]
        for key, one in due:
            one.measured = True
            one.handle.hear.remote(message).future().add_done_callback(
                functools.partial(self._measured, key, one)
            )

    def _measured(self, key: int, one: Actor, told: Any) -> None:
        one.measured = False
        if told.exception() is None:
            self._wire.send(("measured", key, told.result()))

    def kill(self, key: int, reason: str) -> None:
        """Kill the actor at once; another one replaces it."""
        with self._lock:
            one = self._actors.get(key)
        if one is not None:
            self._lost(key, reason)
            self._end(one)

    def _end(self, one: Actor) -> None:
        if self._own and one.pid:
            with contextlib.suppress(OSError):
                os.kill(one.pid, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self._ray.kill(one.handle, no_restart=True)

    def resize(self, workers: int, first: list[int]) -> None:
        """So many from now on, and the one to spare; of those that are too many these go first, then the idle ones."""
        with self._lock:
            self._wanted = workers
            self._noted = 0
            in_order = sorted(self._actors, key=lambda key: (key not in first, self._actors[key].packs, -key))
            surplus = in_order[: max(0, len(self._actors) - workers - self._spares)]
        for key in surplus:
            self.kill(key, "it is not wanted any more")
        self.fill()

    # -- the course of time

    def look(self) -> None:
        """Say what does not come, and have an actor to spare where tasks are long."""
        now = time.monotonic()
        self._spare_one(now)
        with self._lock:
            late = [one for one in self._actors.values() if not one.up and now - one.born > NOTE_SECONDS]
            up = sum(one.up for one in self._actors.values())
        if not self._opened and now - self._began > OPEN_SECONDS:
            self._call_soon(
                "end",
                f"no worker has started within {OPEN_SECONDS:.0f} s{self._room()}. End what uses them, ask for fewer "
                'with actor={"num_cpus": 0.5}, or make the cluster larger.',
            )
        elif late and up < self._wanted and self._opened and self._noted != len(late):
            self._noted = len(late)
            self._wire.send(
                (
                    "note",
                    f"{up} of {self._wanted} workers run{self._room()}. The others join when there is room.",
                )
            )

    def _spare_one(self, now: float) -> None:
        """A task that does not hear that it is stopped takes its process with it: the spare one takes its place. In a
        borrowed cluster it would take what others may use.
        """
        with self._lock:
            long = any(one.packs and now - one.since >= LONG_SECONDS for one in self._actors.values())
            if not self._own or self._spares or not long:
                return
            self._spares = 1
            self._wire.send(("spares", 1))
        self.fill()

    def _room(self) -> str:
        if self._own:
            return ""
        with contextlib.suppress(Exception):
            total = self._ray.cluster_resources().get("CPU", 0.0)
            free = self._ray.available_resources().get("CPU", 0.0)
            return f": each needs {self._cpus:g} CPUs, and of the cluster's {total:g} {free:g} are free"
        return ""

    def close(self) -> None:
        """End the actors in a borrowed cluster, and wait until they are gone."""
        with self._lock:
            self._closing = True
            ours = list(self._actors.values())
        watched = [one.handle.watch.remote() for one in ours if one.up]
        for one in ours:
            self._end(one)
        if watched:
            self._ray.wait(watched, num_returns=len(watched), timeout=GO_SECONDS)
