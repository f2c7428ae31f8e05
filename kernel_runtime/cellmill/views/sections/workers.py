"""The worker processes."""

from __future__ import annotations

import os
import time

from cellmill.executor import Executor
from cellmill.task import WorkerInfo
from cellmill.telemetry import schema

MOST_ENDS = 5
MEGABYTE = 1 << 20
_TICK = 1 / os.sysconf("SC_CLK_TCK")


class WorkersSection:
    """State and use of memory and processor of each worker, once a second; reads two small files for each."""

    interval = 1.0

    def __init__(self) -> None:
        self._last: schema.Workers | None = None
        self._used: dict[
            int, tuple[float, float]
        ] = {}  # by process: when it was looked at, and its processor time

    def restart(self) -> None:
        self._last = None

    def frame(self, executor: Executor) -> schema.Workers | None:
        infos = executor.workers()
        processes = executor.backend != "inline"
        used, self._used = self._used, {}
        frame: schema.Workers = {
            "cellmill": schema.VERSION,
            "kind": "workers",
            "restarts": max((info.restarts for info in infos), default=0),
            "workers": [self._state(info, used) for info in infos] if processes else [],
            "ends": [
                {"index": end.index, "how": end.how, "memory": end.memory}
                for end in executor._backend.worker_ends()[-MOST_ENDS:]
            ],
            "machine": self._machine(used) if processes else None,
        }
        if frame == self._last:
            return None
        self._last = frame
        return frame

    def _state(self, info: WorkerInfo, used: dict[int, tuple[float, float]]) -> schema.WorkerState:
        seconds = None if info.since_ns is None else max(0.0, time.monotonic() - info.since_ns / 1e9)
        own = info.pid if info.pid != os.getpid() else 0  # threads of the kernel have what it has
        return {
            "index": info.index,
            "pid": info.pid or None,
            "state": info.state,
            "done": info.tasks_done,
            "function": info.function,
            "task": None if info.task is None else str(info.task),
            "element": info.element,
            "seconds": None if seconds is None else round(seconds, 1),
            "cpu": self._cpu(own, used) if own else None,
            "memory": memory_of(own) if own else None,
            "declared": info.declared,
        }

    def _machine(self, used: dict[int, tuple[float, float]]) -> schema.Machine:
        from cellmill.process_context.machine import left_and_total

        free, total = left_and_total()
        return {
            "cpus": len(os.sched_getaffinity(0)),
            "memory": total,
            "free": free // (64 * MEGABYTE) * 64 * MEGABYTE,  # what others do on the machine is no news
            "pid": os.getpid(),
            "cpu": self._cpu(os.getpid(), used),
            "used": memory_of(os.getpid()) or 0,
        }

    def _cpu(self, pid: int, used: dict[int, tuple[float, float]]) -> float | None:
        """Processors it took since the last look, in whole percents; None before there are two looks."""
        now, seconds = time.monotonic(), cpu_seconds(pid)
        if seconds is None:
            return None
        self._used[pid] = (now, seconds)
        before = used.get(pid)
        if before is None or now - before[0] < 0.05:
            return None
        return max(0.0, round((seconds - before[1]) / (now - before[0]), 2))


def cpu_seconds(pid: int) -> float | None:
    """Processor time of a process so far; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK
    except (OSError, ValueError, IndexError):
        return None


def memory_of(pid: int) -> int | None:
    """Bytes of a process's own, in whole megabytes; None when it is gone."""
    from cellmill.process_context.machine import own_bytes

    found = own_bytes(pid)
    return found // MEGABYTE * MEGABYTE if found > 0 else None
