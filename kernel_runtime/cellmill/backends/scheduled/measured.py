"""What the process of a worker uses."""

from __future__ import annotations

import socket
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ...process_context.cpus import available_cpus, processor_seconds
from ...process_context.machine import left_and_total, sizes_of


class Measured(NamedTuple):
    """What a process uses at one moment, read by itself or on its machine."""

    process: Hashable  # workers with the same one share it, and what it uses
    at: float  # that moment, in seconds of a clock of its own
    memory: int  # bytes of its own
    seconds: float | None  # processor time so far
    resident: int | None = None  # bytes that its limit counts
    limit: int | None = None  # bytes that it may have; None: not known, or no limit of its own
    ticket: int | None = (
        None  # of the task that the worker ran at that moment, 0: none; None: the moment is now
    )
    shared: bool = False  # other workers are in the same process


class Host(NamedTuple):
    """A machine, or control group, with workers."""

    name: str
    here: bool  # the kernel is there, too
    cpus: int
    memory: int
    free: int


class Gauge(Protocol):
    """Measures the workers of one pool; any thread."""

    def measure(self, index: int) -> Measured | None:
        """Return the newest that is known of a worker's process; None: nothing, or it is too old."""

    def hosts(self) -> Sequence[Host]:
        """Return the machines of the workers, as far as they are known."""

    def wanted(self) -> None:
        """A view looks: measure in the next seconds, also while no task runs."""


class Pool(Protocol):
    """The worker processes of this machine, by number."""

    @property
    def members(self) -> Mapping[int, Any]: ...


def of_process(pid: int) -> Measured | None:
    """Measure a process of this machine; None when it is gone."""
    memory, _ = sizes_of(pid)
    return Measured(pid, time.monotonic(), memory, processor_seconds(pid)) if memory else None


class ProcessGauge:
    """Measures worker processes of this machine. See `Gauge`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def measure(self, index: int) -> Measured | None:
        member = self._pool.members.get(index)
        return of_process(member.pid) if member is not None and member.pid else None

    def hosts(self) -> list[Host]:
        left, total = left_and_total()
        return [Host(socket.gethostname(), True, available_cpus(), total, left)]

    def wanted(self) -> None:
        pass
