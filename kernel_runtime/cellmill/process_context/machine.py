"""The memory of this machine, or of the control group where that has less."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
PAGE = os.sysconf("SC_PAGE_SIZE")


def left_and_total() -> tuple[int, int]:
    """Bytes that can still be had and all there are: of the machine, or of the control group where that has less."""
    found = {}
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as file:
        for line in file:
            name, _, rest = line.partition(":")
            found[name] = int(rest.split()[0]) * 1024
    left, total = found.get("MemAvailable", 1 << 62), found.get("MemTotal", 1 << 62)
    with contextlib.suppress(OSError, ValueError):
        most = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        for line in (CGROUP / "memory.stat").read_text().splitlines():
            if line.startswith("inactive_file "):
                used -= int(line.split()[1])
        if most - used < left:
            left, total = most - used, most
    return left, total


def sizes_of(pid: int) -> tuple[int, int]:
    """Resident memory of a process: what is its own, and in all, files that it maps included; 0, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0, 0
    return (resident - shared) * PAGE, resident * PAGE


def own_bytes(pid: int) -> int:
    """Resident memory of a process that is its own; 0 when it is gone."""
    return sizes_of(pid)[0]


def is_bounded() -> bool:
    """Whether the control group has a limit of memory."""
    try:
        return (CGROUP / "memory.max").read_text().strip().isdigit()
    except OSError:
        return False
