"""The private directory of the sockets by which kernels are watched: which one it is, and who is there.

A server holds a lock on its file as long as it lives. What has no lock any more was left behind by one that was killed,
and the next process that looks removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError

__all__ = ["SETTING", "Served", "Socket", "prepared", "served"]

SETTING = "CELLMILL_RUNTIME_DIR"
MOST_PATH = 100  # bytes of the address of a socket; the system takes 107
MOST_FILE = 4096
FORGOTTEN = 10.0  # seconds after which a file that was never locked is left behind


@dataclass(frozen=True)
class Served:
    """A process that can be watched."""

    pid: int
    title: str  # what it runs
    began: float  # when it began to be served, seconds since the epoch
    socket: Path


def candidates() -> list[Path]:
    """Where the directory may be.  Sessions of one user do not all have the same variables, and the directory of a
    session goes with it while a program may go on.
    """
    named = os.environ.get(SETTING)
    if named:
        return [Path(named).expanduser()]
    session = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return [Path(f"/tmp/cellmill-{os.getuid()}"), Path(session) / "cellmill"]


def check(folder: Path) -> None:
    """Raise `UsageError` unless it is a directory of this user that no one else may enter."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{folder} is no directory: remove it, or name another one in {SETTING}")
    if found.st_uid != os.getuid():
        raise UsageError(f"{folder} belongs to another user: name a directory of your own in {SETTING}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(
            f"{folder} is open to other users: chmod 700 {folder}, or name another one in {SETTING}"
        )


def prepared() -> Path:
    """Return the directory, made if need be. Raises `UsageError` where there can be none."""
    error: Exception = UsageError("there is no directory for sockets")
    for folder in candidates():
        if not folder.parent.is_dir() and SETTING not in os.environ:
            continue
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            check(folder)
        except (OSError, UsageError) as problem:
            error = problem
        else:
            return folder
    raise (
        error if isinstance(error, UsageError) else UsageError(f"there is no directory for sockets: {error}")
    )


class Socket:
    """A place for the socket of one server: its file with the lock, and the address beside it."""

    def __init__(self, folder: Path, pid: int, title: str) -> None:
        sweep(folder)
        descriptor, made = tempfile.mkstemp(".new", f"{pid}-", folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self.path = Path(made).with_suffix(".ipc")
        if len(os.fsencode(self.path)) > MOST_PATH:
            os.unlink(made)
            os.close(descriptor)
            raise UsageError(
                f"{folder} is too long a name for sockets in it: name a shorter one in {SETTING}"
            )
        known = {"pid": pid, "title": title[:200], "began": time.time()}
        os.write(descriptor, json.dumps(known).encode())
        self._file = Path(made).with_suffix(".json")
        os.rename(made, self._file)
        self._lock = descriptor

    def remove(self) -> None:
        """Remove both."""
        for path in (self.path, self._file):
            with contextlib.suppress(OSError):
                path.unlink()
        os.close(self._lock)


def sweep(folder: Path) -> None:
    """Remove what killed servers left behind."""
    for path in [*folder.glob("*.json"), *folder.glob("*.new")]:
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.suffix == ".json" or time.time() - path.stat().st_mtime > FORGOTTEN:
                path.with_suffix(".ipc").unlink(missing_ok=True)
                path.unlink()


def served() -> list[Served]:
    """Return the processes of this user that can be watched, the latest first."""
    return sorted(_found(), key=lambda each: -each.began)


def _found() -> Iterator[Served]:
    for folder in candidates():
        if not folder.is_dir():
            continue
        try:
            check(folder)
        except UsageError:
            if SETTING in os.environ:
                raise
            continue  # nothing of ours is there
        sweep(folder)
        for path in folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                known = json.loads(path.read_bytes()[:MOST_FILE])
                yield Served(
                    int(known["pid"]), str(known["title"]), float(known["began"]), path.with_suffix(".ipc")
                )
