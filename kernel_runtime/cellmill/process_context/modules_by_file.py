"""Modules that are found by their files: those that the kernel has imported, and that an import would not find now.

The module path or the directory was another one when the kernel imported them, or they were loaded from a file under a
name of their own.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any, NamedTuple


class ModuleFile(NamedTuple):
    """Where a module of the user's comes from; ``folders``: where its own modules are, None if it is no package."""

    name: str
    path: str
    folders: tuple[str, ...] | None


def module_file(spec: ModuleSpec) -> ModuleFile | None:
    """Return what tells where a module comes from, if an import would find something else now, or nothing."""
    if "." in spec.name or type(spec.loader) is not SourceFileLoader or spec.origin is None:
        return None
    found = PathFinder.find_spec(spec.name)
    if found is not None and found.origin == spec.origin:
        return None
    folders = spec.submodule_search_locations
    return ModuleFile(spec.name, spec.origin, None if folders is None else tuple(folders))


class _Finder:
    def __init__(self) -> None:
        self.files: dict[str, ModuleFile] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        file = self.files.get(name)
        if file is None:
            return None
        folders = None if file.folders is None else list(file.folders)
        return importlib.util.spec_from_file_location(name, file.path, submodule_search_locations=folders)


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
