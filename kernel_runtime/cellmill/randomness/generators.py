"""Random numbers of tasks: generators that functions refer to, and the streams of `random` and `numpy.random`.

A copy of a generator in each worker would repeat its draws. So the pickle of a function has stand-ins for the
generators that it refers to, real ones without their state, and each task begins by setting theirs: from the state of
the kernel's generators at the call, and the task's index. numpy is used where it is there already.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import random
import sys
import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_MENTIONED = (b"numpy.random", b"Random")


class Board:
    """The generators of one pickle by their places: in the kernel those that were met, in a worker the stand-ins."""

    def __init__(self) -> None:
        self.closed = False  # what comes now is no part of the function
        self.streams = False  # whether one of them was a stream that each process has of its own
        self.generators: dict[int, Any] = {}

    def place(self, generator: Any) -> int:
        """Register one more generator; return its place."""
        place = len(self.generators)
        self.generators[place] = generator
        return place

    def __reduce__(self) -> tuple[Any, ...]:
        """Asked for with the first generator, or behind the function: None where there was none."""
        return (Board, ()) if self.generators else (type(None), ())


def reduced(value: Any, board: Board | None) -> tuple[Any, ...] | None:
    """Return a generator's reduction in the pickle of a function; None for the usual one."""
    if board is None or board.closed:
        return None
    if isinstance(value, random.Random):
        return _reduced_random(value, board)
    numpy: Any = sys.modules.get("numpy.random")
    if not hasattr(numpy, "Generator"):  # not there, or not yet
        return None
    if type(value) is numpy.Generator:
        return numpy.Generator, (value.bit_generator,)
    if type(value) is numpy.RandomState:
        if value is numpy.mtrand._rand:
            board.streams = True
            return getattr, (numpy.mtrand, "_rand")
        name = value.get_state(legacy=False)["bit_generator"]
        if name in _BIT_GENERATORS:
            return _random_state, (board, board.place(value), getattr(numpy, name))
    elif isinstance(value, numpy.BitGenerator) and type(value).__name__ in _BIT_GENERATORS:
        return _bit_generator, (board, board.place(value), type(value))
    return None


def _reduced_random(value: random.Random, board: Board) -> tuple[Any, ...] | None:
    if value is random._inst:
        board.streams = True
        return getattr, (random, "_inst")
    if isinstance(value, random.SystemRandom):  # it has no state
        return None
    place = board.place(value)
    if type(value) is random.Random:
        return _made, (board, place, random.Random, ())
    parts: Any = value.__reduce_ex__(5)
    make, args, *rest = parts
    return _made, (board, place, make, args), *rest


def mentioned(texts: bytes) -> bool:
    """Whether a pickle, of which these are the texts, may hold generators."""
    return any(name in texts for name in _MENTIONED)


def state_of(generator: Any) -> Any:
    """All that its next draws depend on."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return getattr(generator, "bit_generator", generator).state


# -- in a worker: stand-ins


def _made(board: Board, place: int, make: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    board.generators[place] = made = make(*args)
    return made


def _bit_generator(board: Board, place: int, kind: type) -> Any:
    return _made(board, place, kind, ())


def _random_state(board: Board, place: int, kind: type) -> Any:
    return _made(board, place, sys.modules["numpy.random"].RandomState, (kind(),))


def _set(generator: Any, key: int, index: int) -> None:
    """Make it the child of the one with this key."""
    if isinstance(generator, random.Random):
        generator.seed(_digest(key, index))
        return
    numpy: Any = sys.modules["numpy.random"]
    sequence = numpy.SeedSequence(key, spawn_key=(index,))
    if isinstance(generator, numpy.RandomState):
        kind = getattr(numpy, generator.get_state(legacy=False)["bit_generator"])
        generator.set_state({**kind(sequence).state, "has_gauss": 0, "gauss": 0.0})
        return
    state = type(generator)(sequence).state
    try:
        generator.__setstate__((state, sequence))  # what it spawns comes from this sequence
    except (TypeError, ValueError):  # an older numpy
        generator.state = state


def _digest(*numbers: Any) -> int:
    return int.from_bytes(blake2b(repr(numbers).encode(), digest_size=32).digest(), "little")


# -- the streams of `random` and `numpy.random`


class Seed(NamedTuple):
    """The seed of `cellmill.seed`. ``numpy``: the kernel uses it, so a worker imports it before its task."""

    number: int
    numpy: bool


class Here(threading.local):
    """The (number, index) that the calling thread's task was seeded from."""

    task: tuple[int, int] | None = None


here = Here()


def seed_streams(seed: Seed, index: int) -> None:
    """Have `random` and `numpy.random` draw what they draw in the task with this index."""
    random.seed(_digest(seed.number, index))
    if seed.numpy or "numpy.random" in sys.modules:
        importlib.import_module("numpy.random")
        _seed_numpy(seed.number, index)
    elif not any(type(finder) is _NumpyFinder for finder in sys.meta_path):
        sys.meta_path.insert(0, _NumpyFinder())


def _seed_numpy(number: int, index: int) -> None:
    numpy: Any = sys.modules["numpy.random"]
    numpy.seed(numpy.SeedSequence(number, spawn_key=(index,)).generate_state(8))


def streams_of_their_own() -> None:
    """Streams that no other process has."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        with contextlib.suppress(Exception):
            numpy.random.seed()


class _NumpyFinder:
    """Seeds `numpy.random` when a task is the first to import it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "numpy.random":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            load = loader.exec_module

            def exec_module(module: Any) -> None:
                load(module)
                if here.task is not None:
                    _seed_numpy(*here.task)

            loader.exec_module = exec_module
        return spec


# -- tasks


class Drawing:
    """A function as a worker has loaded it, with the generators that it refers to."""

    def __init__(self, function: Callable[..., Any], board: Board) -> None:
        self.__wrapped__ = function
        self.__qualname__ = self.__name__ = str(getattr(function, "__qualname__", type(function).__name__))
        self.board = board

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Beside tasks: the generators draw from streams of their own."""
        return self.__wrapped__(*args, **kwargs)


class Draws(NamedTuple):
    """The seed and generator keys that some tasks draw from, as sent with them.

    ``keys``: of the function's generators; ``indexes``: of the tasks; ``board``: of a function that travels with them.
    """

    seed: Seed | None
    keys: tuple[int, ...]
    indexes: Sequence[int]
    board: Board | None = None

    def one(self, function: Any) -> Callable[..., Any]:
        """The call of the only task."""
        return functools.partial(_Tasks(self, function), 0)


class _Tasks:
    """Calls of a function, each with the place of its task as the first argument."""

    def __init__(self, draws: Draws, function: Any, *, shared: bool = False) -> None:
        found = function if type(function) is Drawing else getattr(function, "__wrapped__", None)
        board = found.board if type(found) is Drawing else draws.board
        self._function = function
        self._generators = board.generators if board is not None else {}
        self._draws = draws
        self._shared = shared  # the process's streams are not this task's own

    def __call__(self, place: int, /, *args: Any, **kwargs: Any) -> Any:
        try:
            self._begin(place)
            return self._function(*args, **kwargs)
        finally:
            self._end(place)

    def batch(self, items: list[tuple[int, Any]]) -> Any:
        """They draw one after another from what is the first one's."""
        try:
            self._begin(items[0][0])
            return self._function([item for _, item in items])
        finally:
            self._end(items[-1][0])

    def _begin(self, place: int) -> None:
        seed, keys, indexes, _ = self._draws
        index = indexes[place]
        for i, key in enumerate(keys):
            _set(self._generators[i], key, index)
        if seed is not None:
            here.task = seed.number, index
            if not self._shared:
                seed_streams(seed, index)

    def _end(self, place: int) -> None:
        if self._draws.seed is not None:
            here.task = None
            if place == len(self._draws.indexes) - 1 and not self._shared:
                streams_of_their_own()


def prepared(function: Any, body: dict[str, Any]) -> Any:
    """The function to call for a chunk that has `Draws`, whose elements are numbered by this."""
    tasks = _Tasks(body.pop("draws"), function, shared=body.pop("shared", False))
    items = body["items"]
    if body["batch"]:
        body["items"] = list(enumerate(items))
        return tasks.batch
    body["items"] = [(i, *item) if body["star"] else (i, item) for i, item in enumerate(items)]
    body["star"] = True
    return tasks


class _OneInCaller(_Tasks):
    """A task in the calling thread, whose random streams are restored afterwards."""

    def _begin(self, place: int) -> None:
        numpy = sys.modules.get("numpy.random")
        self._before = random.getstate(), numpy and numpy.get_state()
        super()._begin(place)

    def _end(self, place: int) -> None:
        here.task = None
        state, of_numpy = self._before
        random.setstate(state)
        if of_numpy is not None:
            sys.modules["numpy.random"].set_state(of_numpy)


def in_caller(draws: Draws, function: Any) -> Callable[..., Any]:
    """Return the call of one task in the calling thread."""
    return functools.partial(_OneInCaller(draws, function), 0)


def in_shared_process(draws: Draws, function: Any) -> Callable[..., Any]:
    """Return the call of one task in a thread beside others; only `task_seed` uses the seed there."""
    return functools.partial(_Tasks(draws, function, shared=True), 0)
