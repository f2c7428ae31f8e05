"""The user's own modules that a process has imported, how their files were when it did, and how long imports take.

Modules of the standard library and of installed packages are left out of the first: they do not change below a running
notebook.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import site
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any, NamedTuple

from ..errors import OWN_FOLDER


class Version(NamedTuple):
    """The state of a file: two that are equal hold the same text."""

    mtime: float
    size: int


class Imported(NamedTuple):
    """A module as a process has it."""

    name: str
    path: str
    version: Version


class Loaded(NamedTuple):
    """An import that took a while, with all that it imported in turn."""

    name: str
    began: int  # on the monotonic clock, in ns
    seconds: float


LEAST_SECONDS = 0.01  # of an import that is told


def version_of(path: str) -> Version | None:
    """The file's present state; None when it cannot be read (editors replace files in two steps)."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Version(found.st_mtime, found.st_size)


def users_own(path: str) -> bool:
    """Whether the source file belongs to neither Python, nor an installed package, nor Cellmill."""
    return path.endswith(".py") and not is_installed(path)


def is_installed(path: str) -> bool:
    """Whether code of this file, or with this name for one, belongs to one of those."""
    return path.startswith(_INSTALLED)


def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    found = {paths[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    with contextlib.suppress(AttributeError):  # some virtual environments lack them
        found.update([*site.getsitepackages(), site.getusersitepackages()])
    found.add(OWN_FOLDER)
    return tuple(os.path.join(path, "") for path in found)


_INSTALLED = _installed()


class _WatchedSpec(ModuleSpec):
    """The spec of a module while that is imported: its import is over when it is not initializing any more.

    No frame of ours is on the stack meanwhile, which warnings and tracebacks of the module would show.
    """

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            object.__setattr__(self, "__class__", ModuleSpec)
            if log is not None:
                log.loaded(self.name)


class ImportLog:
    """The imports of this process from now on; one log in the zygote, which workers inherit.

    Each import of a source file asks its loader for the state of the file before it is read. That is where it is
    noted: nothing is left out, and nothing costs a task that imports nothing.
    """

    def __init__(self) -> None:
        self.imported: dict[str, Imported] = {}
        self._tell: Callable[[list[Imported]], None] | None = None
        self._untold: list[Imported] = []
        self._tell_load: Callable[[Loaded], None] = lambda _: None
        self._loading: tuple[str, int] | None = None  # the import that no other one made, and since when
        plain = SourceFileLoader.path_stats

        def path_stats(loader: SourceFileLoader, path: str) -> Any:
            stats = getattr(loader, "cellmill_stats", None) or plain(loader, path)
            if self._loading is None and not path.startswith(OWN_FOLDER):
                self._begin(loader.name)
            if users_own(path):
                self._note(Imported(loader.name, path, Version(stats["mtime"], stats["size"])))
            return stats

        SourceFileLoader.path_stats = path_stats  # type: ignore[assignment]
        os.register_at_fork(after_in_child=self._be_silent)

    def _be_silent(self) -> None:
        """Stop reports in a forked child, whose imports are not reported."""
        self._tell = None
        self._tell_load = lambda _: None

    def _begin(self, name: str) -> None:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if type(spec) is ModuleSpec and threading.current_thread() is threading.main_thread():
            self._loading = (name, time.monotonic_ns())
            spec.__class__ = _WatchedSpec

    def loaded(self, name: str) -> None:
        """Report the import that is over, if it took long."""
        if self._loading is None or self._loading[0] != name:
            return
        began, self._loading = self._loading[1], None
        seconds = (time.monotonic_ns() - began) * 1e-9
        if seconds >= LEAST_SECONDS:
            self._tell_load(Loaded(name, began, seconds))

    def _note(self, module: Imported) -> None:
        self.imported[module.path] = module
        self._untold.append(module)
        self.tell()

    def tell_to(self, tell: Callable[[list[Imported]], None], tell_load: Callable[[Loaded], None]) -> None:
        """Report a worker's imports to the kernel from now on, at once for imports in the main thread."""
        self._tell, self._tell_load = tell, tell_load
        self._untold.clear()

    def tell(self) -> None:
        """Report the imports that were not reported yet, if in the main thread."""
        if self._untold and self._tell is not None and threading.current_thread() is threading.main_thread():
            untold, self._untold = self._untold, []
            self._tell(untold)

    def forget(self) -> None:
        """Drop the noted modules in the zygote, so that the next import reads their files again."""
        for module in self.imported.values():
            sys.modules.pop(module.name, None)
            package, _, name = module.name.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(name, None)
        self.imported.clear()
        self._untold.clear()
        importlib.invalidate_caches()


log: ImportLog | None = None  # of a zygote or a worker


def start_log() -> ImportLog:
    """Begin to note imports."""
    global log
    log = ImportLog()
    return log
