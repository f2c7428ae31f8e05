"""Functions that draw from `random` and `numpy.random` themselves, while the user's code seeds these.

Each worker has streams of its own there, which a seed in the kernel does not reach: a loop would draw the same
numbers in every run, and tasks do not. That is said before such a task begins, once per function; of draws in the code
of packages when a worker has seen one. Nothing is said where the user seeds nothing, where the function seeds its
streams itself, or after `cellmill.seed`.
"""

from __future__ import annotations

import dis
import functools
import inspect
import linecache
import random
import re
import sys
import types
import weakref
from collections import ChainMap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ..by_value.module_reads import is_own, of_users
from ..by_value.parts import taken_apart
from ..by_value.references import body_of, cell_value, helpers_of, named_references, names_used
from ..by_value.stream_looks import NUMPY, RANDOM
from ..diagnostics import notices
from . import streams

_SEED = re.compile(r"((?:\b\w+\s*\.\s*)*)\bseed\s*\(")
_OF_STATE = frozenset(("getstate", "setstate", "get_state", "set_state", "_bit_generator"))
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
_IMPORT = "import"  # no name: it is a keyword
MOST_KNOWN = 1000
_HEAP = 1 << 9  # the flag of classes that a class statement made
_Code = tuple[types.CodeType, Callable[[str], Any]]
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
        self._known: dict[Any, Any] = {}  # callables and arguments that were looked at

    def met(self, function: Any, name: str) -> None:
        """A function is sent to workers, for the first time or changed."""
        self._note(name, drawn_by(function), function)

    def _note(self, name: str, drawn: set[str], function: Any) -> None:
        if drawn:
            plain = type(function) is types.FunctionType
            self._drawing[name] = _Drawing(weakref.ref(function) if plain else lambda: None, drawn)
            self._read_all()
            self._tell(name)

    def drew(self, name: str, streams: set[str], function: Any) -> None:
        """A task has drawn from these: what its code does not show, packages have."""
        shown, seeded = _used(_codes(function)) if function is not None else (set[str](), set[str]())
        new = streams - shown - seeded
        if new:
            before = self._drawing.get(name)
            self._note(name, new if before is None else new | before.streams, function)

    def came_along(self, function: Any, name: str, key: Any) -> None:
        """A method, or another callable that is sent with each of its calls, is called."""
        self._met_once(key, partial(self.met, function, name))

    def given(self, values: tuple[Any, ...], name: str, function: Any) -> None:
        """The function of this name is given functions, or objects of a class with methods of Python's."""
        for value in values:
            kind = type(value)
            if kind is types.FunctionType or kind.__flags__ & _HEAP:
                what = value.__code__ if kind is types.FunctionType else kind
                self._met_once((name, id(what)), partial(self._met_given, kind, value, name, function), what)

    def _met_once(self, key: Any, meet: Callable[[], None], kept: Any = None) -> None:
        """``kept``: what the key has the address of."""
        if key in self._known:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[key] = kept
        meet()

    def _met_given(self, kind: type, value: Any, name: str, function: Any) -> None:
        if kind is types.FunctionType:
            self._note(name, drawn_by(value), function)
        elif of_users(kind):
            names = {each for code, _ in _codes(function) for each in code.co_names}
            methods = _methods_of(kind, names)
            self._note(name, _drawn(_codes_of(methods)), function)

    def before_cell(self, text: str) -> None:
        """A cell begins: what it seeds is told of the functions that it names."""
        if not self._drawing:
            return
        self._read(text)
        words = set(re.findall(r"\w+", text))
        for name in self._drawing:
            if name.rpartition(".")[2] in words:
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
came_along = _seeds.came_along
given = _seeds.given
drew = _seeds.drew
before_cell = _seeds.before_cell


def drawn_by(function: Any) -> set[str]:
    """Return which of the two streams a function and its helpers draw from and do not seed, by their code."""
    while type(function) is partial:
        function = function.func
    drawn = set(filter(None, [_stream_of(function)]))
    return drawn | _drawn(_codes(function))


def _drawn(codes: Iterator[_Code]) -> set[str]:
    drawn, seeded = _used(codes)
    return drawn - seeded


def _used(codes: Iterator[_Code]) -> tuple[set[str], set[str]]:
    """Return which streams code draws from, and which it seeds."""
    drawn, seeded = set[str](), set[str]()
    for code, value_of in codes:
        for stream, name in _uses(code, value_of):
            (seeded if name == "seed" else drawn).add(stream)
    return drawn, seeded


def _codes(function: Any) -> Iterator[_Code]:
    """Yield the code of functions by value, nested code too, with what tells the value of a name in it."""
    parts = taken_apart(function)
    roots = [parts.function if type(parts.function) is types.FunctionType else function]
    if (
        type(parts.function) is types.FunctionType and parts.args
    ):  # of a method: what else it calls of its object
        owner = parts.args[0] if issubclass(type(parts.args[0]), type) else type(parts.args[0])
        if of_users(owner):
            roots += _methods_of(owner, set(parts.function.__code__.co_names))
    yield from _codes_of(roots)
    body, variables = body_of(function)
    if body is not None:
        yield from ((code, variables.get) for code in _nested(body))


def _codes_of(roots: list[Any]) -> Iterator[_Code]:
    for root in roots:
        for helper in _helpers(root):
            closure = zip(helper.__code__.co_freevars, helper.__closure__ or (), strict=False)
            names = ChainMap({name: cell_value(cell) for name, cell in closure}, helper.__globals__)
            yield from ((code, names.get) for code in _nested(helper.__code__))


def _helpers(function: Any) -> Iterator[types.FunctionType]:
    """The functions by value that it reaches, and those of the user's modules."""
    todo, seen = [function], set[int]()
    while todo:
        for helper in helpers_of(todo.pop()):
            if type(helper) is not types.FunctionType or id(helper) in seen:
                continue
            seen.add(id(helper))
            yield helper
            for _, value in named_references(helper):
                if type(value) is types.ModuleType and is_own(value):
                    named = [vars(value).get(name) for name in names_used(helper.__code__)]
                else:
                    named = [value]
                todo += [
                    each
                    for each in named
                    if type(each) is types.FunctionType and is_own(sys.modules.get(each.__module__))
                ]


def _methods_of(kind: type, names: set[str]) -> list[types.FunctionType]:
    """The functions of a class with these names, and with those that they name themselves."""
    found: dict[str, types.FunctionType] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        value = inspect.getattr_static(kind, name, None)
        if type(value) in (staticmethod, classmethod):
            value = value.__func__
        elif type(value) is property:
            value = value.fget
        if type(value) is types.FunctionType and name not in found:
            found[name] = value
            todo += names_used(value.__code__)
    return list(found.values())


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _uses(code: types.CodeType, value_of: Callable[[str], Any]) -> Iterator[tuple[str, str]]:
    """Yield (stream, name of its method) for what code names: `random.choice`, `np.random.rand`, `shuffle`."""
    for chain in _chains(code):
        imported = chain[0] == _IMPORT
        value, rest = (
            (sys.modules.get(chain[1]), list(chain[2:]))
            if imported
            else (value_of(chain[0]), list(chain[1:]))
        )
        while rest and isinstance(value, types.ModuleType):
            value = getattr(value, rest.pop(0), None)
        stream = _stream_of(value)
        if stream is not None and (name := str(getattr(value, "__name__", ""))) not in _OF_STATE:
            yield stream, name


@functools.lru_cache(maxsize=1024)
def _chains(code: types.CodeType) -> list[tuple[str, ...]]:
    """The names that code loads, with the attributes that it reads of each; where it imports what it loads, `_IMPORT`
    and the module come first.
    """
    found: list[tuple[str, ...]] = []
    open_chain = False
    bound: dict[str, tuple[str, ...]] = {}  # names that the code imports
    module, constant, path = "", None, tuple[str, ...]()
    for instruction in dis.get_instructions(code):
        operation, value = instruction.opname, instruction.argval
        if operation == "LOAD_CONST":
            constant = value
        elif operation == "IMPORT_NAME":
            # `import a.b` gives a, `from a.b import c` gives a.b
            module = str(value) if constant else str(value).partition(".")[0]
            path = (_IMPORT, module)
        elif operation == "IMPORT_FROM":
            path = (_IMPORT, module, str(value))
        elif operation in _STORES and path:
            bound[str(value)], path = path, ()
        if operation in _LOADS or (operation.startswith("LOAD_FAST") and value in bound):
            found.append(bound.get(str(value), (str(value),)))
            open_chain = True
        elif open_chain and operation in _ATTRIBUTES:
            found[-1] += (str(value),)
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
