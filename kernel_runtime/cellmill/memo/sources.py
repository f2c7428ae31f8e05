"""What stands behind an import: the version of its package, or the user's own files, and all those that they import."""

from __future__ import annotations

import ast
import dis
import functools
import importlib.metadata
import importlib.util
import os
import sys
import time
import types
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from ..by_value.import_log import users_own

_MAIN = ("__main__", "__mp_main__", "")
_UNSETTLED_NS = (
    2_000_000_000  # a file that has just been written may change again within one tick of its clock
)


class _Stamp(NamedTuple):
    """The state of a file, as far as can be seen without reading it."""

    modified: int
    changed: int
    size: int
    inode: int


_contents: dict[str, tuple[_Stamp | None, bytes]] = {}
_imports: dict[bytes, tuple[str, ...]] = {}  # by the content of a file


def stamp_of(path: str) -> _Stamp | None:
    """The present state of a file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return _Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def content_of(path: str) -> bytes:
    """The digest of what is in a file; of a missing one, of nothing. Read again only where the file has changed."""
    stamp = stamp_of(path)
    known = _contents.get(path)
    if known is not None and known[0] == stamp and _is_settled(stamp):
        return known[1]
    digest = blake2b(digest_size=16)
    if stamp is not None:
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    _contents[path] = stamp, digest.digest()
    return digest.digest()


def unchanged(paths: Iterable[str]) -> bool:
    """Whether these files are as they were when they were read last."""
    return all(path in _contents and _contents[path][0] == stamp_of(path) for path in paths)


def settled(paths: Iterable[str]) -> bool:
    """Whether a change of these files from now on will be seen by their state."""
    return all(map(_is_settled, map(stamp_of, paths)))


def _is_settled(stamp: _Stamp | None) -> bool:
    return stamp is None or time.time_ns() - max(stamp.changed, stamp.modified) > _UNSETTLED_NS


@functools.lru_cache(maxsize=1024)
def version_of_package(module: str) -> str:
    """The version of the package that a module belongs to; of Python for its own modules."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("builtins", *_MAIN):
        return sys.version
    found = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(found, str):
        return found
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(module), "__file__", ""))


@functools.lru_cache(maxsize=1024)
def imported_by(code: types.CodeType) -> tuple[str, ...]:
    """Names of the modules that code imports as it runs."""
    return tuple(
        sorted({i.argval for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME" and i.argval})
    )


def own_file(module: str) -> str | None:
    """The file of one of the user's own modules; None for others."""
    if module in _MAIN:
        return None
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec is not None else None
    return os.path.abspath(file) if isinstance(file, str) and users_own(file) else None


def files_behind(module: str) -> list[str]:
    """The user's own files that a module is made of: its own, and those of all that it imports, in order of names."""
    found: dict[str, str] = {}
    todo, seen = [module], set[str]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        file = own_file(name)
        if file is not None:
            found[file] = name
            todo += _imports_of(file, name)
    return sorted(found)


def _imports_of(file: str, module: str) -> tuple[str, ...]:
    """Names that could be modules in the import statements of a file."""
    content = content_of(file)
    key = content + module.encode()
    known = _imports.get(key)
    if known is not None:
        return known
    names: set[str] = set()
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return ()
    package = module if os.path.basename(file) == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    above = module.split(".")[:-1]  # packages around it are run first
    names.update(".".join(above[: i + 1]) for i in range(len(above)))
    _imports[key] = tuple(sorted(name for name in names if name and _maybe_own(name)))
    return _imports[key]


def _maybe_own(name: str) -> bool:
    top = name.partition(".")[0]
    return top not in sys.stdlib_module_names and own_file(name) is not None
