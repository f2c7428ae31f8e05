"""Pickling of the user's subclasses of lists, dicts, numbers, text, exceptions and arrays, with all that they are.

Plain pickle makes such an object anew by methods that the class may have changed: a dict whose ``d[key] = value``
doubles would have each value doubled once more, a text whose ``__new__`` adds to it would have that twice. It gives an
exception's ``__init__`` the message in place of what that takes. And of an array's subclass it leaves out the
attributes, of a masked array that its mask is hard.
"""

from __future__ import annotations

import builtins
import functools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import FunctionType
from typing import Any

from .import_log import users_own


def _whole(kind: Any, value: Any) -> Any:
    return kind.__getitem__(value, slice(None))


_MASKED = b"_mareconstruct\x94"  # what a plain pickle of a masked array has in it
_ERROR, _EXCEPTION = (
    b"Error\x94",
    b"Exception\x94",
)  # and of most exceptions: the ends of their classes' names
_ERRORS = re.compile(rb"\x8c.(\w*(?:Error|Exception))\x94", re.DOTALL)
_BUILTIN_ERRORS = frozenset(name.encode() for name in vars(builtins) if name.endswith(("Error", "Exception")))
_FILLED: dict[type, tuple[str, ...]] = {  # how plain pickle reads each, and makes it anew
    list: ("__new__", "__iter__", "append", "extend"),
    dict: ("__new__", "items", "__setitem__"),
    set: ("__new__", "__init__", "__iter__", "add"),
    frozenset: ("__new__", "__init__", "__iter__"),
    tuple: ("__new__", "__iter__"),
    **dict.fromkeys((str, bytes, int, float, complex), ("__new__",)),
    bytearray: ("__new__", "__init__"),
}
_BY_ARGUMENTS = (Decimal, Fraction, datetime, date, time, timedelta)  # made anew by arguments of their own
_WITHOUT_ATTRIBUTES = frozenset(
    (Counter, defaultdict, *_BY_ARGUMENTS)
)  # whose pickles leave out a subclass's
READ: dict[type, Callable[[Any], Any]] = {
    dict: lambda value: dict(dict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    str: str.__str__,
    **{kind: kind.__pos__ for kind in (int, float, complex)},
    **{kind: partial(_whole, kind) for kind in (list, tuple, bytes, bytearray)},
    Counter: lambda value: dict(dict.items(value)),
    defaultdict: lambda value: (value.default_factory, dict(dict.items(value))),
}
_OWN_WAYS = (
    "__reduce_ex__",
    "__reduce__",
    "__getnewargs__",
    "__getnewargs_ex__",
    "__getstate__",
    "__setstate__",
)


_REDUCERS = _OWN_WAYS[:2]


@functools.lru_cache(maxsize=1024)
def filled_as(kind: type) -> type | None:
    """Return the base, of Python's, of a class that changes how that is filled, and leaves its pickling to Python."""
    if not kind.__flags__ & 1 << 9 or kind in _WITHOUT_ATTRIBUTES:
        return None
    bases = (each for each in kind.__mro__ if not each.__flags__ & 1 << 9 or each in _WITHOUT_ATTRIBUTES)
    base = next(bases, type(None))
    if base in _WITHOUT_ATTRIBUTES:
        return base if all(getattr(kind, name) is getattr(base, name) for name in _REDUCERS) else None
    if issubclass(base, BaseException):
        return base if _takes_other_arguments(kind, base) else None
    if base not in _FILLED:
        return None
    named = (each for each in kind.__mro__ if {"_fields", "_make"} <= vars(each).keys())  # a named tuple
    usual = next(named, base)
    changed = any(getattr(kind, name) is not getattr(usual, name) for name in _FILLED[base])
    own = any(getattr(kind, name, None) is not getattr(usual, name, None) for name in _OWN_WAYS)
    return base if changed and not own else None


def _takes_other_arguments(kind: Any, base: Any) -> bool:
    """Whether an exception class has an ``__init__`` or ``__new__`` of its own, and leaves its pickling to Python."""
    makers = ("__new__", "__init__")
    changed = {type(getattr(kind, name)) for name in makers if getattr(kind, name) is not getattr(base, name)}
    own = any(getattr(kind, name, None) is not getattr(base, name, None) for name in _OWN_WAYS)
    return changed == {FunctionType} and not own  # what is written in C has fields that only it knows


class _Modules:
    """The user's modules that have such classes."""

    def __init__(self) -> None:
        self.count = 0  # of all modules, at the last look
        self._known: set[str] = set()
        self.names: list[bytes] = []

    def look(self) -> None:
        """Look through those that have been imported since the last look."""
        self.count = len(sys.modules)
        for name in sys.modules.keys() - self._known:
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        module = sys.modules.get(name)
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            self.count = 0
            return
        self._known.add(name)
        if users_own(str(getattr(module, "__file__", None) or "")) and any(
            _is_defined_in(name, value) for value in list(vars(module).values())
        ):
            self.names.append(name.encode())


def _is_defined_in(module: str, value: Any) -> bool:
    """Whether it is such a class, and a pickle has this module's name for it. `isinstance` would ask a proxy."""
    return (
        issubclass(type(value), type)
        and vars(value).get("__module__") == module
        and bool(filled_as(value) or _is_plain_array(value))
    )


_modules = _Modules()


def may_be_in(texts: bytes) -> bool:
    """Whether a plain pickle, of which these are the texts, may have one in it that it does not make as it is."""
    if len(sys.modules) != _modules.count:
        _modules.look()
    names = _modules.names
    return (
        _MASKED in texts
        or (
            (_ERROR in texts or _EXCEPTION in texts)
            and not _BUILTIN_ERRORS.issuperset(_ERRORS.findall(texts))
        )
        or (bool(names) and any(name in texts for name in names))
    )


def reduced(value: Any) -> tuple[Any, ...] | None:
    """Return the reduction of such an object; None for others."""
    kind: Any = type(value)
    base: Any = filled_as(kind)
    if base is None:
        left_out = left_out_of(value)
        if not left_out:
            return None
        make, arguments, state = value.__reduce__()
        return make, arguments, (state, left_out), None, None, fill_array
    if issubclass(base, BaseException):
        return _reduced_exception(value, kind, base)
    state = value.__getstate__()
    if base in _BY_ARGUMENTS:
        return _of, (base, kind, *base.__reduce_ex__(value, 5)[1]), state, None, None, _put
    content = READ[base](value)
    if base in _FILL:
        return _empty, (base, kind), (content, state, base), None, None, _fill
    return _of, (base, kind, content), state


def _empty(base: Any, kind: type) -> Any:
    return base.__new__(kind)


def _of(base: Any, kind: type, *content: Any) -> Any:
    return base.__new__(kind, *content)


def _put(value: Any, state: Any) -> None:
    """Give an object its attributes and slots, as `object.__getstate__` tells them."""
    attributes, slots = state if type(state) is tuple else (state, None)
    if attributes:
        value.__dict__.update(attributes)
    for name, part in (slots or {}).items():
        setattr(value, name, part)


def _fill_default(value: Any, content: tuple[Any, dict[Any, Any]]) -> None:
    vars(defaultdict)["default_factory"].__set__(value, content[0])
    dict.update(value, content[1])


_FILL: dict[type, Callable[..., Any]] = {
    Counter: dict.update,
    defaultdict: _fill_default,
    list: list.extend,
    dict: dict.update,
    set: set.update,
    bytearray: bytearray.extend,
}


def _fill(value: Any, parts: tuple[Any, Any, Any]) -> None:
    """Give a new object its content, as its built-in base does that, and its attributes."""
    content, state, base = parts
    _FILL[base](value, content)
    _put(value, state)


# -- exceptions


def _reduced_exception(value: BaseException, kind: Any, base: Any) -> tuple[Any, ...]:
    _, arguments, *attributes = base.__reduce__(value)
    fields = dict(attributes[0]) if attributes else {}
    if isinstance(value, BaseExceptionGroup):  # its `args` are what its own `__new__` was given
        fields["args"], arguments = value.args, (value.message, value.exceptions)
    state: Any = object.__getstate__(value)
    slots = state[1] if type(state) is tuple else {}
    return _exception, (base, kind, *arguments), {**fields, **slots}, None, None, BaseException.__setstate__


def _exception(base: Any, kind: Any, *arguments: Any) -> BaseException:
    """Make an exception as its built-in base does, with what that keeps in C."""
    made: BaseException = base.__new__(kind, *arguments)
    base.__init__(made, *arguments)
    return made


# -- arrays


def left_out_of(value: Any) -> dict[str, Any]:
    """The attributes of an array that its own pickle leaves out."""
    kind: Any = type(value)
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    if array is None or kind is array or not issubclass(kind, array):
        return {}
    if kind is getattr(sys.modules.get("numpy.ma"), "MaskedArray", None):
        return {"_hardmask": True} if value.hardmask else {}
    return dict(getattr(value, "__dict__", None) or {}) if _is_plain_array(kind) else {}


@functools.lru_cache(maxsize=1024)
def _is_plain_array(kind: Any) -> bool:
    """Whether a class of arrays that is not numpy's leaves its pickling to numpy."""
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    if array is None or not issubclass(kind, array) or kind.__module__.partition(".")[0] == "numpy":
        return False
    return all(
        getattr(kind, name) is getattr(array, name)
        for name in ("__reduce_ex__", "__reduce__", "__setstate__")
    )


def fill_array(value: Any, parts: tuple[Any, dict[str, Any]]) -> None:
    """Give a new array its state, and attributes."""
    state, attributes = parts
    if state is not None:
        value.__setstate__(state)
    if attributes:
        value.__dict__.update(attributes)
