"""The caller's own modules in a remote worker: as the caller has them, and only while its packs run (see `turns`).

A worker may live for days, and has in `sys.modules` what it imported first. So a caller's modules come as sources, and
are loaded from them. While no pack of this caller runs, `sys.modules` is as others have it: with their modules of these
names, and without the caller's.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ....by_value import brought
from ....by_value.argument_names import Came, exchange
from ....by_value.import_log import Imported, users_own, version_of
from ....by_value.module_sources import Source, digest_of, text_of
from .sent_modules import as_loaded, depend_on, spec_of
from .shipped import Shipment, Shipped, is_here

Listing = Mapping[str, Source]  # by name
_ABSENT = object()


class CallerModules:
    """Those of one caller in this process, for all of its lanes here."""

    def __init__(self) -> None:
        self.generation = -1  # which of its versions: with another one all are loaded anew
        self.sources: dict[str, Source] = {}
        self.texts: dict[bytes, bytes] = {}  # by digest
        self.others: dict[str, ModuleType] = {}  # modules of others that are the same, and are used
        self.imported: dict[str, Imported] = {}  # those of the user's that did not come from the caller
        self.beside: set[str] = (
            set()
        )  # packages without a source that only hold what came; parts of what is shipped
        self.shipped: Shipped | None = None
        self._loaded: dict[str, ModuleType] = {}  # while they are not in `sys.modules`
        self._reads: Any = brought.NOTHING  # what was set in them, meanwhile
        # names that came along with arguments: they refer to these modules; of others, while ours are there
        self._came: Came = OrderedDict()
        self._hidden: dict[str, ModuleType] = {}  # of others, while ours are there
        self._attributes: list[
            tuple[ModuleType, str, Any]
        ] = []  # of packages that are not ours, as they were

    def lacking(self, listing: Listing) -> list[str]:
        """Return the names of those whose texts are not here, neither known nor in a file of that path."""
        found = []
        for name, source in listing.items():
            if source.digest not in self.texts:
                text = text_of(source.path)
                if text is not None and digest_of(text) == source.digest:
                    self.texts[source.digest] = text
                else:
                    found.append(name)
        return found

    def lacks(self, shipment: Shipment | None) -> bool:
        """Whether the archive of this shipment has to come."""
        if shipment is None or (self.shipped is not None and self.shipped.shipment == shipment):
            return False
        return not is_here(shipment)

    def take_shipment(self, shipment: Shipment | None, archive: bytes | None) -> None:
        """Have what is shipped be found. A new shipment comes with a new generation, which loads all anew."""
        if shipment is None or (self.shipped is not None and self.shipped.shipment == shipment):
            return
        before, self.shipped = self.shipped, Shipped(shipment, archive)
        if before is not None:
            before.remove()

    def follows(self, generation: int, listing: Listing) -> bool:
        """Whether modules that were loaded here have to be loaded anew."""
        return generation != self.generation or any(
            self.imported[name].path != source.path
            or self.imported[name].version != version_of(source.path)
            or digest_of(text_of(source.path) or b"") != source.digest
            for name, source in listing.items()
            if name in self.imported
        )

    def learn(self, generation: int, listing: Listing, texts: Mapping[bytes, bytes]) -> None:
        """Take in sources, also while tasks of this caller run."""
        self.texts.update(texts)
        self.lacking(listing)
        before = self._names()
        if generation != self.generation:
            self.sources.clear()
        self.sources.update(listing)
        self.generation = generation
        self.texts = {s.digest: self.texts[s.digest] for s in self.sources.values() if s.digest in self.texts}
        if _active is not self:
            self.others.clear()
            self._came.clear()
            return
        exchange(OrderedDict())  # those so far may refer to modules that come anew
        self._look_at_others((self.sources.keys() & sys.modules.keys()) - before)
        names = self._names()
        for name in (names - before) & sys.modules.keys():
            self._hidden[name] = sys.modules.pop(name)
            self._bind(name, names)

    def anew(self) -> CallerModules:
        """Return one that has the same texts, and nothing loaded."""
        made = CallerModules()
        made.generation, made.shipped = self.generation, self.shipped
        made.sources.update(self.sources)
        made.texts.update(self.texts)
        return made

    @property
    def plain(self) -> bool:
        """Whether this caller has the modules that others have."""
        return self.shipped is None and not self._names()

    def _names(self) -> set[str]:
        """Return the names that mean something else for this caller than for others."""
        names = (self.sources.keys() - self.others.keys()) | self.imported.keys() | self.beside
        if self.shipped is not None:
            names.update(name for name in list(sys.modules) if self._is_shipped(name))
        return names

    def _is_shipped(self, name: str) -> bool:
        return self.shipped is not None and name.partition(".")[0] in self.shipped.names

    def put_in(self) -> None:
        """Have `sys.modules` be the caller's."""
        self._look_at_others((self.sources.keys() & sys.modules.keys()) - self._loaded.keys())
        names = self._names()
        self._hidden = {name: sys.modules.pop(name) for name in names & sys.modules.keys()}
        sys.modules.update(self._loaded)
        for name in self._hidden.keys() | self._loaded.keys():
            self._bind(name, names)
        brought.put_back(self._reads)
        self._came = exchange(self._came)
        self._loaded = {}

    def _bind(self, name: str, names: set[str]) -> None:
        """In a package that is not the caller's this submodule is."""
        package, _, child = name.rpartition(".")
        parent = sys.modules.get(package) if package and package not in names else None
        if parent is None:
            return
        self._attributes.append((parent, child, vars(parent).get(child, _ABSENT)))
        _set(parent, child, sys.modules.get(name, _ABSENT))

    def take_out(self) -> None:
        """Have `sys.modules` be as others have it."""
        names = self._names()
        self._loaded = {name: sys.modules.pop(name) for name in names & sys.modules.keys()}
        for name in self._loaded:  # those that were imported meanwhile
            package, _, child = name.rpartition(".")
            parent = sys.modules.get(package) if package and package not in names else None
            if parent is not None and not any(p is parent and c == child for p, c, _ in self._attributes):
                _set(parent, child, _ABSENT)
        for parent, child, value in self._attributes:
            _set(parent, child, value)
        self._attributes = []
        self._reads = brought.set_aside(names)
        self._came = exchange(self._came)
        sys.modules.update(self._hidden)
        self._hidden = {}

    def _look_at_others(self, there: set[str]) -> None:
        """Find modules of others, by these names, that were loaded from these very texts, and use them: not those that
        refer to others that differ.
        """
        there = {name for name in there if not self._is_shipped(name)}
        if all(self.others.get(name) is sys.modules[name] for name in there):
            return
        same = {name for name in there if as_loaded(sys.modules[name], self.sources[name])}
        differ = there - same
        while differ:
            also = {n for n in same if depend_on(n, self.sources[n], self.texts, differ)}
            if not also:
                break
            same -= also
            differ |= also
        self.others = {name: sys.modules[name] for name in same}


class _Finder:
    """Finds modules for the caller whose packs run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        caller = _active
        if caller is None:
            return None
        source, shipped = caller.sources.get(name), caller.shipped
        text = None if source is None else caller.texts.get(source.digest)
        if source is not None and text is not None and name not in caller.others:
            place = source.path if shipped is None else shipped.place(source.path)
            return spec_of(name, source._replace(path=place), text)
        spec = None if shipped is None else shipped.find(name, path)
        if spec is not None:
            return spec
        for finder in [each for each in sys.meta_path if each is not self]:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                version = version_of(str(spec.origin)) if users_own(str(spec.origin)) else None
                if version is not None and name not in sys.modules:
                    caller.imported[name] = Imported(name, str(spec.origin), version)
                return spec
        if any(each.startswith(f"{name}.") for each in caller.sources):
            caller.beside.add(name)
            return ModuleSpec(name, None, is_package=True)
        return None


_finder = _Finder()
_lock = threading.RLock()
_callers: dict[bytes, CallerModules] = {}
_active: CallerModules | None = None  # whose modules are in `sys.modules`


def lacking(token: bytes, listing: Listing, shipment: Shipment | None) -> tuple[list[str], bool]:
    """Return the names of the modules whose texts have to come, and whether the archive of what is shipped has to."""
    with _lock:
        caller = _callers.setdefault(token, CallerModules())
        return caller.lacking(listing), caller.lacks(shipment)


def learn(
    token: bytes, generation: int, listing: Listing, texts: Mapping[bytes, bytes], *, alone: bool
) -> None:
    """Take in sources of this caller's. ``alone``: those whose modules are in `sys.modules` now are its tasks."""
    with _lock:
        caller = _callers.setdefault(token, CallerModules())
        if generation < caller.generation:  # by way of a lane that goes
            return
        if caller.follows(generation, listing) or (caller is _active and not alone):
            caller = _callers[token] = caller.anew()  # tasks that run go on with what they have
        caller.learn(generation, listing, texts)


def take_shipment(token: bytes, shipment: Shipment | None, archive: bytes | None) -> None:
    """See `CallerModules.take_shipment`."""
    with _lock:
        _callers.setdefault(token, CallerModules()).take_shipment(shipment, archive)


def of(token: bytes) -> CallerModules:
    """Return the modules that tasks of this caller find from now on."""
    with _lock:
        return _callers.setdefault(token, CallerModules())


def put_in(caller: CallerModules) -> None:
    """Have `sys.modules` be this caller's, until `take_out`."""
    global _active
    with _lock:
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)
        _active = caller
        caller.put_in()


def take_out() -> None:
    """Have `sys.modules` be as others have it."""
    global _active
    with _lock:
        caller, _active = _active, None
        if caller is not None:
            caller.take_out()
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(_finder)


def forget(token: bytes) -> None:
    """The caller has gone."""
    with _lock:
        caller = _callers.pop(token, None)
        if caller is not None and caller.shipped is not None:
            caller.shipped.remove()


def _set(parent: ModuleType, child: str, value: Any) -> None:
    if value is not _ABSENT:
        setattr(parent, child, value)
    elif child in vars(parent):
        delattr(parent, child)
