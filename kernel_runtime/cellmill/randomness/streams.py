"""Random numbers of tasks, in the kernel: which child of a generator each task draws from.

A child's key is made of the generator's state and the function's name (for what has none of its own, of its code); its
index is the element's place in its map, or counts the calls of the function since that state. So it depends on nothing
that happens in workers.
"""

from __future__ import annotations

import pickle
import sys
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial, update_wrapper
from hashlib import blake2b
from itertools import count, islice
from operator import is_
from typing import Any, NamedTuple, Protocol

from ..by_value.references import body_of, named_references
from ..diagnostics import notices
from .generators import Board, Draws, Seed, in_caller, state_of

MOST_COUNTED = 256
_DEEPEST, _MOST_PARTS = 3, 1000
MAP, CALL = b"map", b"call"


class Watcher(Protocol):
    def seeded(self, on: bool) -> None:
        """Whether tasks are seeded from now on."""


seed: Seed | None = None  # of the tasks that are submitted now
_times_seeded = 0
_watchers: weakref.WeakSet[Any] = weakref.WeakSet()


def set_seed(number: int | None) -> None:
    """Set the seed of the tasks that are submitted from now on."""
    global seed, _times_seeded
    _times_seeded += 1
    seed = None if number is None else Seed(number, numpy=False)
    for watcher in list(_watchers):
        watcher.seeded(number is not None)


def watch(watcher: Watcher) -> None:
    """Call ``watcher.seeded`` now, and whenever the seed is set or removed."""
    _watchers.add(watcher)
    watcher.seeded(seed is not None)


def present_seed() -> Seed | None:
    """Return the seed as it is sent with tasks, or None."""
    return seed and seed._replace(numpy="numpy.random" in sys.modules)


def owner_of(function: Any, name: str) -> str:
    """Whose children they are: two functions that share a generator do not draw the same."""
    code = getattr(function, "__code__", None)
    if isinstance(code, types.CodeType) and "<lambda>" in name:
        return f"{_code_digest(code)} {name}"
    body, _ = body_of(function)
    return f"{_code_digest(body)} {name}" if body is not None else name


def _code_digest(code: types.CodeType) -> str:
    """Return a digest of code that does not depend on where it is defined."""
    digest = blake2b(code.co_code, digest_size=8)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        text = _code_digest(constant) if isinstance(constant, types.CodeType) else repr(constant)
        digest.update(text.encode("utf-8", "replace"))
    return digest.hexdigest()


def keys_of(generators: Sequence[Any], owner: str, what: bytes) -> tuple[int, ...]:
    """Return one key for each generator, made of its present state."""
    key = blake2b(owner.encode("utf-8", "replace")).digest()
    states = (pickle.dumps(state_of(generator), 5) for generator in generators)
    digests = (blake2b(state, digest_size=16, key=key, person=what).digest() for state in states)
    return tuple(int.from_bytes(digest, "little") for digest in digests)


class _Count(NamedTuple):
    origin: Any  # what it counts from: the keys, or the latest call of `cellmill.seed`
    generators: Sequence[Any]  # which keeps their identities
    calls: int


class Calls:
    """The random draws of single calls of one backend's functions."""

    def __init__(self) -> None:
        self._counts: OrderedDict[Any, _Count] = OrderedDict()
        self._mapped: OrderedDict[tuple[int, ...], Sequence[Any]] = OrderedDict()  # generators of maps
        self._lock = threading.Lock()

    def next(self, owner: str, generators: Sequence[Any], board: Board | None = None) -> Draws:
        """Return the draws of one more call of the function with this owner."""
        keys, seed = keys_of(generators, owner, CALL), present_seed()
        if seed is not None:
            index = self._count((owner, "seed"), _times_seeded, ())
        else:
            index = self._count((owner, *map(id, generators)), keys, generators)
        return Draws(seed, keys, (index,), board)

    def next_of_batch(self, owner: str, root: Root) -> int:
        """Return the index of one more item for a batch function that is called item by item."""
        return self._count((owner, "batch"), (root.keys, _times_seeded), ())

    def begin_map(self, owner: str, generators: Sequence[Any]) -> tuple[Root, bool]:
        """Return a new map's root, and whether another map has drawn the same from the same generators."""
        root = Root(present_seed(), keys_of(generators, owner, MAP))
        if not root.keys:
            return root, False
        with self._lock:
            before = self._mapped.pop(root.keys, ())
            self._mapped[root.keys] = generators
            if len(self._mapped) > MOST_COUNTED:
                self._mapped.popitem(last=False)
        return root, bool(before) and all(map(is_, before, generators))

    def _count(self, what: Any, origin: Any, generators: Sequence[Any]) -> int:
        with self._lock:
            found = self._counts.pop(what, None)
            calls = found.calls + 1 if found is not None and found.origin == origin else 0
            self._counts[what] = _Count(origin, generators, calls)
            if len(self._counts) > MOST_COUNTED:
                self._counts.popitem(last=False)
            return calls


class Root(NamedTuple):
    """The seed and generator keys that a map's elements draw from, taken at its start."""

    seed: Seed | None
    keys: tuple[int, ...]

    def draws(self, indexes: Sequence[int], board: Board | None = None) -> Draws:
        """Return the draws of the elements with these places."""
        return Draws(self.seed, self.keys, indexes, board)


class InCaller:
    """Seeds the calls that run at once, in the caller."""

    def __init__(self) -> None:
        self._calls = Calls()

    def of_map(self, function: Any) -> Callable[[], Any]:
        """Return a function that returns what to call for each element in turn."""
        present = present_seed()
        if present is None:
            return lambda: function
        indexes = count()
        return lambda: self._of(Draws(present, (), (next(indexes),)), function)

    def one(self, function: Any, name: str) -> Any:
        """Return the function to call for a single call."""
        return (
            function if seed is None else self._of(self._calls.next(owner_of(function, name), ()), function)
        )

    @staticmethod
    def _of(draws: Draws, function: Any) -> Any:
        return update_wrapper(in_caller(draws, function), function)


class Late:
    """The `Draws` in the pickle of a function that is sent with its task, set once its generators are known."""

    def __init__(self, board: Board, make: Callable[[list[Any]], Draws | None]) -> None:
        self._board = board
        self._make = make

    def __reduce__(self) -> tuple[Any, ...]:
        self._board.closed = True
        draws = self._make(list(self._board.generators.values()))
        return (type(None), ()) if draws is None else (Draws, tuple(draws))


# -- what is said about it

_said: set[tuple[str, str]] = set()


def say(function: Any, name: str, generators: Sequence[Any], *, batch: bool = False) -> None:
    """Once per function and variable: what its tasks draw from."""
    names = _variables(function, generators)
    new = [each for each in names if (name, each) not in _said]
    if not new:
        return
    _said.update((name, each) for each in new)
    shown = _listed(new)
    notices.give(
        ("draws", name, shown),
        f"tasks of {name} draw from children of {shown}, one per task: made from the state of {shown} at the call and "
        "the task's index. So their numbers differ from those of a loop, and are the same whatever the number of "
        f"workers; {shown} {'stay as they are' if len(new) > 1 else 'stays as it is'}. "
        + ("What a batch draws depends on its size. " if batch else "")
        + "This note is shown once.",
    )


def say_again(function: Any, name: str, generators: Sequence[Any]) -> None:
    """A map draws what another one has drawn."""
    names = _variables(function, generators)
    shown, many = _listed(names), len(names) > 1
    notices.give(
        object(),
        f"this map of {name} draws the same numbers as one before it: {shown} {'have' if many else 'has'} not changed "
        f"since, and tasks do not change {'them' if many else 'it'}. For other numbers draw from {shown} in the "
        f"notebook between the maps, or make {'them' if many else 'it'} anew from another seed.",
    )


def say_shared() -> None:
    """Once: what a seed does not reach in threads."""
    notices.give(
        "threads and seeds",
        "cellmill.seed does not reach random and numpy.random in the threads backend: its tasks run in this process "
        "and share these streams. Draw from numpy.random.default_rng(cellmill.task_seed()) in the task, or use "
        "backend='local'. This note is shown once.",
    )


def _variables(function: Any, generators: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(_variable(function, generator) for generator in generators))


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _variable(function: Any, generator: Any) -> str:
    """The name by which a function refers to a generator."""
    owner = getattr(function, "__self__", function)
    if owner is generator or getattr(owner, "bit_generator", None) is generator:
        return "its generator"
    plain = type(function) in (types.FunctionType, partial)
    roots = _parts("", function) if plain else [("self", owner)]
    todo = [(name, value, 0) for name, value in roots]
    seen: set[int] = set()
    while todo:
        name, value, depth = todo.pop(0)
        if value is generator or getattr(value, "bit_generator", None) is generator:
            return name
        if id(value) in seen or depth == _DEEPEST or isinstance(value, type):
            continue
        seen.add(id(value))
        # a generator of a module's is looked for, not what the module's functions refer to
        depth = _DEEPEST if isinstance(value, types.ModuleType) else depth + 1
        todo.extend((step, part, depth) for step, part in islice(_parts(name, value), _MOST_PARTS))
    return f"a {type(generator).__name__}"


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is types.FunctionType:
        yield from named_references(value)
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        yield from ((f"a default of {value.__name__}", part) for part in defaults)
    elif type(value) is partial:
        yield from value.keywords.items()
        yield from (("its arguments", part) for part in value.args)
        yield from _parts(name, value.func)
    elif type(value) is dict:
        yield from ((f"{name}[{key!r}]", part) for key, part in value.copy().items())
    elif type(value) in (list, tuple):
        yield from ((f"{name}[{i}]", part) for i, part in enumerate(value))
    elif isinstance(variables := getattr(value, "variables", None), dict):  # the body of a cell
        yield from ((str(key), part) for key, part in variables.items())
    else:
        attributes = getattr(value, "__dict__", None) or {}
        yield from ((f"{name}.{key}", part) for key, part in attributes.copy().items())
