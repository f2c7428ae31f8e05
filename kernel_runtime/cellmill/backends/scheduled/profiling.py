"""What workers execute, sampled while it is wanted: switched on and off here, and the samples of all workers merged."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Mapping

from ...telemetry.profile import Flame, Profile, flame
from ...worker_process.protocol import PROFILE_EPOCH, PROFILE_RATE
from .scheduler import Scheduler, with_gil

RATE = 20  # samples a second of each worker
_EPOCHS = 1 << 20


class Profiling:
    """Of one backend; any thread. A subclass starts and ends its samplers.

    ``note``: what a reader of the profile has to know of how its samples are taken.
    """

    note = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._profile = Profile()
        self._epoch = 0
        self._on = False

    @property
    def on(self) -> bool:
        """Whether samples are taken."""
        return self._on

    def switch(self, on: bool) -> None:
        """Take samples from now on, beginning a new profile; or no more. Tasks that run are sampled too."""
        with self._lock:
            if on == self._on:
                return
            self._on = on
            if on:
                self._epoch = self._epoch % _EPOCHS + 1
                self._profile = Profile()
        self._change(self._epoch if on else 0)

    def flame(self, most: int, least: float) -> Flame:
        """Return the profile as people see it: at most so many bars, of at least this share of all time."""
        with self._lock:
            return flame(self._profile, most, least)

    def settle(self, seconds: float) -> bool:
        """Return when all samples are here that were taken before the switch was turned off, or this time is over:
        whether they are.
        """
        return True

    def _change(self, epoch: int) -> None:
        """Samplers begin this profile; 0: they end."""
        raise NotImplementedError


class WorkerProfiling(Profiling):
    """Of worker processes, which send their samples beside what their tasks print."""

    def __init__(self, scheduler: Scheduler, names: Mapping[int, str]) -> None:
        """``names`` of the functions, by number."""
        super().__init__()
        self._scheduler = scheduler
        self._names = names
        self._sampling: set[int] = set()  # workers that have more to tell
        self._heard = threading.Condition(self._lock)

    def _change(self, epoch: int) -> None:
        with_gil.csched_profile(
            self._scheduler.handle, epoch << PROFILE_EPOCH | (RATE & PROFILE_RATE) if epoch else 0
        )

    def hear(self, index: int, message: bytes) -> None:
        """Add what a worker tells."""
        epoch, last, first, new, times = pickle.loads(message)
        with self._lock:
            if epoch == self._epoch:
                self._profile.take(index, self._names, first, new, times)
                (self._sampling.discard if last else self._sampling.add)(index)
                self._heard.notify_all()

    def gone(self, index: int) -> None:
        """A worker has ended, and all that it told is heard."""
        with self._lock:
            self._profile.forget(index)
            self._sampling.discard(index)
            self._heard.notify_all()

    def settle(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        with self._lock:
            return self._on or self._heard.wait_for(
                lambda: not self._sampling, max(0.0, end - time.monotonic())
            )
