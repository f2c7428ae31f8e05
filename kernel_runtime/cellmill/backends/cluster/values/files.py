"""Large values as files that every process of this machine maps into its memory, or reads from a shared file system.

A connector of ProxyStore's kind: a value is written in one go from the pieces it consists of, and its key is unknown
before.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from . import folders

ENOUGH = 1 << 30  # bytes that must be free where values are kept in memory


class FileKey(NamedTuple):
    """Names a value."""

    filename: str


class MappedFiles:
    """See the module. ``store_dir`` is not made here: its owner makes it private.

    ``mapped``: evicted values stay readable where they are mapped, which a network file system does not promise.
    """

    def __init__(self, store_dir: str, *, mapped: bool = True) -> None:
        self.store_dir = store_dir
        self.mapped = mapped

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make the same one in another process."""
        return cls(**config)

    def config(self) -> dict[str, Any]:
        """Return the arguments that `from_config` takes in another process."""
        return {"store_dir": self.store_dir, "mapped": self.mapped}

    def new_key(self) -> FileKey:
        """Return a key for `set`."""
        return FileKey(uuid.uuid4().hex)

    def _path(self, key: FileKey) -> str:
        return f"{self.store_dir}/{key.filename}"

    def set(self, key: FileKey, obj: Any) -> None:
        """Write bytes under a new key."""
        self.set_parts(key, [(0, obj)])

    def set_parts(self, key: FileKey, parts: Iterable[tuple[int, Any]]) -> None:
        path = self._path(key)
        # its key is unknown before it is complete
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for offset, part in parts:
                view = memoryview(part).cast("B")
                while view.nbytes:
                    written = os.pwrite(fd, view, offset)
                    offset += written
                    view = view[written:]
        except BaseException:
            os.unlink(path)
            raise
        finally:
            os.close(fd)

    def get(self, key: FileKey) -> Any:
        """Its bytes, read in place where they are mapped; None when they were evicted."""
        try:
            fd = os.open(self._path(key), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if self.mapped:
                return memoryview(_mapped(fd))
            with open(fd, "rb", buffering=0, closefd=False) as file:
                return file.readall()
        finally:
            os.close(fd)

    def exists(self, key: FileKey) -> bool:
        return os.path.exists(self._path(key))

    def evict(self, key: FileKey) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(key))

    def sweep(self, prefix: str) -> None:
        """Remove all whose names begin so."""
        for path in Path(self.store_dir).glob(f"{prefix}-*"):
            path.unlink(missing_ok=True)


def _mapped(fd: int) -> mmap.mmap:
    """Map a file copy-on-write, so that its holder may write to the values; read-only where the system cannot reserve
    as much memory.
    """
    try:
        return mmap.mmap(fd, 0, access=mmap.ACCESS_COPY)
    except OSError:
        return mmap.mmap(fd, 0, prot=mmap.PROT_READ)


def private_folder() -> str:
    """Make a private folder for values: in memory if there is room, unless TMPDIR is set."""
    in_memory = "TMPDIR" not in os.environ and _free("/dev/shm") > ENOUGH
    return folders.private("values", "/dev/shm" if in_memory else None)


def _free(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize if os.access(folder, os.W_OK) else 0
