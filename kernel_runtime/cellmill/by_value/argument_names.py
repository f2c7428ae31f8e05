"""What functions and objects among the arguments of a task read by name of modules: it goes along with the task.

The task's own function brings what it reads (`module_reads`, `package_changes`). But a function that is an argument, or
the class of an object that is one, reads by name as well: ``f(losses.loss, x)``, ``f(losses.Model(), x)``. Which these
are is told by their names in the pickle of the arguments. A name there that only looks like one brings too much, never
something wrong.
"""

from __future__ import annotations

import contextlib
import pickle
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from . import module_reads, package_changes, replacements
from .brought import Brought, Reads
from .capture import Capture, new_walk
from .capture_entries import ITEM
from .capture_kinds import Walk
from .module_reads import is_own
from .object_state import kind_of_generator
from .package_changes import Names, Patched, differing
from .pickle_texts import texts_of
from .pickling import dumps, meeting
from .replacements import is_replacement
from .worker_data import noting_own

MOST_KNOWN, MOST_BYTES = 64, 16 << 20  # that are kept, and in a worker their bytes; the latest is in any case
_WORDS = re.compile(rb"\x8c.([A-Za-z_][\w.]*)\x94", re.DOTALL)  # identifiers, as the pickler writes them
_CLASS = b"\x94\x93"  # behind the first name of a function or class in each pickle that has one
_LARGE, _FEW = 1 << 16, 20  # bytes of a pickle, and modules: whether it names one at all is looked at first


_Places = tuple[tuple[str, tuple[str, ...]], ...]  # modules, and names in each


class Sent(NamedTuple):
    """Names as they are sent: a pickle of `Along`, or in its place a handle of something that all tasks share."""

    data: bytes

    def __reduce__(self) -> Any:
        return along, (self.data,)


class Found:
    """What some functions and classes read, as it was when this was made. ``generators``: the names of generators of
    random numbers among it; ``places``: the modules, and names in each, by which it was found.
    """

    def __init__(self, found: _Places, met: tuple[Any, ...], handed_on: tuple[Any, ...]) -> None:
        """``handed_on``: makers of what other tasks hand on, and places that arguments had."""
        walk = new_walk()
        _add(walk, found)
        walk.go(met)
        self.reads, self.package_names = dict(walk.reads), dict(walk.package_names)
        self._perhaps: Reads = {}
        self._names_perhaps: Names = {}
        if handed_on:  # constants of packages are left to the functions that read them
            _add(walk, [each for each in handed_on if type(each) is tuple])
            walk.go(tuple([each for each in handed_on if type(each) is not tuple]))
            self._perhaps = {place: v for place, v in walk.reads.items() if place not in self.reads}
            self._names_perhaps = {
                place: v
                for place, v in walk.package_names.items()
                if place not in self.package_names and type(v) not in module_reads.CONSTANTS
            }
        self.capture = Capture(walk, 0)
        self.generators = [
            ".".join(place) for place, value in self.reads.items() if kind_of_generator(type(value))
        ]
        self.places = found
        self.kept = met, handed_on  # so that they are found by their ids
        self._sent: Any = None

    def sent(self, share: Callable[[Sent], Any]) -> Any:
        """What is to be sent, made once; None: nothing is read. ``share`` returns it, or a handle where it is large."""
        found = self.reads, self.package_names
        perhaps = self._perhaps, self._names_perhaps
        if self._sent is None and any((*found, *perhaps)):
            self._sent = share(
                Sent(dumps((*map(_pickled, found, _LEAVE_OUT), *map(_by_module, perhaps, _LEAVE_OUT))))
            )
        return self._sent


_LEAVE_OUT = module_reads.leave_out, package_changes.leave_out


def _pickled(names: Reads, leave_out: Callable[[tuple[str, str], Any, str], None]) -> bytes:
    """The names that can be pickled; b"" for none."""
    try:
        return dumps(names) if names else b""
    except Exception:
        return dumps(module_reads.picklable(names, leave_out))


def _by_module(names: Reads, leave_out: Callable[[tuple[str, str], Any, str], None]) -> dict[str, bytes]:
    """The same for each module by itself: to load what may not be needed would import what it is made of."""
    groups: dict[str, Reads] = {}
    for place, value in names.items():
        groups.setdefault(place[0], {})[place] = value
    return {module: _pickled(group, leave_out) for module, group in groups.items()}


def _latest_import() -> str | None:
    """The module imported last; None where another thread imports one now."""
    try:
        return next(reversed(sys.modules), "")
    except RuntimeError:
        return None


class _Own:
    """Names of the user's modules that this process has imported."""

    def __init__(self) -> None:
        self._seen: tuple[int, str | None] = (0, "")
        self.names: dict[bytes, str] = {}

    def look(self) -> dict[bytes, str]:
        """Return them, by their bytes."""
        seen = len(sys.modules), _latest_import()
        if seen != self._seen or seen[1] is None:
            modules = sys.modules.copy().items()  # a finalizer that runs meanwhile may import
            self.names = {name.encode(): name for name, module in modules if is_own(module)}
            self._seen = seen
        return self.names


_own = _Own()
_lock = threading.RLock()
_known: OrderedDict[Any, Found] = OrderedDict()
_earlier: dict[str, tuple[str, tuple[str, ...]]] = {}  # by module: it, and its names that arguments had


def in_arguments(texts: bytes, met: Collection[Any], makers: Collection[Any] | None) -> Found | None:
    """Return what is to be sent along with arguments; None where they name nothing that could read.

    ``texts``: of their pickle. ``met``: functions and classes that are in it by value. ``makers``: functions that may
    have made what other tasks hand on to this one, None if they hand on nothing: its classes are unknown here, so all
    data goes along that these and earlier arguments read.
    """
    own = _own.look()
    found = _places(texts, own) if own and _CLASS in texts else ()
    for module, names in found:
        before = _earlier.get(module, (module, ()))
        if not set(names).issubset(before[1]):
            _earlier[module] = module, tuple({*before[1], *names})
    if makers is not None and (makers or _earlier):
        return _known_of(found, tuple(met), (*makers, *_earlier.values()))
    return _known_of(found, tuple(met)) if met or found else None


def pickled_call(function: Any, args: tuple[Any, ...]) -> bytes:
    """A call that prepares workers, with what it reads by name; for `call_pickled`."""
    before, meeting.met = meeting.met, []
    try:
        data = dumps((function, args))
        found = in_arguments(texts_of(data), meeting.met, None)
    finally:
        meeting.met = before
    return pickle.dumps((found and found.sent(lambda sent: sent), data), 5)


def read_by(met: Iterable[Any]) -> tuple[Reads, Names]:
    """Return what functions and classes read by name: of the user's modules, and of packages."""
    known = _known_of((), tuple(met))
    return known.reads, known.package_names


def _known_of(found: _Places, met: tuple[Any, ...], handed_on: tuple[Any, ...] = ()) -> Found:
    key = (found, tuple(map(id, met)), tuple(map(id, handed_on)))
    known = _known.get(key)
    if known is None or known.capture.changed() is not None:
        known = Found(found, met, handed_on)  # without the lock: code of the user's may run
        with _lock:
            _known[key] = known
            if len(_known) > MOST_KNOWN:
                _known.popitem(last=False)
    return known


def look_for_replacements() -> None:
    """Look through the user's modules: their replacements are known from now on, and pickled by value."""
    for name in _own.look().values():
        for value in list(vars(sys.modules[name]).values()) if name in sys.modules else ():
            if type(value) is FunctionType and is_replacement(value):
                replacements.note(name)


def _places(texts: bytes, own: dict[bytes, str]) -> _Places:
    """The user's modules that a pickle refers to, and which of their names it has in it."""
    if len(texts) > _LARGE or len(own) < _FEW:
        for name in own:
            if name in texts:
                break
        else:
            return ()
    words = set(_WORDS.findall(texts))
    found = []
    for each in sorted(words & own.keys()):
        module = sys.modules.get(own[each])
        namespace = vars(module) if module is not None else {}
        names = {word.partition(b".")[0].decode() for word in words} & namespace.keys()
        if names:
            found.append((own[each], tuple(sorted(names))))
    return tuple(found)


def _add(walk: Walk, places: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    for module, names in places:
        if module in sys.modules:
            walk.note(ITEM, sys.modules, module, sys.modules[module], module)
            module_reads.of_names(walk, sys.modules[module], names)


# -- in a worker


class Along:
    """Names as they came along with a task, found there while it runs."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._kinds: list[Brought | Patched] | None = None
        self._perhaps: tuple[dict[str, bytes], dict[str, bytes]] = ({}, {})  # by module, until that is there
        self._names_perhaps: Names = {}

    @contextlib.contextmanager
    def found(self) -> Iterator[None]:
        """While the block runs, modules have them."""
        if self._kinds is None:
            self._kinds = self._loaded()
        self._load_what_is_there(self._kinds)
        begun: list[tuple[Any, Any]] = []
        perhaps = differing(
            self._names_perhaps, importing=False
        )  # of what the arguments have imported by now
        handed_on = [Patched("what another task hands on", perhaps)] if perhaps else []
        try:
            for kind in (*handed_on, *self._kinds):
                begun.append((kind, kind.begin()))
            yield
        finally:
            for kind, before in reversed(begun):
                kind.end(before)

    def _loaded(self) -> list[Brought | Patched]:
        reads, names, *perhaps = pickle.loads(self._data)
        self._perhaps = perhaps[0], perhaps[1]
        kinds: list[Brought | Patched] = [Brought(pickle.loads(reads))] if reads else []
        patched = differing(pickle.loads(names)) if names else {}
        return [*kinds, Patched("a function among the arguments", patched)] if patched else kinds

    def _load_what_is_there(self, kinds: list[Brought | Patched]) -> None:
        """Load what may be needed of modules that have been imported by now."""
        reads, names = self._perhaps
        if reads or names:
            with _lock:  # tasks of other threads may come with the same ones
                for module in reads.keys() & sys.modules.keys():
                    kinds.insert(0, Brought(pickle.loads(reads.pop(module)), perhaps=True))
                for module in names.keys() & sys.modules.keys():
                    self._names_perhaps.update(pickle.loads(names.pop(module)))

    def around(self, function: Any) -> Callable[..., Any]:
        """The function, which finds them."""
        return _Around(self, function)


class _Around:
    def __init__(self, names: Along, function: Any) -> None:
        self._names = names
        self.__wrapped__ = function
        self.__qualname__ = self.__name__ = str(getattr(function, "__qualname__", type(function).__name__))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        with self._names.found():
            return self.__wrapped__(*args, **kwargs)


def call_pickled(data: bytes, *, own_process: bool = True) -> None:
    """Make a call as `pickled_call` has sent it. ``own_process``: this process has functions of one program alone."""
    names, call = pickle.loads(data)
    function, args = pickle.loads(call)
    with found_by_name(names), noting_own(function if own_process else None):
        function(*args)


def found_by_name(names: Along | None) -> contextlib.AbstractContextManager[None]:
    """While a task runs that these came with: modules have them."""
    return contextlib.nullcontext() if names is None else names.found()


Came = OrderedDict[bytes, Along]
_came: Came = OrderedDict()


def exchange(came: Came) -> Came:
    """Other modules of the user's are in this process from now on: return the names that came along so far, which refer
    to those of before, and go on with ``came``.
    """
    global _came
    with _lock:
        before, _came = _came, came
    return before


def along(data: bytes) -> Along:
    """The names that were sent as these bytes, loaded once."""
    with _lock:
        found = _came.get(data)
        if found is None:
            found = _came[data] = Along(data)
            while len(_came) > 1 and (len(_came) > MOST_KNOWN or sum(map(len, _came)) > MOST_BYTES):
                _came.popitem(last=False)
        return found
