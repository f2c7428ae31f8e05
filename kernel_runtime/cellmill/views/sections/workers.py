"""The worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable

from cellmill.executor import Executor
from cellmill.process_context.cpus import processor_seconds
from cellmill.process_context.machine import left_and_total, own_bytes
from cellmill.task import WorkerInfo
from cellmill.telemetry import schema
from cellmill.telemetry.usage import Shares

MOST_ENDS = 5
MOST_HOSTS = 16
MEGABYTE = 1 << 20
LEAST_SECONDS = 0.05  # between two looks at the processor time of a process


class WorkersSection:
    """State of each worker, with what its backend knows of its processors and memory, once a second."""

    interval = 1.0

    def __init__(self) -> None:
        self._last: schema.Workers | None = None
        self._shares = Shares(LEAST_SECONDS)

    def restart(self) -> None:
        self._last = None

    def frame(self, executor: Executor) -> schema.Workers | None:
        infos = executor.workers()
        processes = executor.backend != "inline"
        first: dict[Hashable, int] = {}  # worker, by process
        link = executor._backend.dashboard
        frame: schema.Workers = {
            "cellmill": schema.VERSION,
            "kind": "workers",
            "restarts": executor._backend.restarts,
            "workers": [self._state(executor, info, first) for info in infos] if processes else [],
            "ends": [
                {"index": end.index, "how": end.how, "memory": end.memory}
                for end in executor._backend.worker_ends()[-MOST_ENDS:]
            ],
            "machine": self._machine() if processes else None,
            "hosts": other_hosts(executor) or None,
            "dashboard": {"name": executor.backend.capitalize(), "link": link} if link else None,
        }
        self._shares.keep({*first, os.getpid()})
        if frame == self._last:
            return None
        self._last = frame
        return frame

    def _state(self, executor: Executor, info: WorkerInfo, first: dict[Hashable, int]) -> schema.WorkerState:
        """One worker. What its process uses is told once: by the ``first`` worker that is in it."""
        seconds = None if info.since_ns is None else max(0.0, time.monotonic() - info.since_ns / 1e9)
        use = executor._backend.use
        used = None if use is None else use.measured(info.index)
        owner = info.index if used is None else first.setdefault(used.process, info.index)
        told = used if owner == info.index else None
        return {
            "index": info.index,
            "pid": info.pid or None,
            "state": info.state,
            "done": info.tasks_done,
            "function": info.function,
            "task": None if info.task is None else str(info.task),
            "element": info.element,
            "seconds": None if seconds is None else round(seconds, 1),
            "cpu": None if told is None else rounded(self._shares.of(told.process, told.at, told.seconds)),
            "memory": None if told is None else whole(told.memory),
            "declared": None if used is not None and used.shared else info.declared,
            "address": info.address,
            "shares": None if owner == info.index else owner,
            "resident": None if told is None else whole(told.resident),
            "limit": None if told is None else told.limit,
        }

    def _machine(self) -> schema.Machine:
        free, total = left_and_total()
        seconds = processor_seconds(os.getpid())
        return {
            "cpus": len(os.sched_getaffinity(0)),
            "memory": total,
            "free": steady(free),
            "pid": os.getpid(),
            "cpu": rounded(self._shares.of(os.getpid(), time.monotonic(), seconds)),
            "used": whole(own_bytes(os.getpid())) or 0,
        }


def other_hosts(executor: Executor) -> list[schema.WorkerHost]:
    """Return the machines of the workers that are not the kernel's: the first ones by name."""
    use = executor._backend.use
    others = [] if use is None else [host for host in use.hosts() if not host.here]
    return [
        {"name": host.name, "cpus": host.cpus, "memory": host.memory, "free": steady(host.free)}
        for host in sorted(others, key=lambda host: host.name)[:MOST_HOSTS]
    ]


def rounded(share: float) -> float | None:
    """Return processors in whole percents; None where they are not known (NaN)."""
    return None if share != share else round(share, 2)


def whole(size: int | None) -> int | None:
    """Return bytes in whole megabytes."""
    return None if size is None else size // MEGABYTE * MEGABYTE


def steady(free: int) -> int:
    """Return free memory as it is told: what others do on a machine is no news."""
    return free // (64 * MEGABYTE) * 64 * MEGABYTE
