"""A payload shown to people without running any code of it: it may be what killed a worker.

Everything but plain data is shown by a stand-in with the name and, where there is any, the state of the real thing.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

from ..by_value import class_making, pickling, subclasses
from ..diagnostics.short_text import name_of_future
from .class_parts import class_of
from .payload import labelled, load_input, opened, same
from .piece_loading import load_bares, load_part, load_piece
from .shared import load_share

_HARMLESS = {
    "builtins": {"complex", "set", "frozenset", "bytearray", "range", "slice"},
    "collections": {"OrderedDict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "pathlib": {"Path", "PosixPath", "PurePosixPath"},
}
_NUMBERS = {
    code: (name, form)
    for code, name, form in (
        *(("f2", "float16", "e"), ("f4", "float32", "f"), ("f8", "float64", "d"), ("b1", "bool", "?")),
        *(("i1", "int8", "b"), ("i2", "int16", "h"), ("i4", "int32", "i"), ("i8", "int64", "q")),
        *(("u1", "uint8", "B"), ("u2", "uint16", "H"), ("u4", "uint32", "I"), ("u8", "uint64", "Q")),
    )
}  # as numpy writes their types, and their formats of `struct`


class _Kind(type):
    """A class is shown by its name."""

    _name = "?"

    def __repr__(cls) -> str:
        return cls._name


class _StandIn(metaclass=_Kind):
    """Accepts everything that a pickle does to an object, and keeps what is worth showing."""

    _name = "?"

    def __new__(cls, *args: Any, **_: Any) -> _StandIn:
        if (
            args and isinstance(args[0], type) and issubclass(args[0], _StandIn)
        ):  # a function that makes one of it
            cls, args = args[0], args[1:]
        made = object.__new__(cls)
        made._shown = ", ".join(
            "…" if type(each) is bytes and len(each) > 32 else repr(each) for each in args[:4]
        )
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self._shown = ", ".join(f"{name}={value!r}" for name, value in list(state.items())[:8])
        elif isinstance(state, (int, float, str)):
            self._shown = f"{self._shown}, {state!r}" if self._shown else repr(state)

    def append(self, _: Any) -> None:
        """An element of a list of its own kind."""

    def extend(self, _: Any) -> None:
        """Several."""

    add = append

    def __setitem__(self, _: Any, __: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> _StandIn:
        return self

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{self._name}({self._shown})"


class _ArrayStandIn(_StandIn):
    def __repr__(self) -> str:
        return "<array>"


class _Dtype(_StandIn):
    """A type of numbers, as numpy writes it ("f8")."""

    _code = ""

    def __new__(cls, *args: Any, **more: Any) -> _Dtype:
        made: Any = super().__new__(cls, *args, **more)
        made._code = str(args[0]) if args else ""
        found: _Dtype = made
        return found


class _Closed(_StandIn):
    """What is in it says nothing to people."""

    def __repr__(self) -> str:
        return f"<{self._name}>"


class _OfACell(_StandIn):
    """What cloudpickle makes: functions, modules, and what is returned by such functions."""

    def __repr__(self) -> str:
        return "<object>"


def _named(name: str, base: type[_StandIn]) -> type[_StandIn]:
    return type(name, (base,), {"_name": name})


def _class_of_a_cell(*args: Any) -> type[_StandIn]:
    return _named(str(args[1]), _StandIn)


def _class_of_any_version(maker: Any, arguments: tuple[Any, ...], *_: Any) -> Any:
    return maker(*arguments) if maker is _class_of_a_cell else _OfACell()


def _class_by_itself(_: str, __: str, data: bytes) -> Any:
    return preview_piece(data)


def _empty(_: Any, kind: Any) -> Any:
    return kind()


def _of(_: Any, kind: Any, content: Any) -> Any:
    return kind(content)


def _filled(value: Any, parts: tuple[Any, ...]) -> None:
    if isinstance(value, _StandIn):
        value._shown = repr(parts[0])


def _number(kind: Any, data: Any = None, *_: Any) -> Any:
    """One number out of an array, or another element of one."""
    name, form = _NUMBERS.get(getattr(kind, "_code", ""), ("", ""))
    if type(data) is not bytes or not form or len(data) != struct.calcsize(form):
        return _Named("<element of an array>")
    (value,) = struct.unpack(f"={form}", data)
    return _Named(f"np.{value}_" if name == "bool" else f"np.{name}({value!r})")


class _Input:
    """Represents the result of another task."""

    def __init__(self, position: int) -> None:
        self._position = position

    def __repr__(self) -> str:
        return f"<input {self._position + 1}>"


class _Named:
    """Represents a future of another library."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def _labelled(label: str, *_: Any) -> _Named:
    return _Named(f"<{label}>")


class _Share:
    """Represents what tasks share."""

    def __init__(self, _: int, __: int, kind: str) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"<shared {self._kind}>"


class _Previewer(pickle.Unpickler):
    parts: tuple[Any, ...] = ()

    def find_class(self, module: str, name: str) -> Any:
        if module == load_piece.__module__ and name in _OF_PIECES:
            return self._part if name == load_part.__name__ else _OF_PIECES[name]
        if (module, name) == (pickle.loads.__module__, pickle.loads.__name__):
            return preview_piece
        if module == same.__module__ and name == same.__name__:
            return same
        if name in _HARMLESS.get(module, ()):
            return super().find_class(module, name)
        if module == load_input.__module__ and name == load_input.__name__:
            return _Input
        if module == labelled.__module__ and name == labelled.__name__:
            return _labelled
        if module == load_share.__module__ and name == load_share.__name__:
            return _Share
        if module == class_making.__name__:
            return _class_of_a_cell
        if module == class_of.__module__ and name == class_of.__name__:
            return _class_by_itself
        if module == subclasses.__name__:
            return {"_empty": _empty, "_of": _of}.get(name, _filled)
        if module == pickling.__name__:
            return _class_of_any_version if name == "_class_named" else _OfACell
        if module.startswith("cloudpickle"):
            return _class_of_a_cell if name == "_make_skeleton_class" else _OfACell
        return _of_package(module.partition(".")[0], name.rpartition(".")[2])

    def _part(self, place: int) -> Any:
        part = self.parts[place]
        name = name_of_future(part)
        return _Named(name) if name else part

    def persistent_load(self, _: Any) -> Any:
        return _OfACell()


def _of_package(package: str, name: str) -> Any:
    if package == "numpy":
        return _number if name == "scalar" else _named(name, _Dtype if "dtype" in name else _ArrayStandIn)
    return _named(name, _Closed if package == "pandas" and name[:1] != "_" else _StandIn)


def preview_piece(data: Any, buffers: Any = (), parts: tuple[Any, ...] = ()) -> Any:
    """Return a preview of an element that was packed by itself."""
    previewer = _Previewer(io.BytesIO(bytes(data)), buffers=buffers)
    previewer.parts = tuple([preview_piece(part) if isinstance(part, bytes) else part for part in parts])
    return previewer.load()


_OF_PIECES: dict[str, Any] = {
    load_piece.__name__: preview_piece,
    load_bares.__name__: lambda items: list(map(preview_piece, items)),
    load_part.__name__: None,
}


def preview(view: memoryview) -> Any:
    """Return a payload's content, with stand-ins for objects of classes; raise if the pickle is invalid."""
    data, buffers = opened(view)
    return _Previewer(io.BytesIO(bytes(data)), buffers=buffers).load()
