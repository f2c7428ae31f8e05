"""Changes of a loop's item in a worker, by any code, carried over to the notebook's own objects.

Imports nothing of the notebook.
"""

from __future__ import annotations

import array
import collections
import functools
import itertools
import math
import operator
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

from ..by_value import molecules
from ..by_value.capture_entries import ATOMS
from ..by_value.module_reads import of_users
from ..by_value.object_state import has_hidden_state
from ..by_value.pickling import dumps

_ATOMS = ATOMS | {frozenset, type, types.ModuleType}
_PLAIN = frozenset((dict, list, set, collections.deque))
_CODE = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodType)


_MOST_CODE = 20  # classes and functions of an item that are looked at
MOST_OUTER = 1000  # parts of a variable that are told apart from others of the same value


class Picture:
    """The parts of an item that can be changed, and what they held when this was made."""

    __slots__ = ("_states", "parts")

    def __init__(self, item: Any) -> None:
        self.parts = parts(item)
        self._states = [_state(part) for part in self.parts]

    def moved(self) -> list[int]:
        """The numbers of the parts that hold something else now."""
        pairs = enumerate(zip(self.parts, self._states, strict=True))
        return [number for number, (part, state) in pairs if not _alike(_state(part), state)]

    def among(self, found: Mapping[int, Any]) -> bool:
        """Whether one of these objects, by identity, is a part of the item."""
        return any(id(part) in found for part in self.parts)


def parts(value: Any, most: float = math.inf) -> list[Any]:
    """Return the parts of a value that can change, in the same order as those of a copy; containers longer than
    ``most`` are left out.
    """
    if type(value) in _ATOMS:
        return []
    found: list[Any] = []
    seen: set[int] = set()
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Future):
            each = each.result()  # what arrived in the worker
        if type(each) in _ATOMS or id(each) in seen or isinstance(each, _CODE):
            continue
        seen.add(id(each))
        if isinstance(each, tuple):
            pending += each
            continue
        if type(each) is types.FunctionType:  # the notebook's own takes the place of a copy
            found.append(each)
            continue
        members = _members(each)
        if members is not None:
            found.append(each)
            ordered = not isinstance(each, set)  # else a copy has another order
            if ordered and len(members) <= most and not _ATOMS.issuperset(map(type, members)):
                pending += members
        if len(found) > most:
            break
    return found


def code_in(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield the user's classes of an item and its members, and functions, methods and classes among them, by name."""
    members = item.values() if type(item) is dict else item if type(item) in (list, tuple, set) else ()
    for value in itertools.islice(itertools.chain((item,), members), _MOST_CODE):
        kind = type(value)
        if isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
            yield f"the object of {value.__name__}", value
        elif isinstance(value, (types.FunctionType, type)):
            yield value.__name__, value
        elif kind.__flags__ & 1 << 9 and of_users(kind):
            yield kind.__name__, kind


def bound_methods(values: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names of methods in containers of these, also in partial calls, and the objects that they belong to."""
    todo, seen = [values], 0
    while todo and seen < MOST_OUTER:
        value, seen = todo.pop(), seen + 1
        while type(value) is functools.partial:
            value = value.func
        if isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
            yield value.__name__, value.__self__
        elif type(value) is dict:
            todo.extend(value.values())
        elif type(value) in (list, tuple, set):
            todo.extend(value)


def _state(value: Any) -> tuple[list[Any], Any]:
    """Return what a part holds: other objects, and data."""
    if type(value) in _PLAIN:
        return _members(value) or [], None
    data: Any = None
    if _is_pandas(value):
        data = _Frame(value)
    elif isinstance(value, (bytearray, array.array)):
        data = bytes(value)
    elif is_array(value):
        data = (value.shape, value.dtype.str, None if value.dtype.hasobject else value.tobytes())
    elif _is_opaque(value):
        data = _pickled(value)
    return _members(value) or [], data


def _members(value: Any) -> list[Any] | None:
    """The objects that an object holds; none that only its own code knows; None for what nothing can change."""
    kind: Any = type(value)
    if kind is types.FunctionType:
        return []
    if kind is dict:
        return [*value, *value.values()]
    if kind in _PLAIN:
        return list(value)
    if _is_pandas(value):
        return []
    members: list[Any] | None = None
    if isinstance(value, dict):  # by their bases: a class may change how its objects are read and filled
        pairs = _pairs(value)
        members = [*(key for key, _ in pairs), *(part for _, part in pairs)]
    elif isinstance(value, list):
        members = list.__getitem__(value, slice(None))
    elif isinstance(value, collections.deque):
        members = list(collections.deque.__iter__(value))
    elif isinstance(value, set):
        members = list(set.__iter__(value))
    elif isinstance(value, (bytearray, array.array)):
        members = []
    elif is_array(value):
        members = value.ravel().tolist() if value.dtype.hasobject else []
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is dict:
        members = [*(members or ()), *attributes, *attributes.values()]
    slots = [name for name in _slots(kind) if hasattr(value, name)]
    if slots:
        members = [*(members or ()), *slots, *(getattr(value, name) for name in slots)]
    return [] if members is None and _is_opaque(value) else members


def _pairs(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    if isinstance(value, collections.OrderedDict):  # which has an order of its own
        return list(collections.OrderedDict.items(value))
    return list(dict.items(value))


def _is_opaque(value: Any) -> bool:
    """Whether only an object's own code knows what it holds."""
    kind: Any = type(value)
    if isinstance(value, (dict, list, collections.deque, set, bytearray, array.array)) or _is_pandas(value):
        return False
    return has_hidden_state(kind) and not (kind.__module__ == "numpy" and hasattr(kind, "dtype"))


def _pickled(value: Any) -> bytes | None:
    """Return the state of an object that only its own code knows, as it is pickled; None where that fails."""
    try:
        dumps(value, caches=False)  # the first time may fill caches, which are no change
        return dumps(value, caches=False)
    except Exception:
        return None


def _is_pandas(value: Any) -> bool:
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and hasattr(kind, "equals")


class _Frame:
    """The contents of a pandas frame, series or index."""

    def __init__(self, value: Any) -> None:
        self._copy = value.copy()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frame) and bool(self._copy.equals(other._copy))

    __hash__ = None  # type: ignore[assignment]


def _alike(one: tuple[list[Any], Any], other: tuple[list[Any], Any]) -> bool:
    (members, data), (before, data_before) = one, other
    return len(members) == len(before) and data == data_before and all(map(operator.is_, members, before))


def is_array(value: Any) -> bool:
    """Whether it is a plain numpy array."""
    return (type(value).__module__, type(value).__name__) == ("numpy", "ndarray")


def share_memory(arrays: Iterable[Any], other: Any) -> bool:
    """Whether one of these arrays may have memory of another one."""
    numpy: Any = sys.modules.get("numpy")
    return any(numpy.may_share_memory(each, other) for each in arrays)


@functools.lru_cache(maxsize=1024)
def _slots(kind: Any) -> tuple[str, ...]:
    names: list[str] = []
    for base in kind.__mro__:
        own = base.__dict__.get("__slots__", ())
        private = f"_{base.__name__.lstrip('_')}"
        for name in (own,) if isinstance(own, str) else own:
            if name not in ("__dict__", "__weakref__"):
                names.append(f"{private}{name}" if name[:2] == "__" != name[-2:] else name)
    return tuple(names)


# -- in the notebook


def can_move(old: Any, new: Any) -> bool:
    """Whether an object can be given what its copy holds now."""
    if type(old) is not type(new) or _is_pandas(old):
        return False
    if molecules.is_molecule(old):
        return molecules.can_become(old, new)
    if _is_opaque(old) and _pickled(old) != _pickled(new):
        return False
    return not is_array(old) or (old.shape == new.shape and old.dtype == new.dtype and old.flags.writeable)


def translate(values: Any, own: Mapping[int, Any]) -> None:
    """Put the notebook's own parts of an item in place of their copies: ``own`` has them by the copies' identities."""
    for part in parts(values):
        if id(part) not in own:
            _hold(part, part, own)


def move(pairs: Iterable[tuple[Any, Any]], own: Mapping[int, Any]) -> None:
    """Give each object what its copy has become."""
    for old, new in pairs:
        _hold(old, new, own)


def _hold(old: Any, new: Any, own: Mapping[int, Any]) -> None:
    """Have an object hold what another of its type holds, with the notebook's own parts."""
    if type(old) is types.FunctionType:
        return
    if isinstance(old, dict):
        kind: Any = collections.OrderedDict if isinstance(old, collections.OrderedDict) else dict
        held = [(key, _own(value, own)) for key, value in _pairs(new)]
        kind.clear(old)
        for key, value in held:
            kind.__setitem__(old, key, value)
    elif isinstance(old, list):
        members = list.__getitem__(new, slice(None))
        list.__setitem__(old, slice(None), [_own(member, own) for member in members])
    elif isinstance(old, collections.deque):
        members = [_own(member, own) for member in collections.deque.__iter__(new)]
        collections.deque.clear(old)
        collections.deque.extend(old, members)
    elif isinstance(old, set):
        members = list(set.__iter__(new))
        set.clear(old)
        set.update(old, members)
    elif isinstance(old, (bytearray, array.array)):
        old[:] = new[:]
    elif is_array(old):
        _fill(old, new, own)
    elif molecules.is_molecule(old) and old is not new:
        molecules.become(old, new)
    attributes = getattr(old, "__dict__", None)
    if type(attributes) is dict:
        now = {key: _own(value, own) for key, value in new.__dict__.items()}
        attributes.clear()
        attributes.update(now)
    kind = type(old)
    for name in _slots(kind):
        if hasattr(new, name):
            object.__setattr__(old, name, _own(getattr(new, name), own))
        elif hasattr(old, name):
            object.__delattr__(old, name)


def _fill(old: Any, new: Any, own: Mapping[int, Any]) -> None:
    if not old.dtype.hasobject:
        if old is not new:
            old[...] = new
        return
    places = [(place, _own(new[place], own)) for place in _places(new.shape)]
    for place, member in places:
        old[place] = member


def _places(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in _places(shape[1:]):
            yield (first, *rest)


def _own(value: Any, own: Mapping[int, Any]) -> Any:
    if id(value) in own:
        return own[id(value)]
    if isinstance(value, tuple):
        members = [_own(member, own) for member in value]
        if any(map(operator.is_not, members, value)):
            return type(value)(members) if type(value) is tuple else type(value)(*members)
    return value
