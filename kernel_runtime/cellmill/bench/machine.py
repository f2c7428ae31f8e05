"""What the figures were measured on: machine, versions, commit; and what processes use, from /proc."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import __version__


def describe() -> dict[str, Any]:
    """Processor, cores this process may use, memory in bytes, kernel."""
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory": int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) * 1024,
        "kernel": f"{platform.system()} {platform.release()}",
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def versions(packages: Iterable[str | None]) -> dict[str, str]:
    """Versions of Python, Cellmill and those of ``packages`` that are installed."""
    found = {"python": platform.python_version(), "cellmill": __version__}
    for package in sorted({"numpy", *(p for p in packages if p)}):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit of the source tree this package runs from, ``+`` for changes on top; None outside of one."""
    here = Path(__file__).resolve().parent
    git = ["git", "-C", str(here)]
    try:
        if subprocess.run(
            [*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True
        ).returncode:
            return None  # installed inside another repository, or in none
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _field(path: str, name: str) -> str | None:
    """The value of the first line ``name : value``."""
    try:
        for line in Path(path).read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    except OSError:
        pass
    return None


def resident() -> int:
    """Bytes of memory that this process has in use, shared memory it touched included."""
    return int((_field("/proc/self/status", "VmRSS") or "0 kB").split()[0]) * 1024


def trim() -> None:
    """Make malloc give its free pages back to the system, where it can."""
    import ctypes

    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def stolen_ms() -> float:
    """Milliseconds of processor time that other guests of a virtual machine's host took so far; 0 on one's own."""
    ticks = int(Path("/proc/stat").read_text().split(maxsplit=9)[8])
    return 1e3 * ticks / os.sysconf("SC_CLK_TCK")


def family(root: int | None = None) -> list[int]:
    """Return a process, this one if none is given, and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found = [os.getpid() if root is None else root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def cpu_ns(pids: Iterable[int]) -> int:
    """Nanoseconds of processor time that the living threads of these processes have had."""
    total = 0
    for pid in pids:
        for schedstat in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(schedstat.read_text().split()[0])
            except (OSError, IndexError):
                continue
    return total
