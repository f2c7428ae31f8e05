"""The pickler for what plain pickle cannot send: functions and classes by value, each version of a class by itself.

A class that was made by a class statement in a cell travels by value, under the name (identity, version). The process
that it comes from finds its own class again and leaves it as it is. Any other process makes one class for each version,
once: so what changes a class later never reaches tasks that were sent before, and reading a result changes no class.
"""

from __future__ import annotations

import _ctypes
import builtins
import io
import itertools
import operator
import os
import pickle
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from struct import Struct
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

import cloudpickle
from cloudpickle import cloudpickle as _by_value

from ..randomness import generators
from . import methods, molecules, sentinels, subclasses, unsettled, views, wrappers
from .class_making import attributes_of, base_of_members, enumeration, members_of, skeleton
from .references import names_of
from .replacements import is_replacement

MOST_CLASSES = 256  # whose present version is known; another one has a new version when it is pickled again

_MAKERS = (_by_value._make_skeleton_class, _by_value._make_skeleton_enum)
_numbers = itertools.count(1)
_lock = threading.RLock()
_originals: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()  # made in this process
_copies: weakref.WeakValueDictionary[tuple[str, str], type] = weakref.WeakValueDictionary()
_names: weakref.WeakKeyDictionary[type, tuple[str, str]] = weakref.WeakKeyDictionary()  # of copies
_complete: weakref.WeakSet[type] = weakref.WeakSet()
_present: OrderedDict[str | tuple[str, str], _Present] = (
    OrderedDict()
)  # by identity; copies by identity and version


# What tells whether a class has changed, set by `capture`, which pickles what it cannot compare otherwise. Without it
# each pickle of a class is another version of it.
def changes_of(cls: type, /) -> Callable[[], str | None]:
    return lambda: "it"


# What a class is reduced to that went by value before, set by `class_parts`; None: what it is by itself.
def part_of(cls: type, /) -> tuple[Any, ...] | None:
    return None


main_of_worker: ModuleType | None = None  # where the plain pickle of a task looks for classes of cells


class _Present(NamedTuple):
    """The version of a class in this process, and what it referred to then."""

    version: str
    changed: Callable[[], str | None]


class _Meeting(threading.local):
    met: list[Any] | None = None


meeting = (
    _Meeting()
)  # while ``met`` is a list, functions and classes that are pickled by value are added to it


class Pickler(cloudpickle.Pickler):
    """Functions and classes by value where workers cannot import them.

    ``board``: where generators of random numbers are noted, if stand-ins are to go in their places. ``caches``: with
    what objects keep of earlier questions. ``parts``: classes are pickled by themselves.
    """

    board: generators.Board | None = None
    caches = True
    parts = False

    def __init__(
        self,
        file: Any,
        protocol: int | None = None,
        buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None,
    ) -> None:
        of_cloudpickle, usual = cloudpickle.Pickler.dispatch_table.maps
        self.dispatch_table = {
            **usual,
            **of_cloudpickle,
        }  # the two in a chain are asked for each object, slowly
        super().__init__(file, protocol, buffer_callback)
        self._usual: set[type] = set()  # classes of which all objects are pickled in the usual way

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        kind = type(obj)
        if kind in self._usual:
            return NotImplemented
        if self.parts and issubclass(kind, type) and obj in _complete and (part := part_of(obj)) is not None:
            return part
        if kind is object:
            return sentinels.reduced(obj)
        if kind is MethodType:
            return methods.reduced(obj)
        if (view := views.reduced(obj)) is not None:
            return view
        if kind is CodeType:
            return _code_reduced(obj)
        if kind is memoryview:
            return views.reduced_memory(obj)
        if kind is Struct:
            return Struct, (obj.format,)
        if kind is _CTYPES_ARRAYS and obj is _array_type(obj):
            return operator.mul, (obj._type_, obj._length_)
        if kind is io.TextIOWrapper and obj is not sys.stdout and obj is not sys.stderr:
            raise pickle.PicklingError("an open file stays in the process that opened it; send its name")
        stand_in = generators.reduced(obj, self.board)
        if stand_in is not None:
            return stand_in
        molecule = molecules.reduced(obj, caches=self.caches) or molecules.reduced_generator(obj)
        if molecule is not None:
            return molecule
        shell = sys.modules.get("IPython.core.interactiveshell")
        if shell is not None and obj is getattr(shell, "_modified_open", _MISSING):
            # IPython's stand-in for `open` would drag all of IPython into each worker
            return getattr, (builtins, "open")
        whole = subclasses.reduced(obj)
        if whole is not None:
            return whole
        wrapper = wrappers.reduced(obj)
        if wrapper is not None:
            return wrapper
        if kind is FunctionType:
            names_of(obj.__code__)  # so that cloudpickle finds those in texts, too
        if kind is FunctionType and (wrappers.is_of_spawned_main(obj) or is_replacement(obj)):
            reduced = self._dynamic_function_reduce(obj)
        elif not wrappers.is_of_spawned_main(obj):
            reduced = super().reducer_override(obj)
        else:
            reduced = _by_value._dynamic_class_reduce(obj)
        if meeting.met is not None and type(reduced) is tuple and isinstance(obj, (FunctionType, type)):
            meeting.met.append(obj)
        if type(reduced) is tuple and reduced[0] in _MAKERS:
            maker, arguments, state = reduced[:3]
            identity, version = _name_of(obj, arguments[-2])
            state = ({k: v for k, v in state[0].items() if not _is_derived(k, v)}, state[1], {})
            if maker is _MAKERS[0]:
                maker, arguments = skeleton, _as_defined(obj, arguments[:-2])
            elif (base := base_of_members(obj)) is not None:
                others = {k: v for k, v in state[0].items() if k not in obj.__members__}
                maker, state = enumeration, (others, state[1], attributes_of(obj))
                arguments = (*arguments[:3], members_of(obj, base), arguments[4], base)
            else:
                arguments = arguments[:-2]
            arguments = (*arguments, None, None)
            return _class_named, (maker, arguments, identity, version), state, None, None, _complete_class
        if reduced is NotImplemented and _are_alike(kind):
            self._usual.add(kind)
        return reduced


def _are_alike(kind: type) -> bool:
    """Whether what is true of one object of a class is true of all: not of classes, modules, and what has a way of its
    own to be pickled, such as arrays, molecules and generators of random numbers.
    """
    return (
        bool(kind.__flags__ & 1 << 9)
        and not issubclass(kind, (type, ModuleType))
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
    )


_MISSING = object()
_CTYPES_ARRAYS = type(_ctypes.Array)


def _array_type(cls: Any) -> Any:
    """The array type of ctypes, as `c_int * 3` makes it and keeps it, with this one's elements."""
    return cls._type_ * cls._length_ if hasattr(cls, "_length_") else None


_FILE = 10  # position of the file's name among the arguments of a code object


def _code_reduced(code: CodeType) -> tuple[Any, tuple[Any, ...]]:
    """As cloudpickle reduces it, and with the name of its file, by which tracebacks find lines: cloudpickle puts
    another one there from 3.1.3 on.
    """
    maker, arguments = _by_value._code_reduce(code)
    return maker, (*arguments[:_FILE], "".join(code.co_filename), *arguments[_FILE + 1 :])


def _is_derived(name: str, value: Any) -> bool:
    """Whether the copy of a class gets this attribute by itself; `copyreg` adds its own when it meets an instance."""
    return type(value) is MemberDescriptorType or name == "__slotnames__"


def _as_defined(cls: type, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """A class is made with its qualified name, which reprs show, and its slots: an instance without a dict has no place
    for anything else.

    Not one whose base is a function that makes the class, as `typing.NamedTuple` does: it sees to the slots itself.
    """
    if type(arguments[-1]) is not dict:
        return arguments
    given = {**arguments[-1], "__qualname__": cls.__qualname__}
    slots = cls.__dict__.get("__slots__")
    if slots is not None and not any(
        type(base) is FunctionType for base in cls.__dict__.get("__orig_bases__", ())
    ):
        given["__slots__"] = slots
    return *arguments[:-1], given


def dumps(
    value: Any,
    buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None,
    board: generators.Board | None = None,
    caches: bool = True,
) -> bytes:
    """The pickle of a value, protocol 5; raises what the objects in it raise."""
    if buffer_callback is None and board is None:
        return unsettled.at_one_moment(lambda: _dumps(value, None, None, caches))
    return _dumps(value, buffer_callback, board, caches)


def _dumps(
    value: Any,
    buffer_callback: Callable[[pickle.PickleBuffer], Any] | None,
    board: generators.Board | None,
    caches: bool,
) -> bytes:
    target = io.BytesIO()
    pickler = Pickler(target, protocol=5, buffer_callback=buffer_callback)
    pickler.board = board
    pickler.caches = caches
    pickler.dump(value)
    return target.getvalue()


def dumps_in_parts(
    value: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any], kind: type[Pickler] = Pickler
) -> bytes:
    """The pickle of a call or result, by this kind of pickler: classes in it are pickled by themselves."""
    target = io.BytesIO()
    pickler = kind(target, protocol=5, buffer_callback=buffer_callback)
    pickler.parts = True
    pickler.dump(value)
    return target.getvalue()


def name_of(cls: type) -> tuple[str, str]:
    """Return the (identity, present version) of a class that is pickled by value."""
    return _name_of(cls, _by_value._get_or_create_tracker_id(cls))


def _name_of(cls: type, identity: str) -> tuple[str, str]:
    """Return the (identity, present version) of a class that is pickled by value."""
    with _lock:
        copied = _names.get(cls)
        if copied is not None:
            identity = copied[0]
        else:
            _originals[identity] = cls
            _complete.add(cls)
        known_as = copied or identity  # there are several copies of one class
        found = _present.get(known_as)
        if found is not None and found.changed() is None:
            return identity, found.version
        version = copied[1] if copied is not None and found is None else f"{os.getpid()}.{next(_numbers)}"
        # known before the walk, which pickles what refers to the class
        _present[known_as] = _Present(version, lambda: None)
        _present[known_as] = _Present(version, changes_of(cls))
        if copied is not None:
            _copies[identity, version] = cls  # also where others hand it back
        if len(_present) > MOST_CLASSES:
            _present.popitem(last=False)
        return identity, version


def _class_named(maker: Callable[..., type], arguments: tuple[Any, ...], identity: str, version: str) -> type:
    """The class of this name here: the original, a copy that was made before, or a new one that is still empty."""
    with _lock:
        found = _original(identity, version) or _copies.get((identity, version))
        if found is None:
            found = _copies[identity, version] = maker(*arguments)
            _names[found] = (identity, version)
            if (
                main_of_worker is not None
                and found.__module__ == "__main__"
                and "." not in found.__qualname__
            ):
                setattr(main_of_worker, found.__qualname__, found)
        return found


def whole_class(identity: str, version: str) -> type | None:
    """The class of this name here, if there is one that has all of its attributes."""
    with _lock:
        found = _original(identity, version) or _copies.get((identity, version))
        return found if found is not None and found in _complete else None


def _original(identity: str, version: str) -> type | None:
    """The class that was made here, in a worker as long as nothing of it was changed elsewhere."""
    present = _present.get(identity) if main_of_worker is not None else None
    return _originals.get(identity) if present is None or present.version == version else None


def _complete_class(cls: type, state: Any) -> type:
    """Give a new class its attributes; one that has them stays as it is."""
    if cls not in _complete:
        _by_value._class_setstate(cls, state[:2])
        for member, held in state[2].items():
            vars(cls._member_map_[member]).update(held)  # type: ignore[attr-defined]
        _complete.add(cls)
    return cls
