"""Functions that draw from `random` and `numpy.random` themselves, while the user's code seeds these.

Each worker has streams of its own there, which a seed in the kernel does not reach: a loop would draw the same
numbers in every run, and tasks do not. That is said before such a task begins, once per function. Nothing is said
where the user seeds nothing, where the function seeds its streams itself, or after `cellmill.seed`. Draws in the code
of packages are not seen.
"""

from __future__ import annotations

import dis
import functools
import linecache
import random
import re
import sys
import types
import weakref
from collections import ChainMap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..by_value.module_reads import is_own
from ..by_value.references import body_of, cell_value, helpers_of, named_references
from ..diagnostics import notices
from . import streams

RANDOM, NUMPY = "random", "numpy.random"
_SEED = re.compile(r"((?:\b\w+\s*\.\s*)*)\bseed\s*\(")
_OF_STATE = frozenset(("getstate", "setstate", "get_state", "set_state", "_bit_generator"))
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class _Drawing(NamedTuple):
    """A function that was sent to workers: where it is defined, and the streams of which nothing was said yet."""

    function: Callable[[], Any]
    streams: set[str]


class _Seeds:
    """Which streams the user's code seeds, by its text: cells, or the script."""

    def __init__(self) -> None:
        self._found: set[str] = set()
        self._cells = 0  # of the history, read so far
        self._script: str | None = None
        self._drawing: dict[str, _Drawing] = {}

    def met(self, function: Any, name: str) -> None:
        """A function is sent to workers, for the first time or changed."""
        drawn = drawn_by(function)
        if drawn:
            plain = type(function) is types.FunctionType
            self._drawing[name] = _Drawing(weakref.ref(function) if plain else lambda: None, drawn)
            self._read_all()
            self._tell(name)

    def before_cell(self, text: str) -> None:
        """A cell begins: what it seeds is told of the functions that it names."""
        if not self._drawing:
            return
        self._read(text)
        for name in set(re.findall(r"\w+", text)) & self._drawing.keys():
            self._tell(name)

    def _read_all(self) -> None:
        main = sys.modules.get("__main__")
        cells = getattr(main, "In", None)
        if type(cells) is list:
            for text in cells[self._cells :]:
                self._read(str(text))
            self._cells = len(cells)
        script = getattr(main, "__file__", None)
        if type(script) is str and script != self._script:
            self._script = script
            self._read("".join(linecache.getlines(script)))

    def _read(self, text: str) -> None:
        for found in _SEED.finditer(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if "#" not in line and (stream := _seeded(found.group(1))) is not None:
                self._found.add(stream)

    def _tell(self, name: str) -> None:
        function, drawn = self._drawing[name]
        if streams.seed is not None:
            return
        for stream in sorted(drawn & self._found):
            drawn.discard(stream)
            notices.give(
                ("seed", name, stream),
                f"tasks of {name} draw from {stream}, of which each worker has its own: {stream}.seed() here does not "
                "reach them. Their numbers differ from those of a loop, and from run to run. cellmill.seed(7) makes "
                "them the same in every run, with any number of workers.",
                function(),
            )


_seeds = _Seeds()  # of this process's user
met = _seeds.met
before_cell = _seeds.before_cell


def drawn_by(function: Any) -> set[str]:
    """Return which of the two streams a function and its helpers draw from and do not seed, by their code."""
    while type(function) is functools.partial:
        function = function.func
    drawn, seeded = set(filter(None, [_stream_of(function)])), set[str]()
    for code, value_of in _codes(function):
        for stream, name in _uses(code, value_of):
            (seeded if name == "seed" else drawn).add(stream)
    return drawn - seeded


def _codes(function: Any) -> Iterator[tuple[types.CodeType, Callable[[str], Any]]]:
    """Yield the code of functions by value, nested code too, with what tells the value of a name in it."""
    for helper in _helpers(function):
        closure = zip(helper.__code__.co_freevars, helper.__closure__ or (), strict=False)
        names = ChainMap({name: cell_value(cell) for name, cell in closure}, helper.__globals__)
        yield from ((code, names.get) for code in _nested(helper.__code__))
    body, variables = body_of(function)
    if body is not None:
        yield from ((code, variables.get) for code in _nested(body))


def _helpers(function: Any) -> Iterator[types.FunctionType]:
    """The functions by value that it reaches, and those of the user's modules."""
    todo, seen = [function], set[int]()
    while todo:
        for helper in helpers_of(todo.pop()):
            if type(helper) is not types.FunctionType or id(helper) in seen:
                continue
            seen.add(id(helper))
            yield helper
            todo += [
                value
                for _, value in named_references(helper)
                if type(value) is types.FunctionType and is_own(sys.modules.get(value.__module__))
            ]


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _uses(code: types.CodeType, value_of: Callable[[str], Any]) -> Iterator[tuple[str, str]]:
    """Yield (stream, name of its method) for what code names: `random.choice`, `np.random.rand`, `shuffle`."""
    for chain in _chains(code):
        value, rest = value_of(chain[0]), list(chain[1:])
        while rest and isinstance(value, types.ModuleType):
            value = getattr(value, rest.pop(0), None)
        stream = _stream_of(value)
        if stream is not None and value.__name__ not in _OF_STATE:
            yield stream, value.__name__


@functools.lru_cache(maxsize=1024)
def _chains(code: types.CodeType) -> list[tuple[str, ...]]:
    """The names that code loads, with the attributes that it reads of each."""
    found: list[tuple[str, ...]] = []
    open_chain = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in _LOADS:
            found.append((str(instruction.argval),))
            open_chain = True
        elif open_chain and instruction.opname in _ATTRIBUTES:
            found[-1] += (str(instruction.argval),)
        else:
            open_chain = False
    return found


def _stream_of(value: Any) -> str | None:
    """The stream that a function of one of the two modules belongs to; None for anything else."""
    owner = getattr(value, "__self__", None)
    if owner is not None and owner is getattr(random, "_inst", None):
        return RANDOM
    mtrand = getattr(sys.modules.get(NUMPY), "mtrand", None)
    plain = [getattr(mtrand, name, None) for name in ("seed", "ranf", "sample")]
    is_numpy = mtrand is not None and (owner is mtrand._rand or any(value is each for each in plain))
    return NUMPY if is_numpy else None


def _seeded(prefix: str) -> str | None:
    """The stream that is seeded where a text has this before `seed(`."""
    path = "".join(prefix.split()).rstrip(".")
    if path in (RANDOM, NUMPY, "np.random"):
        return NUMPY if path != RANDOM or _of_main("random") is sys.modules.get(NUMPY, ()) else RANDOM
    value = _of_main(f"{path}.seed".lstrip("."))
    return _stream_of(value)


def _of_main(path: str) -> Any:
    first, *rest = path.split(".")
    value = vars(sys.modules["__main__"]).get(first)
    for name in rest:
        value = getattr(value, name, None)
    return value
