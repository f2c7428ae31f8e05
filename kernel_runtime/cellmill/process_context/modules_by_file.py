"""Modules that are found by their files: those that the kernel has imported, and that an import would not find now.

The module path or the directory was another one when the kernel imported them, or they were loaded from a file under a
name of their own. Where the file is gone they are made of its text.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any, NamedTuple


class ModuleFile(NamedTuple):
    """Where a module of the user's comes from; ``folders``: where its own modules are, None if it is no package;
    ``text``, ``stats``: of a file that is not there any more, and when it was written, with its size.
    """

    name: str
    path: str
    folders: tuple[str, ...] | None
    text: bytes | None = None
    stats: tuple[float, int] = (0.0, 0)


def module_file(spec: ModuleSpec) -> ModuleFile | None:
    """Return what tells where a module comes from, if an import would find something else now, or nothing."""
    if "." in spec.name or type(spec.loader) is not SourceFileLoader or spec.origin is None:
        return None
    found = PathFinder.find_spec(spec.name)
    if found is not None and found.origin == spec.origin:
        return None
    return ModuleFile(spec.name, spec.origin, _folders(spec))


def module_of_text(spec: ModuleSpec, text: bytes, stats: tuple[float, int]) -> ModuleFile | None:
    """Return the same of a module whose file is gone, with what it was loaded from."""
    if type(spec.loader) is not SourceFileLoader or spec.origin is None:
        return None
    return ModuleFile(spec.name, spec.origin, _folders(spec), text, stats)


def _folders(spec: ModuleSpec) -> tuple[str, ...] | None:
    folders = spec.submodule_search_locations
    return None if folders is None else tuple(folders)


class _TextLoader(SourceFileLoader):
    """Loads a module from the text that its file had; ``cellmill_stats``: what the log of imports notes of that."""

    def __init__(self, name: str, path: str, text: bytes, stats: tuple[float, int]) -> None:
        super().__init__(name, path)
        self._text = text
        self.cellmill_stats = {"mtime": stats[0], "size": stats[1]}

    def set_data(self, path: str, data: Any, *, _mode: int = 0) -> None:
        """Keep no bytecode of it."""

    def get_data(self, path: str) -> bytes:
        """See `importlib.abc.ResourceLoader`."""
        return self._text if path == self.path else super().get_data(path)


class _Finder:
    def __init__(self) -> None:
        self.files: dict[str, ModuleFile] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        file = self.files.get(name)
        if file is None:
            return None
        folders = None if file.folders is None else list(file.folders)
        loader = None if file.text is None else _TextLoader(name, file.path, file.text, file.stats)
        return importlib.util.spec_from_file_location(
            name, file.path, loader=loader, submodule_search_locations=folders
        )


_finder = _Finder()


def put(files: Iterable[ModuleFile]) -> None:
    """Have imports of this process find these, and none of those before, ahead of all others."""
    found = {file.name: file for file in files}
    if found == _finder.files:
        return
    _finder.files = found
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if _finder.files:
        sys.meta_path.insert(0, _finder)
