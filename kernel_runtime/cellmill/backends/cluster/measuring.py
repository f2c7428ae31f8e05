"""What remote workers use: their processes are asked for it, about once a second, while tasks run or a view looks.

Nothing is read of processes by their numbers: those of another machine name other processes here.
"""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from ..scheduled.measured import Host, Measured
from ..scheduled.resource_use import ResourceUse
from . import pack
from .engines.protocol import Engine, RemoteWorker
from .lane import Lane
from .looking import Looking
from .remote.measure import Answer, machine, process

OFTEN, SELDOM = 0.2, 1.0  # seconds between questions, when work begins and later
LATER = 10.0  # the time between questions is at least this part of the time that the work has run
RATE = 100  # questions a second, at most
WATCHED = 3.0  # seconds for which a view counts as looking
STALE = 20.0  # seconds after which an answer is not told any more
IDLE = 0.2  # seconds between looks where nothing runs


class Lanes(Protocol):
    """The pool of lanes."""

    engine: Engine
    token: bytes
    looking: Looking

    @property
    def members(self) -> Mapping[int, Lane]: ...

    @property
    def remotes(self) -> Mapping[Hashable, RemoteWorker]: ...


class _Heard(NamedTuple):
    answer: Answer
    when: float  # it came, in monotonic seconds of the kernel
    shared: bool


class Measuring:
    """Asks the remote workers of one pool. See `scheduled.measured.Gauge`."""

    def __init__(self, pool: Lanes) -> None:
        self._pool = pool
        self._heard: dict[Hashable, _Heard] = {}  # by remote worker
        self._wanted = float("-inf")
        self._asked = float("-inf")
        self._began: float | None = None  # the present work
        self._message = pickle.dumps((pack.MEASURE, pool.token))

    def start(self, use: ResourceUse) -> None:
        """Ask from now on, and keep what was used."""
        self._pool.looking.begin("measure", partial(self._look, use))

    def _look(self, use: ResourceUse) -> float:
        pause = use.look()
        self._ask(runs=pause is not None)
        return IDLE if pause is None else min(pause, IDLE)

    def _ask(self, *, runs: bool) -> None:
        now = time.monotonic()
        if not runs:
            self._began = None
            if now > self._wanted + WATCHED:
                return
        elif self._began is None:
            self._began = now
        pause = SELDOM if self._began is None else min(SELDOM, max(OFTEN, (now - self._began) / LATER))
        if now - self._asked < max(pause, len(self._pool.remotes) / RATE):
            return
        self._asked = now
        there = set(self._pool.remotes)
        for key in list(self._heard):
            if key not in there:
                self._heard.pop(key, None)
        with contextlib.suppress(Exception):  # a cluster that is going
            self._pool.engine.measure(self._message, self._hear)

    def _hear(self, keys: Sequence[Hashable], answer: Any) -> None:
        """The remote workers with these keys, which share a process, have answered."""
        if isinstance(answer, Answer) and answer.own > 0 and answer.process != process():  # the kernel's own
            for key in keys:
                self._heard[key] = _Heard(answer, time.monotonic(), len(keys) > 1)

    # -- see `Gauge`

    def wanted(self) -> None:
        self._wanted = time.monotonic()

    def measure(self, index: int) -> Measured | None:
        lane = self._pool.members.get(index)
        heard = None if lane is None else self._recent(lane.remote.key)
        if lane is None or heard is None:
            return None
        answer, limit = heard.answer, lane.remote.limit or None
        return Measured(
            answer.process,
            answer.at,
            answer.own,
            answer.seconds,
            answer.resident if limit else None,
            limit,
            answer.running.get(lane.number, 0),
            heard.shared,
        )

    def hosts(self) -> list[Host]:
        here, found = machine(), dict[str, Host]()
        for key in list(self._heard):
            heard = self._recent(key)
            if heard is not None and heard.answer.total:
                one = heard.answer
                found[one.machine] = Host(one.host, one.machine == here, one.cpus, one.total, one.left)
        return list(found.values())

    def _recent(self, key: Hashable) -> _Heard | None:
        heard = self._heard.get(key)
        return heard if heard is not None and time.monotonic() - heard.when < STALE else None
