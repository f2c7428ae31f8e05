"""All kernels that can be watched, looked at from time to time, with the figures of the last minutes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import CellmillError
from ..folder import Served, served
from ..kernel import Following, Kernel

__all__ = ["KEPT", "Kernels", "Moment"]

KEPT = 1200  # moments of each kernel: ten minutes, at two a second


class Moment(NamedTuple):
    """Figures at one time; columns of what is drawn."""

    number: int  # they are counted, from 1 on
    time: float  # milliseconds since the epoch, as Bokeh has them
    rate: float  # tasks a second
    queued: int  # with those that wait for inputs
    running: int
    busy: int  # workers
    workers: int
    memory: float  # MB of the workers


@dataclass(slots=True)
class _Watched:
    following: Following
    latest: Kernel | None = None
    moments: deque[Moment] = field(default_factory=lambda: deque(maxlen=KEPT))


class Kernels:
    """For one thread at a time, but `known`, `latest` and `since`, which only read."""

    def __init__(self) -> None:
        self._watched: dict[Served, _Watched] = {}
        self._numbers = 0

    def look(self) -> None:
        """Look at all that there are now; one that does not answer in time keeps its last figures."""
        there = served()
        for gone in [each for each in self._watched if each not in there]:
            self._watched.pop(gone).following.close()
        for each in there:
            watched = self._watched.get(each) or _Watched(Following(each))
            try:
                watched.latest = watched.following.look()
            except CellmillError:
                continue
            finally:
                self._watched[each] = watched
            self._numbers += 1
            watched.moments.append(_moment(self._numbers, watched.latest))

    def close(self) -> None:
        """Let them alone."""
        for watched in self._watched.values():
            watched.following.close()
        self._watched.clear()

    def known(self) -> list[Served]:
        """Return those that there are, the latest first."""
        return sorted(self._watched, key=lambda each: -each.began)

    def latest(self, kernel: Served) -> Kernel | None:
        """Return its last figures; None where it has gone, or has told none yet."""
        found = self._watched.get(kernel)
        return None if found is None else found.latest

    def since(self, kernel: Served, number: int) -> list[Moment]:
        """Return its moments after this one."""
        found = self._watched.get(kernel)
        return [] if found is None else [moment for moment in list(found.moments) if moment.number > number]

    def command(self, kernel: Served, act: Callable[[Following], object]) -> None:
        """Do something with one. Raises `CellmillError` where it has gone or does not answer."""
        found = self._watched.get(kernel)
        if found is None:
            raise CellmillError(
                f"process {kernel.pid} ({kernel.title}) has ended, or is not watched any more"
            )
        act(found.following)


def _moment(number: int, kernel: Kernel) -> Moment:
    memory = sum(worker["memory"] or 0 for worker in kernel.workers)
    return Moment(
        number,
        time.time() * 1e3,
        kernel.rate or 0.0,
        kernel.counts["queued"] + kernel.counts["waiting"],
        kernel.counts["running"],
        sum(worker["state"] == "busy" for worker in kernel.workers),
        len(kernel.workers),
        memory / 1e6,
    )
