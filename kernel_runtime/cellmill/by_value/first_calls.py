"""Detection, in a worker, of arguments that a function changes in place, at its first calls there.

A task gets copies: what it does to them does not reach the caller's objects, as it would in a plain loop. What shows in
the function's own statements is said at its definition (`changed_arguments`); changes through methods, helpers and
other names are found here. Only the first calls are looked at, and of their arguments those that are cheap to compare.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import is_a
from ..process_context.process_looks import ProcessLook
from . import module_reads, stream_looks
from .capture import Capture, memory_of
from .capture_kinds import Walk
from .molecules import is_molecule
from .object_state import is_seed_sequence
from .parts import Parts, taken_apart
from .references import body_of, importable
from .watched import Look, all_changed, here, process_look_of, without_free

LOOKS = 3  # calls with an argument that could be changed
CALLS = 16  # after so many of a function there are no more looks
MOST_BYTES = 1 << 18  # of arrays in the arguments of a call
MOST_MEMBERS, MOST_PARTS = 5000, 20
_CONTAINERS = (list, dict, set, bytearray, collections.deque)


class Sight:
    """How many calls of a callable are still looked at, and what was said of them."""

    def __init__(self) -> None:
        self.calls, self.looks = CALLS, LOOKS
        self.said: set[str] = set()
        self.process: ProcessLook | None = None

    def over(self) -> bool:
        """Whether there are no more looks."""
        return self.calls <= 0 or self.looks <= 0


class FirstCalls:
    """A callable whose first calls are looked at. ``spent``: called once there is nothing more to look at.

    What it has with it itself (a method its object, a partial call its constants) is its caller's as the arguments are
    where it was sent with the call, by `sent_along`; else the `watched` state of a function has it.
    """

    def __init__(
        self, function: Any, parts: Parts, sight: Sight, *, along: bool = False, body: bool = False
    ) -> None:
        self.__wrapped__ = function
        self.__qualname__ = self.__name__ = parts.name
        self.spent: Callable[[], Any] | None = None
        self._parts, self._sight = parts, sight
        self._along, self._body = along, body
        self._parameters = parts.parameters()
        inner = parts.function
        self._code = inner if along and type(inner) is types.FunctionType and _may_change(inner) else None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        sight = self._sight
        if sight.calls <= 0 or sight.looks <= 0 or _paused.now:
            return self.__wrapped__(*args, **kwargs)
        sight.calls -= 1
        variables = {} if self._body else dict(self._variables(args, kwargs))
        look = _look(variables, self._code) if variables or self._code is not None else None
        if look is not None:
            sight.looks -= 1
        process = sight.process if self._along else None
        if process is not None:
            process.note()
        if sight.over() and self.spent is not None:
            self.spent()
        streams = stream_looks.states()
        value = self.__wrapped__(*args, **kwargs)
        self._say(stream_looks.drawn_since(streams), arguments=False)
        if process is not None:
            self._say(process.changed(), arguments=False)
        if look is not None:
            self._tell(look, variables, value)
        return value

    def _variables(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield names and values of what could be changed."""
        parts = self._parts
        all_args = (*parts.args, *args)
        names, rest = self._parameters
        names = (*names, *(f"{rest}[{i}]" for i in range(len(all_args) - len(names))))
        named = [*zip(names, all_args, strict=False)][0 if self._along else len(parts.args) :]
        for name, value in (*named, *(parts.kwargs.items() if self._along else ()), *kwargs.items()):
            yield from _changing(name, value)

    def _say(self, names: Iterable[str], *, arguments: bool) -> None:
        new = set(names) - self._sight.said
        if new and here.tell is not None:
            here.tell(self.__name__, tuple(sorted(new)), arguments)
            self._sight.said |= new

    def _tell(self, look: _Look, variables: dict[str, Any], value: Any) -> None:
        changed = look.changed()
        if not changed:
            return
        self._say(changed.difference(variables), arguments=False)
        back = {id(value), *map(id, _members(value))}
        changed.intersection_update(variables)
        self._say((name for name in changed if id(variables[name]) not in back), arguments=True)


_sights: dict[Any, Sight] = {}  # of what is sent with its calls, by what tells one from another
MOST_SIGHTS = 1000


def sent_along(function: Any) -> Any:
    """Return a method, a partial call or another callable that came with its call; the first calls are looked at."""
    parts = taken_apart(function)
    key = parts.key()
    sight = _sights.get(key)
    if sight is None:
        if len(_sights) >= MOST_SIGHTS:
            _sights.clear()
        sight = _sights[key] = Sight()
        if _is_ours(parts):
            sight.calls = 0
        elif type(parts.function) is types.FunctionType:
            sight.process = process_look_of(parts.function)
    return function if sight.over() else FirstCalls(function, parts, sight, along=True)


def _is_ours(parts: Parts) -> bool:
    return parts.module.startswith(("cellmill.", "cellmill_widgets"))


class _Paused(threading.local):
    now = False


_paused = _Paused()


@contextlib.contextmanager
def no_looks() -> Iterator[None]:
    """Calls in the block have arguments that are no caller's: lists that batch functions are given."""
    before, _paused.now = _paused.now, True
    try:
        yield
    finally:
        _paused.now = before


def first_calls(function: Any, name: str) -> Any:
    """Return a function of the user's with its first calls looked at; anything else as it is. The body of a loop sees
    to what it changes of its items.
    """
    parts = taken_apart(function)
    if body_of(function)[0] is not None:
        return FirstCalls(function, parts._replace(name=name), Sight(), body=True)
    return function if _is_ours(parts) else FirstCalls(function, parts, Sight())


def _changing(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what of an argument could be changed, with its name: itself, or parts of what only puts them together."""
    if is_a(value, tuple):
        for place, part in enumerate(value[:MOST_PARTS]):
            yield from _changing(f"{name}[{place}]", part)
    elif type(value) is functools.partial:
        yield from _changing(f"{name}.func", value.func)
        yield from _changing(f"{name}.args", value.args)
        yield from _changing(f"{name}.keywords", tuple(value.keywords.values()))
    elif type(value) is types.BuiltinFunctionType:
        yield from _changing(f"{name}.__self__", value.__self__)
    elif _may_change(value):
        yield name, value


def _may_change(value: Any) -> bool:
    kind = type(value)
    if kind in _CONTAINERS:
        return len(value) <= MOST_MEMBERS
    if kind is types.MethodType:
        return _may_change(value.__self__)
    if kind is types.FunctionType or is_a(value, type):
        return module_reads.of_users(value)
    if _is_array(kind):
        return bool(value.nbytes <= MOST_BYTES and value.flags.writeable)
    if str(kind.__module__).partition(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return bool(value.size <= MOST_BYTES // 8)
    if is_molecule(value) or is_seed_sequence(kind):
        return True
    if is_a(value, types.ModuleType):
        return getattr(value, "__spec__", None) is None  # it was made here: others are imported in a task
    return bool(kind.__flags__ & 1 << 9)


def _is_array(kind: type) -> bool:
    """Whether it is the class of numpy's arrays, or of those in files: a task has a copy of both."""
    numpy = sys.modules.get("numpy")
    return kind.__module__ == "numpy" and kind in (
        getattr(numpy, "ndarray", None),
        getattr(numpy, "memmap", None),
    )


class _Look:
    """What arguments were before a call, and which of them differ after it."""

    def __init__(
        self, variables: dict[str, Any], memory: Callable[[Any], bytes | None], function: Any = None
    ) -> None:
        """``function``: that what it refers to is compared, too."""
        self._function = _captured(function, memory) if function is not None else None
        whole = {name: value for name, value in variables.items() if _is_compared_whole(value)}
        self._whole = Look(whole, memory) if whole else None
        others = variables.keys() - whole.keys()
        code = [name for name in others if issubclass(type(variables[name]), (types.FunctionType, type))]
        self._code = {name: (variables[name], _captured(variables[name], memory)) for name in code}
        others.difference_update(code)
        self._attributes = {name: (variables[name], _public(variables[name])) for name in others}

    def changed(self) -> set[str]:
        """Return their names, and those of data of modules that functions and methods among them have changed."""
        found = set() if self._whole is None else self._whole.all_changed()
        if self._function is not None:
            found.update(all_changed(self._function, Capture(self._function, 0).changed(), set()))
        for name, (code, walk) in self._code.items():
            own = _own_names(code)
            for each in all_changed(walk, Capture(walk, 0).changed(), set()):
                found.add(name if each in own else each)
        for name, (value, before) in self._attributes.items():
            now = _public(value)
            if now.keys() != before.keys() or any(now[key] is not before[key] for key in now):
                found.add(name)
        return found


def _own_names(code: Any) -> set[str]:
    """The names in a walk of what belongs to a function or class itself."""
    if is_a(code, type):
        return {code.__name__}
    return {"its attributes", "its defaults", *code.__code__.co_freevars}


def _is_compared_whole(value: Any) -> bool:
    """Whether all that it refers to is compared. Of objects of packages' classes only attributes are, by identity: what
    they change deeper inside may be a cache.
    """
    kind = type(value)
    if is_a(value, types.ModuleType):
        return False
    if kind is types.FunctionType or is_a(value, type):
        return importable(value)
    if kind is types.MethodType:
        return _is_compared_whole(value.__self__)
    if (
        kind.__flags__ & 1 << 9 == 0
        or str(kind.__module__).partition(".")[0] == "pandas"
        or is_molecule(value)
        or _is_array(kind)
    ):
        return True
    return module_reads.of_users(kind)


def _public(value: Any) -> dict[str, Any]:
    """The attributes of an object that are neither private nor caches."""
    held = getattr(value.__self__ if type(value) is types.MethodType else value, "__dict__", None)
    if type(held) is not dict:
        return {}
    kind = type(value)
    return {
        name: part
        for name, part in held.copy().items()  # a thread of the object may set more
        if type(name) is str
        and not name.startswith("_")
        and type(inspect.getattr_static(kind, name, None)) is not functools.cached_property
    }


def _captured(code: Any, memory: Callable[[Any], bytes | None]) -> Walk:
    walk = Walk(memory, in_worker=True)
    walk.go(code)
    return without_free(walk, set())


def _look(variables: dict[str, Any], function: Any) -> _Look:
    left = MOST_BYTES

    def memory(value: Any) -> bytes | None:
        nonlocal left
        left -= memoryview(value).nbytes
        return memory_of(value) if left >= 0 else None

    return _Look(variables, memory, function)


def _members(value: Any) -> Any:
    if type(value) in (tuple, list):
        return value
    return value.values() if type(value) is dict else ()
