"""The number of processors for this process, and the processor time that a process has used and waited for."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path


def available_cpus(cgroup: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """CPUs that affinity and the cgroup's quota leave to this process, at least 1."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = cgroup.read_text().split()
        if quota != "max":
            cpus = min(cpus, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass
    return max(1, cpus)


def idle_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    """Return for how long the CPUs of this process have had nothing to do since the machine started, all together."""
    try:
        lines = [line.split() for line in stat.read_text().splitlines() if line.startswith("cpu")]
        mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        ticks = sum(int(line[4]) + int(line[5]) for line in lines if line[0] in mine)
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float | None:
    """Return the processor time that a process has used, all its threads, in seconds; None where it is gone."""
    clock = (~pid << 3) | 2  # what clock_getcpuclockid(3) gives on Linux
    try:
        return time.clock_gettime(clock)
    except OSError:
        return None


def seconds_without_processor(pid: int) -> float | None:
    """Return how long a process's main thread could run and had no processor; None where that is not known."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return None
