"""Folders of packages that go to remote workers which do not have them: `Executor(..., ship=[...])`."""

from __future__ import annotations

import io
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from ...errors import UsageError
from ...task import size_text
from .remote.shipped import LEFT_OUT, Shipment, files_of, mark_of

MOST_BYTES = 64 << 20  # of the archive


class Shipping:
    """What one executor ships; from any thread."""

    def __init__(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> None:
        """
        Raises:
            UsageError: one of them is no package, or they are too large; says the next step.
        """
        if isinstance(paths, (str, os.PathLike)):
            paths = [paths]
        self._roots = tuple(_checked(Path(path).expanduser().absolute()) for path in paths)
        names = [root.stem if root.is_file() else root.name for root in self._roots]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"ship has two packages that are named {twice}")
        self._lock = threading.Lock()
        self._archive = b""
        self.shipment: Shipment | None = None
        self.look()

    def look(self) -> bool:
        """Pack the folders if they are new or have changed; return whether they were. Where one is gone, what was
        packed before is kept.
        """
        if not self._roots or not all(root.exists() for root in self._roots):
            return False
        with self._lock:
            try:
                mark = mark_of(self._roots)
                if self.shipment is not None and mark == self.shipment.mark:
                    return False
                self._archive = _packed(self._roots)
            except OSError:  # a file is being replaced
                if self.shipment is None:
                    raise
                return False
            digest = blake2b(self._archive, digest_size=16).digest()
            self.shipment = Shipment(mark, digest, tuple(map(str, self._roots)))
            return True

    def archive(self) -> bytes:
        """Return the present archive."""
        with self._lock:
            return self._archive


def _checked(root: Path) -> Path:
    if root.is_file() and root.suffix == ".py":
        return root
    if not root.is_dir():
        raise UsageError(
            f"ship: there is no folder {root}. Name the folder of a package, which has its name, or a .py file."
        )
    if not root.name.isidentifier():
        raise UsageError(f"ship: {root} cannot be imported by its name. Name the folder of a package.")
    if not any(root.glob("*.py")):
        inner = sorted(each.parent.name for each in root.glob("*/__init__.py"))
        hint = f" Name the package in it: {root / inner[0]}." if inner else ""
        raise UsageError(f"ship: {root} is no package, as it has no Python file.{hint}")
    return root


def _packed(roots: Iterable[Path]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, path in _members(roots):
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
            if target.tell() > MOST_BYTES:
                raise UsageError(
                    f"ship: the packages take more than {size_text(MOST_BYTES)} (without {', '.join(LEFT_OUT)}). "
                    "Install them on the workers, or have large files on a file system that all see."
                )
    return target.getvalue()


def _members(roots: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for root in roots:
        for path in files_of(root):
            yield path.relative_to(root.parent).as_posix(), path
