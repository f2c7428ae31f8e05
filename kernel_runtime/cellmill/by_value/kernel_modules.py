"""The user's own modules in this process, the kernel: which version of its file each of them comes from.

Looked at between cells. A module is new when its spec is another one, as after `importlib.reload`, or when the
autoreload extension says that it has brought it up to date.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..process_context.modules_by_file import ModuleFile, module_file, module_of_text
from . import bindings
from .import_log import Imported, Version, users_own, version_of
from .module_sources import Source, digest_of, is_made_of, process_began, text_of

MARGIN_SECONDS = 10.0  # of clocks
_EDITED = Version(0.0, -1)  # of no file: what was imported is not there any more


class Reloaded(NamedTuple):
    """The autoreload extension's record of a module: the time stamp of the file it last checked."""

    mtime: float
    failed: bool


class _Held:
    """A module in this process; `spec` is None while it is taken out of `sys.modules`."""

    __slots__ = ("by_autoreload", "name", "next", "path", "source", "spec", "text", "version")

    def __init__(self, name: str, path: str, spec: Any, version: Version, text: bytes | None = None) -> None:
        """``text``: of the version, where the file may be another one by now."""
        self.name = name
        self.path = path
        self.spec = spec
        self.by_autoreload: Reloaded | None = None
        self.version = version
        self.text: bytes | None = None
        self.source: Source | None = None
        self.next: tuple[Version, bytes] | None = None  # the file when this process began to load it again
        self.renew(version, text)
        edited = version.mtime > process_began() - MARGIN_SECONDS and self.text is not None
        if edited and not is_made_of(sys.modules.get(name), self.text or b"", path):
            self.version, self.text, self.source = _EDITED, None, None

    def renew(self, version: Version, text: bytes | None = None) -> None:
        """The module is that of the file as it is now: its text is kept, as the file may be edited later. ``text``: of
        the file as it was before.
        """
        bindings.note(self.name)
        self.version = version
        if text is None:
            now = text_of(self.path)
            text = now if version_of(self.path) == version else None
        self.text = text
        package = getattr(self.spec, "submodule_search_locations", None) is not None
        self.source = None if self.text is None else Source(self.path, package, digest_of(self.text))


class KernelModules:
    """All of them; `modules` is the one of this process."""

    def __init__(self) -> None:
        self.by_autoreload: Callable[[str, str], Reloaded | None] = lambda name, path: None
        self._held: dict[str, _Held] = {}
        self._others: set[str] = {"__main__", "__mp_main__"}
        self.generation = 0  # counts changes of what is held
        # names of those that were loaded again, "" where the file was the same; who acts upon them counts them
        self.loaded: list[str] = []
        # those whose files were gone at the last look at files, or other ones than those they were loaded from
        self._otherwise: dict[str, Version | None] = {}
        self._elsewhere: tuple[Any, tuple[ModuleFile, ...]] = (None, ())

    def note(self) -> None:
        """Find modules that were imported or brought up to date since the last time."""
        loaded = sys.modules.copy()
        for name, held_before in self._held.copy().items():
            if name not in loaded and held_before.spec is not None:
                held_before.spec = None
                self.generation += 1
        for name in set(loaded) - self._others:
            found = _source_of(name)
            if found is None:
                self._others.add(name)
                self.generation += self._held.pop(name, None) is not None  # another thing has its name now
                continue
            spec, path = found
            held = self._held.get(name)
            if held is None or held.spec is not spec:
                before = held = self._held.pop(name, None)
                held = self._loaded_from(name, path, spec, before)
                if held is not None:
                    self._held[name] = held
                if before is not None:
                    same = before.path == path and held is not None and before.version == held.version
                    self.loaded.append("" if same else name)
                self.generation += held is not None
            if held is not None and self._ask_autoreload(held):
                self.loaded.append(name)

    def _loaded_from(self, name: str, path: str, spec: Any, before: _Held | None) -> _Held | None:
        """Return a module that was loaded, or loaded again; None where what it was loaded from is not known."""
        now = version_of(path)
        if before is not None and before.path == path and before.next is not None and before.next[0] != now:
            held = _Held(name, path, spec, *before.next)
            if held.text is not None:
                return held
        return None if now is None else _Held(name, path, spec, now)

    def about_to_load(self, name: str) -> None:
        """Keep the text that a module is about to be loaded from: its file may change before the next look."""
        held = self._held.get(name)
        if held is not None:
            version, text = version_of(held.path), text_of(held.path)
            held.next = (version, text) if version is not None and text is not None else None

    def _ask_autoreload(self, held: _Held) -> bool:
        """Return whether autoreload has brought a module up to date, which it may do without a new spec."""
        before, now = held.by_autoreload, self.by_autoreload(held.name, held.path)
        held.by_autoreload = now
        if before is None or now is None or now.failed or now.mtime == before.mtime:
            return False
        version = version_of(held.path)
        if version is None or version.mtime != now.mtime:
            return False
        held.renew(version)
        return True

    def reloaded(self) -> bool:
        """Return whether a module has been loaded again since `note`; takes about a microsecond."""
        loaded = sys.modules
        for name, held in self._held.copy().items():  # a generator would cost more than the check
            if getattr(loaded.get(name), "__spec__", None) is not held.spec:
                return True
        return False

    def sources(self) -> dict[str, Source]:
        """Return, by name, the sources of the modules that are there, as they were loaded, where they are known."""
        return {
            name: held.source
            for name, held in self._held.copy().items()
            if held.source is not None and held.spec is not None and held.spec.name == name
        }

    def elsewhere(self, directory: str) -> tuple[ModuleFile, ...]:
        """Return those that an import would not find, in this directory and with the present module path, or whose
        files are gone, or other ones than those they were loaded from.
        """
        now = self.generation, directory, tuple(sys.path)
        if self._elsewhere[0] != now:
            files = [self._file_of(held) for held in list(self._held.values()) if held.spec is not None]
            self._elsewhere = now, tuple(file for file in files if file is not None)
        return self._elsewhere[1]

    def _file_of(self, held: _Held) -> ModuleFile | None:
        if held.text is not None and version_of(held.path) != held.version:
            return module_of_text(held.spec, held.text, (held.version.mtime, held.version.size))
        return module_file(held.spec)

    def is_other(self, name: str, path: str) -> bool:
        """Whether this process has a module of this name from another file, or from none where this one is gone."""
        held = self._held.get(name)
        if held is None:
            return name in sys.modules and version_of(path) is None
        return held is not None and held.spec is not None and held.path != path

    def version_here(self, name: str, path: str) -> Version | None:
        """Return the version of this file that this process has, and can hand on; None: it has none of it."""
        held = self._held.get(name)
        if held is None or held.spec is None or held.path != path or held.text is None:
            return None
        return held.version

    def text(self, name: str) -> bytes | None:
        """Return the text that a module was loaded from."""
        held = self._held.get(name)
        return None if held is None else held.text

    def is_as_loaded(self, name: str) -> bool:
        """Whether a module's file is still the one that it was loaded from."""
        held = self._held.get(name)
        return held is not None and version_of(held.path) == held.version

    def loaded_before(self, name: str) -> tuple[Version, bytes | None] | None:
        """Return (version, digest of the text, None if not known) of a module whose file is not as it was loaded."""
        held = self._held.get(name)
        if held is None or held.spec is None or version_of(held.path) == held.version:
            return None
        return held.version, None if held.source is None else held.source.digest

    def otherwise_here(self, imported: Iterable[Imported]) -> dict[str, tuple[str, Version]]:
        """Return (name, version there) by path of those that this process has in another version."""
        found = {}
        for name, path, version in imported:
            held = self._held.get(name)
            if held is not None and held.spec is not None and held.path == path and held.version != version:
                found[path] = (name, version)
        return found

    def outdated(self) -> dict[str, tuple[str, Version]]:
        """Return (name, present version) by path of the modules whose files have changed."""
        found, otherwise = {}, dict[str, Version | None]()
        for held in list(self._held.values()):
            now = version_of(held.path)
            if now != held.version:
                otherwise[held.name] = now
                if now is not None:
                    found[held.path] = (held.name, now)
        if otherwise != self._otherwise:
            self._otherwise = otherwise
            self.generation += 1
        return found


def _source_of(name: str) -> tuple[Any, str] | None:
    """Return the (spec, path) of a module of the user's own, or None."""
    with contextlib.suppress(Exception):  # the entry may be no module
        spec = sys.modules[name].__spec__
        if spec is not None and spec.has_location and users_own(str(spec.origin)):
            return spec, str(spec.origin)
    return None


class _Bell:
    """Rings when this process begins to import a module, or to load it again."""

    def __init__(self) -> None:
        self.heard: list[weakref.WeakMethod[Callable[[], Any]]] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        modules.about_to_load(name)
        for each in self.heard:
            hear = each()
            if hear is not None:
                hear()


modules = KernelModules()
_bell = _Bell()


def watch_imports(hear: Callable[[], Any]) -> Callable[[], None]:
    """Have this method called at the beginning of each import here, while its object lives; return what ends that."""

    def end(_: Any = None) -> None:
        _bell.heard = [each for each in _bell.heard if each is not watch]
        if not _bell.heard and _bell in sys.meta_path:
            sys.meta_path.remove(_bell)

    watch = weakref.WeakMethod(hear, end)
    _bell.heard = [*_bell.heard, watch]
    if _bell not in sys.meta_path:
        sys.meta_path.insert(0, _bell)
    return end
