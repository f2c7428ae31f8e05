"""Packages that a caller ships: found in their own folder where it is there as it is at the caller's, else unpacked."""

from __future__ import annotations

import atexit
import io
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

LEFT_OUT = ("__pycache__", "node_modules", "names that begin with a dot")


class Shipment(NamedTuple):
    """What is shipped, without the archive itself."""

    mark: bytes  # of the names, sizes and times of all files
    digest: bytes  # of the archive
    roots: tuple[str, ...]  # at the caller: folders of packages, and files of modules

    def names(self) -> set[str]:
        """Return the names by which they are imported."""
        return {os.path.basename(root).removesuffix(".py") for root in self.roots}


class Shipped:
    """A shipment in this process."""

    def __init__(self, shipment: Shipment, archive: bytes | None) -> None:
        """``archive``: None where the folders themselves are here."""
        self.shipment = shipment
        self.names = shipment.names()
        self._folder = "" if archive is None else _unpacked(archive)
        if self._folder:
            atexit.register(self.remove)

    def place(self, path: str) -> str:
        """Return where a file of the caller's is here, if it is part of this; else the same path."""
        for root in self.shipment.roots if self._folder else ():
            if path == root or path.startswith(os.path.join(root, "")):
                return os.path.join(self._folder, os.path.relpath(path, os.path.dirname(root)))
        return path

    def find(self, name: str, finder_path: Any) -> ModuleSpec | None:
        """Return the spec of a package or module that is shipped, None for others."""
        if finder_path is not None or name not in self.names:
            return None
        folders = [self._folder] if self._folder else [os.path.dirname(root) for root in self.shipment.roots]
        return PathFinder.find_spec(name, folders)

    def remove(self) -> None:
        """Remove what was unpacked."""
        if self._folder:
            atexit.unregister(self.remove)
            shutil.rmtree(self._folder, ignore_errors=True)


def is_here(shipment: Shipment) -> bool:
    """Whether these folders are here, with the same files."""
    roots = [Path(root) for root in shipment.roots]
    return all(root.exists() for root in roots) and mark_of(roots) == shipment.mark


def mark_of(roots: Iterable[Path]) -> bytes:
    """Equal where the files are the same, by their names, sizes and times."""
    digest = blake2b(digest_size=16)
    for root in roots:
        for path in files_of(root):
            told = path.stat()
            digest.update(f"{path}\0{told.st_size}\0{told.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return digest.digest()


def files_of(root: Path) -> Iterator[Path]:
    """Yield the files that are shipped, in order."""
    if root.is_file():
        yield root
        return
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(each for each in inner if not each.startswith(".") and each not in LEFT_OUT)
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _unpacked(archive: bytes) -> str:
    """Below the folder of a Dask worker, which Dask removes also where the worker was killed."""
    folder = tempfile.mkdtemp(prefix="cellmill-shipped-", dir=_home())
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    return folder


def _home() -> str | None:
    worker = sys.modules.get("distributed.worker")
    if worker is not None:
        for each in list(getattr(worker.Worker, "_instances", ())):
            home = str(getattr(each, "local_directory", ""))
            if os.path.isdir(home):
                return home
    return None
