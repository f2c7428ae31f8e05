"""Generators of random numbers among the arguments of calls.

A task draws from a copy, from where the generator is at the call, and the caller's own stays there. So two calls that
draw from it draw the same numbers, where those of a loop go on. That is told at the second call that is given it,
whether or not it draws.
"""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from types import FunctionType
from typing import Any

from ..diagnostics import notices
from .generators import mentioned, state_of

MOST_KNOWN, _MOST_PARTS = 64, 1000
_given: OrderedDict[int, tuple[Any, bytes]] = (
    OrderedDict()
)  # by id: a generator, and its state when it was given


def look(value: Any, texts: bytes, name: str, function: Any) -> None:
    """Look for generators in what a call of the function of this name is given; ``texts``: of its pickle."""
    if not mentioned(texts):
        return
    for generator in _generators_in(value):
        state = blake2b(pickle.dumps(state_of(generator), 5), digest_size=16).digest()
        known = _given.get(id(generator))
        _given[id(generator)] = generator, state
        if len(_given) > MOST_KNOWN:
            _given.popitem(last=False)
        if known is not None and known[1] == state:
            _tell(type(generator).__name__, name, function)


def _tell(kind: str, name: str, function: Any) -> None:
    notices.give(
        ("generator as an argument", name),
        f"{name} is given a generator of random numbers ({kind}) that a call before was given in the same state. "
        "Where they draw from it, each draws from a copy, and the caller's own does not go on: both draw the same "
        "numbers. Give each one of its own (rng.spawn(n) of numpy, random.Random(seed + i)) or a seed; or let the "
        "function refer to the generator by its name: then each task draws from a child of it.",
        function,
    )


def _generators_in(value: Any) -> Iterator[Any]:
    """Yield those in containers, attributes, closures and methods, as far as a look is worth it."""
    numpy: Any = sys.modules.get("numpy.random")
    kinds = tuple(
        kind
        for kind in (random.Random, getattr(numpy, "Generator", None), getattr(numpy, "RandomState", None))
        if kind is not None
    )
    todo, seen = [value], set[int]()
    while todo and len(seen) < _MOST_PARTS:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, kinds):
            if not isinstance(each, random.SystemRandom):
                yield each
        elif isinstance(each, dict):
            todo.extend(each.values())
        elif isinstance(each, (list, tuple, set, frozenset)):
            todo.extend(each)
        elif type(each) is FunctionType:
            for cell in each.__closure__ or ():
                with contextlib.suppress(ValueError):  # it is empty
                    todo.append(cell.cell_contents)
        else:
            todo += [getattr(each, "__self__", None), getattr(each, "__dict__", None)]
