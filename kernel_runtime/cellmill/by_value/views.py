"""Arrays of one object that share memory: ``self.inner = self.cells[1:-1]``; and memory views of what is sent, too.

Plain pickle copies each by itself, and what is written to one is not seen in the other any more. So a view goes as a
view of the array that has its memory, where both are sent at once.
"""

from __future__ import annotations

import array as of_numbers
import contextlib
import ctypes
import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from .unsettled import first_of

_MOST = 200  # objects that are looked at
_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None)))
_LARGER = 4  # times as many bytes may be sent so that views stay views
_FEW = 1 << 16  # bytes that may be in any case
Views = Mapping[int, tuple[Any, int]]  # by id: the array that has the memory, and where in it the view begins
_NONE: Views = {}


class _Here(threading.local):
    views: dict[int, tuple[Any, int]] | None = None


_here = _Here()


@contextlib.contextmanager
def kept(views: Views) -> Iterator[None]:
    """What is pickled in the block keeps these views, and those that `keep_those_of` adds meanwhile."""
    before, _here.views = _here.views, dict(views)
    try:
        yield
    finally:
        _here.views = before


class NotPlainError(Exception):
    """Plain pickle, which copies each view by itself, is at work on a value that has views."""


def keep_those_of(value: Any) -> None:
    """Keep the views of a value that takes the place of what is being pickled. Raises `NotPlainError`."""
    found = found_in(value)
    if not found:
        return
    if _here.views is None:
        raise NotPlainError
    _here.views.update(found)


def found_in(value: Any) -> Views:
    """Return the views among the arrays of a value, of its members and of their attributes."""
    numpy: Any = sys.modules.get("numpy")
    kind: Any = getattr(numpy, "ndarray", None)
    arrays = list(_arrays(value, kind)) if kind is not None else []
    if len(arrays) < 2 or all(array.base is None for array in arrays):
        return _NONE
    groups: dict[int, list[Any]] = {}
    for each in arrays:
        groups.setdefault(id(_owner(each, kind)), []).append(each)
    found: dict[int, tuple[Any, int]] = {}
    for group in groups.values():
        if len(group) > 1:
            found.update(_views_in(group, kind))
    return found


def _arrays(value: Any, array: type) -> Iterator[Any]:
    todo = [value]  # grows: what is near the top, such as the arguments themselves, is looked at first
    seen: set[int] = set()
    for each in todo:
        kind: Any = type(each)
        if kind in _PLAIN or id(each) in seen:
            continue
        if len(seen) == _MOST:
            return
        seen.add(id(each))
        if len(todo) > 2 * _MOST and kind is not array:
            continue
        if kind is list or kind is tuple:
            members = each[:_MOST]
            if not _PLAIN.issuperset(map(type, members)):
                todo.extend(members)
        elif kind is dict:
            todo.extend(first_of(each.values(), _MOST))
        elif kind is array:
            yield each
            if each.dtype.hasobject:
                todo.extend(first_of(each.flat, _MOST))
        elif kind is partial:  # which would make its `__dict__` when asked for it
            todo.extend((*each.args, *each.keywords.values()))
        else:
            for members_of in _ways_into(kind):
                todo.extend(first_of(members_of(each), _MOST))


@functools.lru_cache(maxsize=1024)
def _ways_into(kind: Any) -> tuple[Callable[[Any], Iterable[Any]], ...]:
    """What leads to the members, slots and attributes of objects of a class: none of it runs code of the class. None of
    our own, such as futures, which are sent otherwise.
    """
    if str(kind.__module__).startswith("cellmill."):
        return ()
    ways = [members_of for container, members_of in _CONTAINERS if issubclass(kind, container)]
    own = [vars(each) for each in kind.__mro__ if each.__flags__ & _OF_PYTHON]
    slots = [
        slot.__get__
        for names in own
        for slot in names.values()
        if type(slot) is MemberDescriptorType and slot.__objclass__.__module__ not in sys.stdlib_module_names
    ]
    if slots:
        ways.append(partial(_in_slots, slots))
    attributes: Any = next((names["__dict__"] for names in own if "__dict__" in names), None)
    if type(attributes) is GetSetDescriptorType:
        ways.append(lambda each: attributes.__get__(each).values())
    return tuple(ways)


_OF_PYTHON = 1 << 9  # a flag of classes that Python code has made
_CONTAINERS: tuple[tuple[type, Callable[[Any], Iterable[Any]]], ...] = (
    (list, list.__iter__),
    (tuple, tuple.__iter__),
    (dict, dict.values),
    (deque, deque.__iter__),
)


def _in_slots(slots: list[Any], owner: Any) -> list[Any]:
    found = []
    for get in slots:
        try:
            found.append(get(owner))
        except AttributeError:  # it is not set
            continue
    return found


def _owner(array: Any, kind: type) -> Any:
    while isinstance(array.base, kind):
        array = array.base
    return array


def _views_in(group: list[Any], kind: type) -> Iterator[tuple[int, tuple[Any, int]]]:
    """Yield the views of one that has the memory of all: of them, or the part that they take of another."""
    root = next((each for each in group if _has_all(each, group)), None)
    if root is None:
        root = _part_for(_owner(group[0], kind), group)
    if root is None:
        return
    start = _bounds(root)[0]
    for each in group:
        if each is not root and not each.dtype.hasobject:
            yield id(each), (root, each.ctypes.data - start)


def _part_for(owner: Any, group: list[Any]) -> Any:
    """The memory of an array that these views take, where it is not much more than they are."""
    low, high = min(_bounds(each)[0] for each in group), max(_bounds(each)[1] for each in group)
    together = sum({id(each): each.nbytes for each in group}.values())
    if not owner.flags.c_contiguous or owner.dtype.hasobject or high - low > max(_FEW, _LARGER * together):
        return None
    start = _bounds(owner)[0]
    return owner.reshape(-1).view("u1")[low - start : high - start]


def _has_all(array: Any, group: list[Any]) -> bool:
    if not array.flags.c_contiguous or array.dtype.hasobject:
        return False
    low, high = _bounds(array)
    return all(low <= first and last <= high for first, last in map(_bounds, group))


def _bounds(array: Any) -> tuple[int, int]:
    numpy: Any = sys.modules["numpy"]
    module = getattr(getattr(numpy, "lib", None), "array_utils", numpy)
    found: tuple[int, int] = module.byte_bounds(array)
    return found


def reduced(array: Any) -> tuple[Any, ...] | None:
    """Return the reduction of an array that is to stay a view; None for others."""
    found = _here.views.get(id(array)) if _here.views else None
    if found is None:
        return None
    root, offset = found
    return _view, (root, offset, array.shape, array.strides, array.dtype)


def _view(root: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
    numpy: Any = sys.modules["numpy"]
    memory = root.reshape(-1).view(numpy.uint8)
    return numpy.ndarray(shape, dtype, memory, offset, strides)


# -- views of Python's own


def reduced_memory(view: memoryview) -> tuple[Any, ...]:
    """Return the reduction of a memory view: of what has the memory, where that may be written to and is not much
    more than the view, else of bytes of its own.
    """
    base: Any = view.obj
    kinds = (bytearray, of_numbers.array, getattr(sys.modules.get("numpy"), "ndarray", None))
    if type(base) in kinds and view.nbytes and view.c_contiguous and not view.readonly:
        whole = memoryview(base)
        if whole.c_contiguous and whole.nbytes <= max(_FEW, _LARGER * view.nbytes):
            offset = _address(view) - _address(whole)
            return _memory_of, (base, offset, view.nbytes, view.format, view.shape)
    data = view.tobytes() if view.readonly else bytearray(view.tobytes())
    return _memory_of, (data, 0, len(data), view.format, view.shape)


def _address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view.cast("B")))


def _memory_of(base: Any, offset: int, size: int, form: str, shape: tuple[int, ...]) -> memoryview:
    """A view as it was; plain bytes where only what it was taken from knows the format."""
    data: Any = memoryview(base).cast("B")[offset : offset + size]
    try:
        found: memoryview = data.cast(form) if len(shape) == 1 else data.cast(form, shape)
        return found
    except ValueError:
        return memoryview(data)
