"""Where a record is made, and by which clock: told in its head, so that a reader on another machine knows."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import socket
import sys
import time
from pathlib import Path
from typing import Any

from ..process_context.cpus import available_cpus
from ..process_context.machine import left_and_total


def here() -> dict[str, Any]:
    """The machine, the process and the clock, as a record's head has them."""
    return {
        **_of_process(os.getpid()),
        "program": Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "",
        "cpus": available_cpus(),
        "memory": left_and_total()[1],
    }


@functools.lru_cache(1)
def _of_process(pid: int) -> dict[str, Any]:
    """What does not change while a process lasts, forked ones apart."""
    return {
        "host": socket.gethostname(),
        "boot": boot(),
        "pid": pid,
        "began_process": process_start(pid),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "clock": "CLOCK_MONOTONIC",
    }


@functools.cache
def boot() -> str:
    """What tells one start of a machine from another: times of the monotonic clock are of one start."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def process_start(pid: int) -> int:
    """When a process began, in ticks since the machine did; 0 where there is none of that number."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return 0


def is_alive(head: dict[str, Any]) -> bool:
    """Whether the process that wrote this head still runs, on this machine."""
    began = head.get("began_process")
    return bool(began) and head.get("boot") == boot() and process_start(int(head.get("pid", 0))) == began


def wall_clock_ns(monotonic_ns: int) -> int:
    """The time since 1970 of a moment on the monotonic clock, by what both show now."""
    return time.time_ns() - (time.monotonic_ns() - monotonic_ns)
