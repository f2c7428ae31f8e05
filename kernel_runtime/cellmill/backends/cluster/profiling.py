"""What remote workers execute: each of their processes samples its own tasks, and is asked for the samples."""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections.abc import Hashable, Mapping
from typing import Protocol

from ..scheduled.profiling import RATE, Profiling
from . import pack
from .engines.protocol import Engine, RemoteWorker
from .remote.profiler import Samples

ASK_SECONDS = 1.0  # between questions
MOST_ASKED = 64  # processes at a time


class Remotes(Protocol):
    """The pool of lanes."""

    engine: Engine
    token: bytes
    closed: bool

    @property
    def remotes(self) -> Mapping[Hashable, RemoteWorker]: ...


class RemoteProfiling(Profiling):
    """``names`` of the functions, by number."""

    note = (
        "Processes of a cluster are sampled where their interpreter passes from one thread to another: calls that "
        "release it, as reading files does, look longer than they are beside Python code."
    )

    def __init__(self, pool: Remotes, names: Mapping[int, str]) -> None:
        super().__init__()
        self._pool = pool
        self._names = names
        self._sources: dict[tuple[bytes, int], int] = {}  # by process
        self._asked: dict[Hashable, float] = {}  # by process: when it was asked last
        self._turns: dict[Hashable, threading.Lock] = {}  # by process: held while it is asked
        self._sampling: set[Hashable] = set()  # processes that have more to tell
        self._heard = threading.Condition(self._lock)
        self._ended = threading.Event()

    def _change(self, epoch: int) -> None:
        self._ended.set()
        if epoch:
            self._ended = threading.Event()
            threading.Thread(
                target=self._run, args=(epoch, self._ended), name="cellmill-profiling", daemon=True
            ).start()
        else:
            self._ask(0)

    def _run(self, epoch: int, ended: threading.Event) -> None:
        while not self._pool.closed and not ended.is_set():
            self._ask(epoch)
            ended.wait(ASK_SECONDS)

    def _ask(self, epoch: int) -> None:
        """Ask each process, in a thread of its own; while it profiles some of those that have answered."""
        processes = {remote.process: key for key, remote in list(self._pool.remotes.items())}
        message = pickle.dumps((pack.PROFILE, self._pool.token, epoch, RATE))
        with self._lock:
            self._turns = {one: self._turns.get(one) or threading.Lock() for one in processes}
            self._asked = {one: self._asked.get(one, 0.0) for one in processes}
            free = [one for one in processes if not self._turns[one].locked()]
            due = sorted(free, key=self._asked.__getitem__)[:MOST_ASKED] if epoch else list(processes)
            self._asked.update(dict.fromkeys(due, time.monotonic()))
            self._sampling = self._sampling & processes.keys() | set(due)
            turns = [(one, self._turns[one]) for one in due]
        for one, turn in turns:
            threading.Thread(
                target=self._ask_one,
                args=(one, turn, processes[one], message, not epoch),
                name="cellmill-profile-ask",
                daemon=True,
            ).start()

    def _ask_one(
        self, process: Hashable, turn: threading.Lock, key: Hashable, message: bytes, last: bool
    ) -> None:
        with turn:  # answers follow on one another
            answer = None
            with contextlib.suppress(Exception):  # a remote worker that is going, or too busy to hear
                answer = self._pool.engine.ask(key, message)
            with self._lock:
                if isinstance(answer, Samples) and answer.epoch == self._epoch:
                    source = self._sources.setdefault(answer.process, len(self._sources))
                    self._profile.take(source, self._names, answer.first, answer.new, answer.times)
                if last:
                    self._sampling.discard(process)
                self._heard.notify_all()

    def settle(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        with self._lock:
            return self._on or self._heard.wait_for(
                lambda: not self._sampling, max(0.0, end - time.monotonic())
            )
