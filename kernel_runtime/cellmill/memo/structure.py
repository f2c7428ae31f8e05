"""Digests of values by their structure: equal content gives the same digest in each process, however it came to be.

A pickle would not do: it tells equal strings apart by their identity. Objects that can be changed are numbered in the
order in which they are met, so one list in two places is told from two equal lists. Code counts with all that it refers
to, by the rules by which functions are sent to workers (`by_value.references`); what is imported from a package counts
by its name and the package's version, what is imported from the user's own modules by the content of their files.
"""

from __future__ import annotations

import array
import collections
import copyreg
import functools
import logging
import marshal
import operator
import pathlib
import re
import struct
import sys
import types
from collections.abc import Iterable
from enum import Enum
from hashlib import blake2b
from typing import Any

from ..by_value.argument_names import read_by
from ..by_value.module_reads import is_own
from ..by_value.object_state import default_pickling, has_hidden_state, kind_of_generator, pickled_state
from ..by_value.references import (
    ABSENT,
    CACHED,
    cell_value,
    dispatch_registry,
    importable,
    names_of,
    names_used,
)
from ..randomness.generators import state_of
from . import sources
from .class_content import content_of

SIZE = 16
SIMPLE = frozenset((int, float, complex, bool, str, bytes, type(None), type(Ellipsis)))
_CHANGEABLE = {list, dict, set, bytearray, collections.deque}  # and arrays, once one was seen
_BY_REDUCTION = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")
_DESCRIPTORS = (
    *(types.MethodDescriptorType, types.ClassMethodDescriptorType, types.WrapperDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodWrapperType),
)
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")  # in the repr of an object
_DEEPEST = 500  # tuples within tuples


class Unkeyed(Exception):
    """Something has no digest; the text says what, and why."""


class Structure:
    """The digest of what was added. ``generators``: those of random numbers count by their state, else they are
    refused. ``files``: the user's own source files that what was added depends on, with the names of their modules;
    ``functions``: those by value in it; ``draws``: whether there was a generator.
    """

    def __init__(self, *, generators: bool = False) -> None:
        self.files: dict[str, str] = {}
        self.functions: list[types.FunctionType] = []
        self.draws = False
        self._generators = generators
        self._modules: set[str] = set()  # from which something is imported
        self._used: set[str] = set()  # names in code
        self._hash = blake2b(digest_size=SIZE)
        self._readers: list[Any] = []  # functions and classes: what they read by name counts as well
        self._numbers: dict[int, bytes] = {}
        self._kept: list[Any] = []  # objects that were numbered: their identities are not used again
        self._todo: collections.deque[Any] = collections.deque()

    def add(self, value: Any) -> None:
        """Add a value, and all that it refers to.

        Raises:
            Unkeyed: it has no digest.
        """
        try:
            self._put(b"+", self._ref(value, 0))
            while self._todo:
                each = self._todo.popleft()
                self._put(b".", self._content(each, type(each)))
        except RecursionError:
            raise Unkeyed("it is nested too deeply") from None

    def add_reads(self) -> None:
        """Add what the functions and classes in all that was added read by name of modules, as it is in this process.

        Raises:
            Unkeyed: some of that has no digest.
        """
        if self._readers:
            for names in read_by(self._readers):
                for place in sorted(names):
                    self.add((place, names[place]))

    def digest(self) -> bytes:
        """The digest of all that was added, of `SIZE` bytes; asked for once, when all was added."""
        if self._modules:
            self.files = sources.files_behind(self._modules, self._used)
            for module, path in sorted((module, path) for path, module in self.files.items()):
                self._put(module.encode(), *sources.content_here(path, module))  # wherever the file is
        return self._hash.digest()

    def _put(self, *parts: bytes) -> None:
        for part in parts:
            self._hash.update(struct.pack("<Q", len(part)))
            self._hash.update(part)

    # -- what refers to a value: all of one that cannot change, the number of one that can

    def _refs(self, values: Iterable[Any], depth: int = 0) -> bytes:
        values = tuple(values)
        if SIMPLE.issuperset(map(type, values)):
            return b"m" + marshal.dumps(values, 2)  # before version 3 it does not depend on identities
        parts = [self._ref(value, depth) for value in values]
        return b"(%d:" % len(parts) + b"".join(b"%d:" % len(part) + part for part in parts)

    def _ref(self, value: Any, depth: int) -> bytes:
        kind = type(value)
        if kind in SIMPLE:
            return b"m" + marshal.dumps(value, 2)
        if kind is tuple:
            if depth > _DEEPEST:
                raise RecursionError
            return b"t" + self._refs(value, depth + 1)
        if kind not in _CHANGEABLE:
            found = self._constant(value, kind, depth)
            if found is not None:
                return found
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = b"#%d" % len(self._numbers)
            self._kept.append(value)
            self._todo.append(value)
        return number

    def _constant(self, value: Any, kind: type, depth: int) -> bytes | None:
        """An immutable value of a kind that is known; None for others."""
        if kind is frozenset:
            return b"z" + b"".join(sorted(b"%d:" % len(p) + p for p in (self._ref(x, depth) for x in value)))
        if kind is range or kind is slice:
            return kind.__name__.encode() + self._refs((value.start, value.stop, value.step), depth)
        if kind is types.CodeType:
            return b"c" + self._code(value)
        if kind is re.Pattern:
            return b"re" + self._refs((value.pattern, value.flags))
        if kind is pathlib.PosixPath or kind is pathlib.PurePosixPath:
            return b"path" + self._refs((kind.__name__, str(value)))
        if kind is logging.Logger:
            return b"logger" + self._refs((value.name,))
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
            return b"module" + self._named(value.__name__, "")
        if value is ABSENT:
            return b"absent"
        if kind in _DESCRIPTORS:
            owner = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
            return b"descriptor" + self._refs((value.__name__, owner), depth + 1)
        if kind.__module__ in _BY_REDUCTION:
            return b"r" + self._refs(value.__reduce_ex__(5), depth + 1)
        if kind is operator.itemgetter or kind is operator.attrgetter:
            return b"r" + self._refs(value.__reduce__(), depth + 1)
        return self._passing(value, kind, depth) or self._of_numpy(value, kind, depth)

    def _passing(self, value: Any, kind: type, depth: int) -> bytes | None:
        """A function or class that is imported by its name, and what passes calls or look-ups on to another object."""
        if kind is types.BuiltinFunctionType:
            owner = value.__self__
            if owner is None or isinstance(owner, types.ModuleType):
                return b"builtin" + self._named(value.__module__ or "", value.__qualname__)
            return b"bound" + self._refs((value.__name__, owner), depth + 1)
        if (kind is types.FunctionType or issubclass(kind, type)) and _imported(value):
            if is_own(sys.modules.get(value.__module__ or "")):
                self._readers.append(value)
            return b"name" + self._named(value.__module__, value.__qualname__)
        if kind is staticmethod or kind is classmethod:
            return kind.__name__.encode() + self._refs((value.__func__,), depth + 1)
        if kind is types.MethodType:
            return b"method" + self._refs((value.__func__, value.__self__), depth + 1)
        if kind is property:
            return b"property" + self._refs((value.fget, value.fset, value.fdel), depth + 1)
        if kind is functools.cached_property:
            return b"cached property" + self._refs((value.func, value.attrname), depth + 1)
        if kind is CACHED:
            return b"cached" + self._refs((value.__wrapped__,), depth + 1)
        if isinstance(value, Enum):
            composed = value._value_ if value._name_ is None else None  # of flags that no name is given
            return b"enum" + self._refs((kind, value._name_, composed), depth + 1)
        return None

    def _of_numpy(self, value: Any, kind: type, depth: int) -> bytes | None:
        """A type of elements, or one element."""
        numpy = sys.modules.get("numpy")
        if numpy is None or not hasattr(numpy, "generic"):
            return None
        if isinstance(value, numpy.dtype):
            return b"dtype" + self._refs((repr(value), value.str, dict(value.metadata or {})), depth + 1)
        if isinstance(value, numpy.generic) and not isinstance(value, (numpy.void, numpy.object_)):
            return b"element" + self._refs((value.dtype.str, value.tobytes()))
        return None

    def _named(self, module: str, name: str) -> bytes:
        """What is imported: by its package's version; of the user's modules the files count, once all is added."""
        own = sources.is_own(module)
        if own:
            self._modules.add(module)
        return self._refs((module, name, "" if own else sources.version_of_package(module)))

    def _code(self, code: types.CodeType, package: str | None = None) -> bytes:
        """What code does: without its places in a file. ``package``: that it imports from."""
        self._used |= names_used(code)
        for name in sources.imported_by(code, package):
            self._put(b"import", self._named(name, ""))
        facts = (
            *(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
            *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_name),
            getattr(code, "co_exceptiontable", b""),
        )
        return self._refs((*facts, code.co_consts))

    # -- the content of a value that can change

    def _content(self, value: Any, kind: type) -> bytes:
        if kind is list:
            return b"list" + self._refs(value)
        if kind is collections.deque:
            return b"deque" + self._refs((value.maxlen, *value))
        if kind is dict or kind is collections.OrderedDict or kind is collections.Counter:
            return kind.__name__.encode() + self._refs(part for pair in value.items() for part in pair)
        if kind is collections.defaultdict:
            parts = [part for pair in value.items() for part in pair]
            return b"defaultdict" + self._refs((value.default_factory, *parts))
        if kind is set:
            return b"set" + self._constant(frozenset(value), frozenset, 0)  # type: ignore[operator]
        if kind is bytearray or kind is array.array:
            return kind.__name__.encode() + self._refs((getattr(value, "typecode", ""), bytes(value)))
        if kind is types.FunctionType:
            return self._function(value)
        if issubclass(kind, type):
            return self._class(value)
        if kind is functools.partial:
            attributes = value.__reduce__()[2][3]
            return b"partial" + self._refs((value.func, value.args, value.keywords, attributes))
        if kind is object:
            return b"object"  # nothing but itself
        return self._instance(value, kind)

    def _function(self, function: types.FunctionType) -> bytes:
        self._readers.append(function)
        self.functions.append(function)
        registry = dispatch_registry(function)
        if registry is not None:
            return b"dispatch" + self._refs((registry,))
        code, namespace = function.__code__, function.__globals__
        names = sorted(names_of(code))
        cells = [cell_value(cell) for cell in function.__closure__ or ()]
        told = (
            *(function.__defaults__, function.__kwdefaults__, function.__dict__ or None),
            *_told_of(function),
        )
        return (
            b"function"
            + self._code(code, namespace.get("__package__"))
            + self._refs((*told, *(part for n in names for part in (n, namespace.get(n, ABSENT))), *cells))
        )

    def _class(self, cls: type) -> bytes:
        self._readers.append(cls)
        return b"class" + self._refs((cls.__qualname__, type(cls), cls.__bases__, *content_of(cls)))

    def _instance(self, value: Any, kind: type) -> bytes:
        if kind.__module__ == "cellmill.parallel" and hasattr(value, "__wrapped__"):
            return b"parallel" + self._refs((value.__wrapped__,))
        if kind.__module__.startswith("cellmill.") and kind.__name__ in _REFUSED:
            raise Unkeyed(_REFUSED[kind.__name__])
        if kind_of_generator(kind):
            if not self._generators:
                raise Unkeyed(
                    "it draws from a generator of random numbers, and a result that is kept would be its first draw "
                    "for ever. Make the generator inside the function, from a seed that is an argument"
                )
            self.draws = True
            return b"generator" + self._refs((kind.__qualname__, state_of(value)))
        arrays = self._array(value, kind) or self._frame(value, kind)
        if arrays is not None:
            return arrays
        if not default_pickling(kind) or has_hidden_state(kind):
            return self._opaque(value, kind)
        attributes = getattr(value, "__dict__", None)
        parts: list[Any] = [kind, dict(attributes) if type(attributes) is dict else None]
        for slot in copyreg._slotnames(kind):  # type: ignore[attr-defined]
            parts += [slot, getattr(value, slot, ABSENT)]
        if isinstance(value, dict):
            parts += [part for pair in dict.items(value) for part in pair]
        elif isinstance(value, (list, tuple)):
            parts += [*value]
        return b"instance" + self._refs(parts)

    def _opaque(self, value: Any, kind: type) -> bytes:
        """An object of which only its own code knows the state: by its pickle."""
        try:
            pickled_state(value)  # the first time may fill caches, which are no change
            state = pickled_state(value)
        except Exception as error:
            raise Unkeyed(f"a {kind.__qualname__} in it cannot be pickled: {error}") from error
        return b"pickle" + self._refs((kind, state))

    def _array(self, value: Any, kind: type) -> bytes | None:
        numpy = sys.modules.get("numpy")
        if numpy is None or kind is not getattr(numpy, "ndarray", None):
            return None
        _CHANGEABLE.add(kind)
        told = (value.dtype, value.shape)
        if value.dtype.hasobject:
            return b"objects" + self._refs((*told, *value.reshape(-1).tolist()))
        order = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        inner = blake2b(digest_size=SIZE)
        plain = value if order == "C" else value.T if order == "F" else numpy.ascontiguousarray(value)
        inner.update(plain.reshape(-1).view(numpy.uint8) if value.size else b"")
        return b"array" + self._refs((*told, order, value.flags.writeable, inner.digest()))

    def _frame(self, value: Any, kind: type) -> bytes | None:
        pandas = sys.modules.get("pandas")
        if pandas is None or not str(kind.__module__).startswith("pandas."):
            return None
        if kind is pandas.DataFrame:
            columns = [value.iloc[:, i].array for i in range(value.shape[1])]
            return b"frame" + self._refs((value.index, value.columns, value.attrs, *map(_plain, columns)))
        if kind is pandas.Series:
            return b"series" + self._refs((value.index, value.name, value.attrs, _plain(value.array)))
        if kind is pandas.Index:
            return b"index" + self._refs((value.names[0], _plain(value.array)))
        return None


_REFUSED = {
    "Future": "it is the future of a task: pass its result()",
    "Shared": "it is shared memory: pass the value itself, or leave memo out",
    "Executor": "it refers to an executor",
}


def _plain(extension: Any) -> Any:
    """The numpy array within a column, where that is all there is to it."""
    return (
        extension.to_numpy()
        if type(extension).__name__ in ("NumpyExtensionArray", "PandasArray")
        else extension
    )


def annotations_of(function: types.FunctionType) -> dict[str, Any]:
    """The annotations of a function; {} where they name something that is not there."""
    try:
        return function.__annotations__
    except Exception:
        return {}


def _told_of(function: types.FunctionType) -> tuple[Any, ...]:
    """What a function tells of itself: name and description, None where they are those of its code, and annotations,
    as texts.
    """
    plain = types.FunctionType(function.__code__, {}, None, None, function.__closure__)
    pairs = (
        (function.__name__, plain.__name__),
        (function.__qualname__, plain.__qualname__),
        (function.__doc__, plain.__doc__),
    )
    noted = [(name, _annotation(value)) for name, value in annotations_of(function).items()]
    return *(None if value == of_code else (value,) for value, of_code in pairs), *noted


def _annotation(value: Any) -> str:
    if isinstance(value, str):
        return value
    if type(value) is type:
        return f"{value.__module__}.{value.__qualname__}"
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:  # of the value's own code
        return type(value).__qualname__


def _imported(value: Any) -> bool:
    return importable(value) or (isinstance(value, type) and value.__flags__ & 1 << 9 == 0)
