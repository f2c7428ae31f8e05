"""Values as plain tuples that are equal exactly when the values are: types, bytes, order and cycles included.

Whether two parts of a value are one object is not in its form: programs that care about it ask with ``is``.
"""

from __future__ import annotations

import functools
import struct
import types
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from cellmill import DependencyError

_PLAIN = (int, str, bytes, bool, type(None), type(Ellipsis), range)
_LONG = 256  # bytes; longer ones are told apart by a hash, so that reports stay readable


def form_of(value: Any, main: dict[str, Any]) -> Any:
    """The form of a value; ``main`` says which classes of the program are the present ones."""
    return _Forms(main).form(value)


class _Forms:
    def __init__(self, main: dict[str, Any]) -> None:
        self.main = main
        self.above: list[int] = []  # ids of what the present value is a part of

    def form(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return kind.__name__, repr(value)
        if kind is float:
            return "float", repr(value), struct.pack(">d", value).hex()
        if issubclass(kind, type):
            return "class", value.__qualname__, self._present(value)
        if kind is types.ModuleType:
            return "module", value.__name__
        if kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
            return "function", value.__qualname__
        if isinstance(value, BaseException):
            return self._error(value)
        if kind is tuple:
            return "tuple", *(self.form(member) for member in value)
        if id(value) in self.above:
            return "cycle", len(self.above) - self.above.index(id(value))
        self.above.append(id(value))
        try:
            return self._object(value, kind)
        finally:
            self.above.pop()

    def _error(self, error: BaseException) -> Any:
        if isinstance(error, DependencyError):
            return "error", "DependencyError"
        return "error", type(error).__qualname__, self._present(type(error)), self.form(error.args)

    def _present(self, kind: type) -> bool:
        """Whether a class of the program is the one that its name refers to now."""
        return kind.__module__ != "__main__" or self.main.get(kind.__qualname__) is kind

    def _object(self, value: Any, kind: type) -> Any:
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return kind.__name__, str(value.dtype), value.tobytes().hex()
        if isinstance(value, pd.DataFrame):
            columns = [self._array(np.asarray(value.iloc[:, i])) for i in range(value.shape[1])]
            kinds = [str(dtype) for dtype in value.dtypes]
            return (
                "frame",
                self._index(value.columns),
                self._index(value.index),
                kinds,
                columns,
                self.form(value.attrs),
            )
        if isinstance(value, pd.Series):
            data = self._array(np.asarray(value))
            return "series", str(value.name), str(value.dtype), self._index(value.index), data
        if isinstance(value, pd.Index):
            return self._index(value)
        if kind is functools.partial:  # its own state says whether its attributes were read
            own = (value.func, value.args, value.keywords, vars(value))
            return "partial", *(self.form(part) for part in own)
        named = kind.__qualname__, self._present(kind)
        return *named, *self._parts(value, kind)

    def _index(self, index: Any) -> Any:
        return "index", type(index).__name__, [str(name) for name in index.names], self.form(list(index))

    def _array(self, array: Any) -> Any:
        head = type(array).__name__, str(array.dtype), array.shape
        if array.dtype.hasobject:
            return *head, [self.form(member) for member in array.ravel().tolist()]
        data = np.ascontiguousarray(array).tobytes()
        if isinstance(array, np.ma.MaskedArray):
            head = (*head, np.ma.getmaskarray(array).tobytes().hex())
        return *head, data.hex() if len(data) <= _LONG else blake2b(data, digest_size=8).hexdigest()

    def _parts(self, value: Any, kind: type) -> Iterator[Any]:
        if isinstance(value, (set, frozenset)):
            yield tuple(sorted(repr(self.form(member)) for member in value))
        elif isinstance(value, dict):
            items = value.items() if isinstance(value, OrderedDict) else dict.items(value)
            yield tuple((self.form(k), self.form(v)) for k, v in items)
        elif isinstance(value, (list, tuple)):
            yield tuple(self.form(member) for member in value)
        elif kind.__module__ not in ("__main__", "types") and not kind.__module__.startswith("data_"):
            yield "reduced", self._reduced(value)
            return
        state = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
        state |= getattr(value, "__dict__", {})
        if state:
            yield tuple((name, self.form(member)) for name, member in state.items())
        factory = getattr(value, "default_factory", None)
        if factory is not None:
            yield "factory", self.form(factory)

    def _reduced(self, value: Any) -> Any:
        """Of a library's object: what its pickle would say."""
        try:
            found = value.__reduce_ex__(4)
        except TypeError:  # not for pickles, as what some errors refer to
            return "opaque"
        if isinstance(found, str):
            return found
        parts = [list(part) if isinstance(part, Iterator) else part for part in found]
        return tuple(self.form(part) for part in parts if part is not None)


class SharedForms(_Forms):
    """Forms of many values, which say of an object that it was met before: whose parts are one object is compared."""

    def __init__(self, main: dict[str, Any]) -> None:
        super().__init__(main)
        self._met: dict[int, int] = {}
        self._alive: list[Any] = []

    def form(self, value: Any) -> Any:
        """A number in place of what was met before."""
        if type(value) in _PLAIN or isinstance(value, (float, tuple, type, types.FunctionType, np.generic)):
            return super().form(value)
        if id(value) in self._met:
            return "same as", self._met[id(value)]
        self._met[id(value)] = len(self._met)
        self._alive.append(value)
        return super().form(value)


def _slots(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        names = base.__dict__.get("__slots__", ())
        yield from (names,) if isinstance(names, str) else names


def differ(plain: Any, real: Any) -> bool:
    return repr(plain) != repr(real)
