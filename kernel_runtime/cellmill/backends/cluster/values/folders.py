"""Folders for this process alone, named after it: should it be killed, the next process that makes one removes them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zlib
from pathlib import Path

from .. import clocks


def private(what: str, base: str | None = None) -> str:
    """A new one, mode 0700, in ``base`` or where temporary files go; those that dead processes left are removed."""
    base = base or tempfile.gettempdir()
    sweep(what, base)
    me = os.getpid()
    return tempfile.mkdtemp(prefix=f"cellmill-{what}-{_here()}-{me}-{start_of(me)}-", dir=base)


def sweep(what: str, base: str) -> None:
    """Remove folders of processes of this user that are gone."""
    for folder in Path(base).glob(f"cellmill-{what}-{_here()}-*"):
        with contextlib.suppress(OSError, ValueError):
            pid, start = folder.name.split("-")[3:5]
            if folder.stat().st_uid == os.getuid() and start_of(int(pid)) != int(start):
                shutil.rmtree(folder, ignore_errors=True)


def _here() -> str:
    """Return a name of the process number space: this boot of the machine and, within it, the container."""
    with contextlib.suppress(OSError):
        return f"{zlib.crc32((clocks.boot() + os.readlink('/proc/self/ns/pid')).encode()):08x}"
    return "anywhere"


def start_of(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 if there is none. Together with its number it
    identifies a process for good.
    """
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0
