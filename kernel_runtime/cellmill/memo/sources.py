"""What an import depends on: the version of its package, or the user's own files, and all those that they import."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import sys
import time
import types
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from ..by_value.import_log import is_installed, users_own
from ..by_value.kernel_modules import modules
from ..by_value.references import MODULES_BY_TEXT, imports_in, texts_in
from ..cell_output import present_cell

_MAIN = ("__main__", "__mp_main__", "")
_BY_TEXT = MODULES_BY_TEXT | {"__getattr__"}  # ways to modules in a file
_UNSETTLED_NS = (
    2_000_000_000  # a file that has just been written may change again within one tick of its clock
)


class _Stamp(NamedTuple):
    """The state of a file, as far as can be seen without reading it."""

    modified: int
    changed: int
    size: int
    inode: int


_PROCESS = os.urandom(16)
_looked = (-1, 0)  # epoch, and number of modules
_contents: dict[str, tuple[_Stamp | None, bytes]] = {}


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


def look() -> None:
    """Note which versions of their files the user's modules in this process come from; about a microsecond without new
    ones.
    """
    global _looked
    now = present_cell.epoch(), len(sys.modules)
    if now != _looked or modules.reloaded():
        modules.note()
        _looked = now


def content_here(path: str, module: str) -> tuple[bytes, ...]:
    """The digest of what is in a module's file; where this process has the module from an earlier text, with a mark of
    that text and of this process: what it computes is no result of the file.
    """
    content, before = content_of(path), modules.loaded_before(module)
    if before is None or before[1] == content:
        return (content,)
    return content, _PROCESS, repr(before).encode()


def state_of(path: str, module: str) -> Any:
    """Equal as long as `content_here` is, as far as can be seen without reading the file; ``module``: "" for others."""
    return stamp_of(path), modules.loaded_before(module)


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
    """The version of the package that a module belongs to, whether or not it is imported here; of Python for its own
    modules. Where there is none, the file's name and content; "" of a package that is not there.
    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("builtins", *_MAIN):
        return sys.version
    found = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(found, str):
        return found
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(top)
    if installed := _installed_as().get(top):
        return " ".join(sorted({str(importlib.metadata.version(name)) for name in installed}))
    file = getattr(sys.modules.get(module), "__file__", None) or _file_of(top)
    return f"{file} {content_of(file).hex()}" if file else ""


@functools.cache
def _installed_as() -> Mapping[str, list[str]]:
    """The names under which packages are installed, by those that are imported: yaml is PyYAML's; takes 0.2 s."""
    return importlib.metadata.packages_distributions()


def _file_of(top: str) -> str | None:
    """The file of a module or package that is in no other one; None where there is none."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec.origin if spec is not None and spec.has_location else None


class _Place(NamedTuple):
    """Where one of the user's own modules is. ``file``: None of a namespace package; ``folders``: of a package."""

    file: str | None
    folders: tuple[str, ...] = ()


def _place_of(file: Any, folders: Any) -> _Place | None:
    own = os.path.abspath(file) if isinstance(file, str) and users_own(file) else None
    if own is None and file is not None:
        return None
    found = tuple(folders or ())
    if own is None:
        found = tuple(folder for folder in found if not is_installed(os.path.join(folder, "")))
    return _Place(own, found) if own is not None or found else None


def _place(module: str) -> _Place | None:
    """Find one of the user's own modules without running any code; None for others, and where there is none."""
    if module in _MAIN:
        return None
    names = getattr(sys.modules.get(module), "__dict__", None)
    if names is not None:
        return _place_of(names.get("__file__"), names.get("__path__"))
    package, _, name = module.rpartition(".")
    if not package:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError, AttributeError):
            return None
        return None if spec is None else _place_of(spec.origin, spec.submodule_search_locations)
    around = _place(package)
    paths = [os.path.join(folder, name) for folder in around.folders] if around is not None else []
    for path in paths:
        inside = os.path.join(path, "__init__.py")
        if os.path.isfile(inside):
            return _place_of(inside, (path,))
        if os.path.isfile(f"{path}.py"):
            return _place_of(f"{path}.py", ())
    return _place_of(None, filter(os.path.isdir, paths))


def is_own(module: str) -> bool:
    """Whether a name is that of one of the user's own modules."""
    return _place(module) is not None


def imported_by(code: types.CodeType, package: str | None) -> list[str]:
    """Names of the modules that code imports as it runs, or finds by a text in it; of submodules the user's own ones.
    ``package``: that relative names begin from.
    """
    found, perhaps = set[str](), set[str]()
    for name, level, names in imports_in(code):
        base = _absolute("." * level + name, package)
        if base:
            found.add(base)
            perhaps.update(f"{base}.{each}" for each in names)
    perhaps |= _by_text(texts_in(code), package)
    return sorted(found | set(filter(_maybe_own, perhaps)))


def _absolute(name: str, package: str | None) -> str:
    """The name of a module; "" where it is relative to none."""
    try:
        return importlib.util.resolve_name(name, package)
    except (ImportError, ValueError):
        return ""


def _by_text(texts: Collection[str], package: str | None) -> set[str]:
    """What could be names of modules among texts, also of those in the package and in others that are named."""
    found = set[str]()
    for text in texts:
        if not all(map(str.isidentifier, text.lstrip(".").split("."))):
            continue
        if text.startswith("."):
            found.update(_absolute(text, base) for base in (package, *texts))
        else:
            found.add(text)
            if package:
                found.add(f"{package}.{text}")
    found.discard("")
    return found


def files_behind(names: Iterable[str], used: Iterable[str] = ()) -> dict[str, str]:
    """The user's own files that modules of these names are made of, with the names of their modules: the modules' own,
    those of the packages around them, and of all that these import, or reach as attributes of packages. ``used``: names
    in the code that refers to the modules.
    """
    files: dict[str, str] = {}
    packages: dict[str, _Place] = {}
    attributes, seen, todo = {*used}, set[str](), [*names]
    while todo:
        while todo:
            module = todo.pop()
            place = None if module in seen else _place(module)
            seen.add(module)
            if place is None:
                continue
            todo.append(module.rpartition(".")[0])  # is run first
            if place.folders:
                packages[module] = place
            if place.file is not None:
                files[place.file] = module
                imports = _imports_of(place.file, module)
                todo += imports.modules
                attributes |= imports.used
        todo = [
            each for package, place in packages.items() for each in _within(package, place, attributes) - seen
        ]
    return files


def _within(package: str, place: _Place, names: set[str]) -> set[str]:
    """The modules of a package that have one of these names."""
    there = set[str]()
    for folder in place.folders:
        with contextlib.suppress(OSError):
            there.update(entry.removesuffix(".py") for entry in os.listdir(folder))
    return {f"{package}.{name}" for name in there & names}


class _Imports(NamedTuple):
    """What a file imports, and the names of attributes that it uses."""

    modules: tuple[str, ...] = ()
    used: frozenset[str] = frozenset()


_imports: dict[bytes, _Imports] = {}  # by the content of a file


def _imports_of(file: str, module: str) -> _Imports:
    """The user's own modules that a file names: in import statements, and as texts where it finds modules by texts."""
    key = content_of(file) + module.encode()
    known = _imports.get(key)
    if known is not None:
        return known
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return _Imports()
    package = module if os.path.basename(file) == "__init__.py" else module.rpartition(".")[0]
    names, used, texts = set[str](), set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
            used.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, (ast.Name, ast.FunctionDef)):
            used.add(node.id if isinstance(node, ast.Name) else node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    if used & _BY_TEXT:
        names |= _by_text(texts, package)
    found = _imports[key] = _Imports(tuple(sorted(filter(_maybe_own, names))), frozenset(used))
    return found


def _maybe_own(name: str) -> bool:
    return name.partition(".")[0] not in sys.stdlib_module_names and is_own(name)
