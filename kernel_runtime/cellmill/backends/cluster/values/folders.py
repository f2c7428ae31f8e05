"""Folders for this process alone, named after it.

Should it be killed, a guard removes them: a shell beside it that waits for its end. Should that be killed as well, the
next process that makes one removes them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from .. import clocks

# It reads until this process has ended, in whatever way; others may still write there for a moment.
_GUARD = 'read -r line; rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }'
GUARD_SECONDS = 5.0  # for a guard to go when its folder has gone

_guards: dict[str, subprocess.Popen[bytes]] = {}  # by folder


def private(what: str, base: str | None = None) -> str:
    """A new one, mode 0700, in ``base`` or where temporary files go; those that dead processes left are removed."""
    base = base or tempfile.gettempdir()
    sweep(what, base)
    me = os.getpid()
    made = tempfile.mkdtemp(prefix=f"cellmill-{what}-{_here()}-{me}-{start_of(me)}-", dir=base)
    with contextlib.suppress(OSError):  # without a shell the next process removes it
        _guards[made] = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "cellmill-guard", made],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # what is meant for this process and its group is not meant for it
        )
    return made


def remove(folder: str) -> None:
    """Remove a folder that `private` made."""
    shutil.rmtree(folder, ignore_errors=True)
    guard = _guards.pop(folder, None)
    if guard is not None and guard.stdin is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            guard.stdin.close()
            guard.wait(GUARD_SECONDS)


def _in_child() -> None:
    """Leave the guards to the process that forked: they wait until no process can write to them."""
    for guard in _guards.values():
        if guard.stdin is not None:
            with contextlib.suppress(OSError):
                guard.stdin.close()
        guard.returncode = 0  # it is no child of this process
    _guards.clear()


os.register_at_fork(after_in_child=_in_child)


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
