"""Exceptions taken apart in one process and put together in another, by the parts that all of them have.

`__init__` is not called again: what it was given is not known, and what it did is in the arguments and attributes. A
class that says itself how it is pickled (`__reduce__`) has its way. Whatever cannot be sent is left out, and a note on
the exception says so. Nothing that a class defines can raise through here: its parts are read as `BaseException` does.
"""

from __future__ import annotations

import builtins
import io
import pickle
import sys
import types
from collections.abc import Iterator
from concurrent.futures.process import _RemoteTraceback
from typing import Any, NamedTuple

from ..by_value import pickling
from ..errors import PayloadError, class_name, in_words, is_a, module_name, text_of
from . import payload

MOST_CAUSES = 100  # of one exception, causes of causes included
MOST_WORDS = 20_000  # characters of its text, beside its arguments

_READ = {name: BaseException.__dict__[name] for name in ("args", "__dict__", "__cause__", "__context__")}
_ARGS, _ATTRIBUTES, _CAUSE, _CONTEXT = _READ.values()
_SUPPRESS: Any = BaseException.__dict__["__suppress_context__"]
_EXCEPTIONS: Any = BaseExceptionGroup.__dict__["exceptions"]
_MESSAGE: Any = BaseExceptionGroup.__dict__["message"]
_MRO, _NAMESPACE = type.__dict__["__mro__"], type.__dict__["__dict__"]
_BUILTIN = {
    id(found): found
    for found in vars(builtins).values()
    if isinstance(found, type) and issubclass(found, BaseException)
}
_REDUCERS = ("__reduce__", "__reduce_ex__", "__setstate__")
_ATOMS = frozenset((int, float, complex, bool, str, bytes, type(None)))
_LEFT = frozenset(
    ("obj", "exceptions", "message")
)  # of no use elsewhere and maybe large; made with the group


class Part(NamedTuple):
    """One exception of a connected group; the others are named by their places, -1: none."""

    cls: bytes  # pickles; b"" where there is none
    names: tuple[tuple[str, str], ...]  # module and qualified name of the class and its bases
    whole: bytes  # as the class itself has it pickled
    state: bytes  # (arguments, attributes, what is in slots and in fields of C)
    words: str
    left_out: tuple[str, ...]
    cause: int
    context: int
    suppressed: bool
    inside: tuple[int, ...]  # of a group


class _Pickler(pickling.Pickler):
    """Exceptions among the arguments and attributes of another one are taken apart as well."""

    def __init__(self, file: Any, within: frozenset[int], whole: BaseException | None = None) -> None:
        super().__init__(file, protocol=5)
        self._within, self._whole = within, whole

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        if obj is self._whole or not is_a(obj, BaseException):
            return super().reducer_override(obj)
        if id(obj) in self._within:
            raise pickle.PicklingError("it refers to the exception that it belongs to")
        return put_together, (taken_apart(obj, self._within),)


def taken_apart(error: BaseException, within: frozenset[int] = frozenset()) -> list[tuple[Any, ...]]:
    """The exception, those of its group, its causes and theirs, as rows of plain data; itself is the first."""
    found, places = [error], {id(error): 0}

    def place(other: Any, *, of_group: bool = False) -> int:
        if other is None or is_a(other, _RemoteTraceback):
            return -1
        if id(other) not in places:
            if not of_group and len(found) > MOST_CAUSES:
                return -1
            places[id(other)] = len(found)
            found.append(other)
        return places[id(other)]

    rows = []
    for one in found:  # it grows
        inside = (
            [place(e, of_group=True) for e in _EXCEPTIONS.__get__(one)]
            if is_a(one, BaseExceptionGroup)
            else []
        )
        rows.append(
            (
                *_read(one, within | {id(one)}),
                place(_CAUSE.__get__(one)),
                place(_CONTEXT.__get__(one)),
                bool(_SUPPRESS.__get__(one)),
                tuple(inside),
            )
        )
    return rows


def _read(error: BaseException, within: frozenset[int]) -> tuple[Any, ...]:
    """The first fields of `Part`."""
    cls = type(error)
    names = tuple((module_name(base), class_name(base)) for base in _MRO.__get__(cls)[:-2])
    words, left_out = text_of(error)[:MOST_WORDS], list[str]()
    whole = b""
    if _says_how(cls):
        try:
            whole = _dumps(error, within, error)
        except BaseException:
            whole = b""
    state = b"" if whole else _state(error, within, left_out)
    return _class_pickle(cls), names, whole, state, words, tuple(left_out)


def _class_pickle(cls: type) -> bytes:
    if id(cls) in _BUILTIN:
        return b""
    try:
        data: bytes = payload.encode(cls).data
        return data
    except BaseException:
        return b""


def _says_how(cls: type) -> bool:
    """Whether a class has a way of its own to be pickled, or fields that only its own code in C knows."""
    for base in _MRO.__get__(cls):
        if id(base) in _BUILTIN:
            return False
        own = _NAMESPACE.__get__(base)
        if any(name in own for name in _REDUCERS) or isinstance(own.get("__new__"), types.BuiltinMethodType):
            return True
    return False


def _state(error: BaseException, within: frozenset[int], left_out: list[str]) -> bytes:
    arguments = _ARGS.__get__(error)
    if is_a(error, OSError):
        arguments = OSError.__reduce__(error)[1]  # the file names, which args lacks
    elif is_a(error, BaseExceptionGroup):
        arguments = (_MESSAGE.__get__(error),)  # `args` are what the class's own `__new__` was given
    attributes = _ATTRIBUTES.__get__(error)
    fields = dict(_fields(error))
    try:
        return _dumps((arguments, attributes, fields), within)
    except BaseException:
        pass
    kept: list[Any] = []
    for i, value in enumerate(arguments):
        good = _can_be_sent(value, within, f"argument {i + 1}", left_out)
        kept.append(value if good else text_of(value)[:MOST_WORDS])
    pairs = [
        {k: v for k, v in values.items() if _can_be_sent(v, within, f"attribute {text_of(k)}", left_out)}
        for values in (attributes, fields)
    ]
    return _dumps((tuple(kept), *pairs), within)


def _can_be_sent(value: Any, within: frozenset[int], what: str, left_out: list[str]) -> bool:
    try:
        _dumps(value, within)
        return True
    except BaseException as problem:
        left_out.append(f"{what}, a {class_name(type(value))} ({in_words(problem)})")
        return False


def _dumps(value: Any, within: frozenset[int], whole: BaseException | None = None) -> bytes:
    """Its pickle, which loads in this process; raises what it raises."""
    if type(value) is tuple and _is_plain(value):
        return pickle.dumps(value, 5)
    file = io.BytesIO()
    _Pickler(file, within, whole).dump(value)
    data = file.getvalue()
    loaded = pickle.loads(data)  # what pickles need not come back
    if whole is not None and type(loaded) is not type(whole):
        raise TypeError(f"it comes back as a {class_name(type(loaded))}")
    return data


def _is_plain(parts: tuple[Any, ...]) -> bool:
    for part in parts:
        kind = type(part)
        values = part.values() if kind is dict else part if kind is tuple or kind is list else (part,)
        if not _ATOMS.issuperset(map(type, values)) or (
            kind is dict and not _ATOMS.issuperset(map(type, part))
        ):
            return False
    return True


def _fields(error: BaseException) -> Iterator[tuple[str, Any]]:
    """Yield the (name, value) of slots and of the fields of classes written in C."""
    for name, descriptor in _descriptors(type(error)).items():
        try:
            value = descriptor.__get__(error)
        except AttributeError:
            continue
        if value is not None:
            yield name, value


def _descriptors(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in _MRO.__get__(cls)[:-2]:  # without BaseException and object
        for name, value in _NAMESPACE.__get__(base).items():
            if type(value) is types.MemberDescriptorType and name not in _LEFT:
                found.setdefault(name, value)
    return found


# -- together again


def put_together(rows: list[tuple[Any, ...]]) -> BaseException:
    """The exception, with its causes; what cannot be had here is replaced, and a note says by what."""
    parts = [Part(*row) for row in rows]
    made: list[BaseException | None] = [None] * len(parts)
    for i in reversed(range(len(parts))):  # those of a group come after it
        inside = [error for error in (made[place] for place in parts[i].inside) if error is not None]
        made[i] = _made(parts[i], inside)
    for part, error in zip(parts, made, strict=True):
        if part.cause >= 0:
            _CAUSE.__set__(error, made[part.cause])
        if part.context >= 0:
            _CONTEXT.__set__(error, made[part.context])
        _SUPPRESS.__set__(error, part.suppressed)
    assert made[0] is not None
    return made[0]


def _made(part: Part, inside: list[BaseException]) -> BaseException:
    notes = [f"left in the worker, since it cannot be sent: {what}" for what in part.left_out]
    missing = False
    try:
        cls = _class_of(part)
    except BaseException as problem:
        missing = True
        cls = _stand_in(part, in_words(problem), notes)
    error: BaseException | None = None
    if part.whole:
        try:
            error = pickle.loads(part.whole)
        except BaseException as problem:
            notes.append(f"it could not be loaded here: {in_words(problem)}")
    if not is_a(error, BaseException):
        error = _remade(cls, part, inside, notes)
    if missing:
        _ATTRIBUTES.__get__(error)["_words"] = part.words
    if notes:
        _add_notes(error, notes)
    return error


def _class_of(part: Part) -> type[BaseException]:
    """Load the exception class, as it was pickled or by its name; raise what loading it raises."""
    if not part.cls:
        return _named(*part.names[0]) if part.names else BaseException
    try:
        cls = pickle.loads(part.cls)
        if issubclass(type(cls), type) and type.__subclasscheck__(BaseException, cls):
            return cls  # type: ignore[no-any-return]
        raise TypeError(f"it comes back as a {class_name(type(cls))}")
    except BaseException:
        try:
            return _named(*part.names[0])
        except LookupError:
            pass
        raise


def _named(module: str, name: str) -> type[BaseException]:
    """An exception class of a module that is loaded here; raises `LookupError`."""
    found: Any = sys.modules.get(module)
    for step in name.split("."):
        try:
            found = getattr(found, step, None)
        except Exception:  # of a metaclass
            found = None
    if not issubclass(type(found), type) or not type.__subclasscheck__(BaseException, found):
        raise LookupError(f"there is no exception {module}.{name} here")
    return found  # type: ignore[no-any-return]


_stand_ins: dict[tuple[str, str, int], type[BaseException]] = {}


def _stand_in(part: Part, problem: str, notes: list[str]) -> type[BaseException]:
    """A class by that name, of the nearest base that is known here, and a `PayloadError`."""
    module, name = part.names[0]
    nearest: type[BaseException] = BaseException
    for known in part.names[1:]:
        try:
            nearest = _named(*known)
            break
        except LookupError:
            continue
    notes.append(
        f"{module}.{name} cannot be found here ({problem}): a class of that name replaces it, caught as "
        f"{class_name(nearest)}. Define it in a module that this process can import as well, or in a cell"
    )
    key = (module, name, id(nearest))
    if key not in _stand_ins:
        namespace = {
            "__module__": module,
            "__qualname__": name,
            "__str__": lambda self: self.__dict__["_words"],
        }
        bases: tuple[type, ...] = (nearest,)
        if type.__subclasscheck__(Exception, nearest):
            bases = (PayloadError,) if issubclass(PayloadError, nearest) else (nearest, PayloadError)
        try:
            _stand_ins[key] = type(name.rpartition(".")[2], bases, namespace)
        except TypeError:  # what their objects look like in memory differs
            _stand_ins[key] = type(name.rpartition(".")[2], (nearest,), namespace)
    return _stand_ins[key]


def _remade(
    cls: type[BaseException], part: Part, inside: list[BaseException], notes: list[str]
) -> BaseException:
    """Remake an exception from its arguments and attributes, without its own `__new__` and `__init__`."""
    base = next(known for known in map(_BUILTIN.get, map(id, _MRO.__get__(cls))) if known is not None)
    arguments: tuple[Any, ...] = (part.words,)
    attributes: dict[Any, Any] = {}
    fields: dict[str, Any] = {}
    if part.state:
        try:
            arguments, attributes, fields = pickle.loads(part.state)
        except BaseException as problem:
            notes.append(f"its arguments and attributes could not be loaded here: {in_words(problem)}")
    if issubclass(base, BaseExceptionGroup):
        arguments = (arguments[0], inside)
    try:
        error = base.__new__(cls, *arguments)
        base.__init__(error, *arguments)
    except Exception:
        error = base.__new__(cls)  # arguments that the class itself would not take
        _ARGS.__set__(error, arguments)
    own = _ATTRIBUTES.__get__(error)
    own.update(attributes)
    descriptors = _descriptors(cls)
    for name, value in fields.items():
        if name in descriptors:
            descriptors[name].__set__(error, value)
        else:
            own[name] = value
    return error


def _add_notes(error: BaseException, notes: list[str]) -> None:
    known = _ATTRIBUTES.__get__(error).setdefault("__notes__", [])
    if type(known) is list:
        known.extend(f"Cellmill: {note}." for note in notes)
