"""The loops at the top level of a cell, and how long each of their items takes while the cell runs as it is."""

from __future__ import annotations

import ast
import builtins
import contextlib
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cellmill.magics.syntax import copied

TIMED = "__cellmill_timed__"
CHOSEN = "__cellmill_chosen__"
MOST_KEPT = 1 << 14  # durations; then neighbours are put together, so that memory stays bounded
CONSUMERS = frozenset(("sum", "list", "tuple", "set", "frozenset", "dict", "sorted", "min", "max"))
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


@dataclass(frozen=True, slots=True)
class Found:
    """A loop of the cell. ``node`` is a `for`, a `while`, a comprehension, a generator expression that a call
    consumes, or a call of `map` that another one consumes.
    """

    node: Any

    @property
    def line(self) -> int:
        """Where it begins."""
        return int(self.node.lineno)


def find_loops(statement: ast.stmt, namespace: Mapping[str, Any]) -> list[Found]:
    """The loops that a statement of the cell runs itself, in the order of their places."""
    if isinstance(statement, (ast.For, ast.While)):
        return [Found(statement)]
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return []
    found: list[Found] = []
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
            continue
        if isinstance(node, _COMPREHENSIONS):
            found.append(Found(node))
            continue
        inner = _consumed(node, namespace)
        if inner is not None:
            found.append(Found(inner))
            continue
        pending += ast.iter_child_nodes(node)
    return sorted(found, key=lambda each: (each.line, each.node.col_offset))


def _consumed(node: ast.AST, namespace: Mapping[str, Any]) -> ast.expr | None:
    """The generator expression or `map` whose items this call takes at once."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return None
    first = node.args[0]
    if node.func.id not in CONSUMERS or node.func.id in namespace:
        return None
    if isinstance(first, ast.GeneratorExp):
        return first
    plain = isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "map"
    if plain and "map" not in namespace and len(first.args) == 2 and not first.keywords:  # type: ignore[attr-defined]
        return None if isinstance(first.args[1], ast.Starred) else first  # type: ignore[attr-defined]
    return None


def iterable_of(node: Any) -> ast.expr:
    """The iterable of a loop that is no `while`."""
    found: ast.expr
    if isinstance(node, ast.For):
        found = node.iter
    elif isinstance(node, ast.Call):
        found = node.args[1]
    else:
        found = node.generators[0].iter
    return found


class Times:
    """How long the items of one loop took, in seconds; neighbours are put together when there are many."""

    def __init__(self) -> None:
        self.items = 0
        self.seconds = array("d")
        self.together = 1  # items in one of them
        self.waiting = 0.0  # for the iterable, and for the filter of a comprehension
        self.filtered = False
        self.began = 0.0  # when the iterable gave the present item; 0: there is none
        self._chosen = False  # it has passed the filter
        self.processor = 0.0  # processor time of the process from the first item to the end
        self._part = 0.0
        self._parts = 0

    def chosen(self) -> bool:
        """The present item passes the filter: its own time begins now."""
        now = time.perf_counter()
        self.waiting += now - self.began
        self.began, self._chosen = now, True
        return True

    def ended(self, now: float) -> None:
        """The present item is over: one that the filter has left out would be no task."""
        if self.filtered and not self._chosen:
            self.waiting += now - self.began
        else:
            self.add(now - self.began)
        self.began, self._chosen = 0.0, False

    def add(self, seconds: float) -> None:
        """One item more."""
        self.items += 1
        self._part += seconds
        self._parts += 1
        if self._parts < self.together:
            return
        self.seconds.append(self._part)
        self._part, self._parts = 0.0, 0
        if len(self.seconds) == MOST_KEPT:
            self.seconds = array("d", map(sum, zip(self.seconds[::2], self.seconds[1::2], strict=True)))
            self.together *= 2

    @property
    def durations(self) -> list[float]:
        """Of the items, in their order."""
        return [*self.seconds, *([self._part] if self._parts else [])]

    @property
    def total(self) -> float:
        """Seconds in the body, all items together."""
        return sum(self.durations)


class _Timed:
    """An iterator that notes when its items are asked for: between two of them the loop's body runs."""

    __slots__ = ("_items", "_processor", "_times")

    def __init__(self, items: Iterable[Any], times: Times) -> None:
        self._items: Iterator[Any] = iter(items)
        self._times = times
        self._processor = time.process_time()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        __tracebackhide__ = True
        now = time.perf_counter()
        if self._times.began:
            self._times.ended(now)
        try:
            item = next(self._items)
        except StopIteration:
            self._times.processor += time.process_time() - self._processor
            self._processor = time.process_time()
            raise
        self._times.began = time.perf_counter()
        self._times.waiting += self._times.began - now
        return item

    def __del__(self) -> None:
        if self._times.began:  # the loop has ended by `break` or by an error
            self._times.ended(time.perf_counter())
            self._times.processor += time.process_time() - self._processor


def with_clocks(statement: ast.stmt, loops: list[Found]) -> tuple[ast.stmt, list[Times]]:
    """The statement with its iterables timed, and what they will have noted; to be run within `clocks`."""
    made = copied(statement)
    placed = (each for each in ast.walk(made) if isinstance(each, (ast.stmt, ast.expr)))
    places = {(type(each), each.lineno, each.col_offset): each for each in placed}
    times = []
    for number, found in enumerate(loops):
        times.append(Times())
        if isinstance(found.node, ast.While):
            continue
        node: Any = places[type(found.node), found.node.lineno, found.node.col_offset]
        plain = iterable_of(node)
        timed = ast.Call(ast.Name(TIMED, ast.Load()), [plain, ast.Constant(number)], [])
        timed = ast.copy_location(timed, plain)
        ast.fix_missing_locations(timed)
        if isinstance(node, ast.For):
            node.iter = timed
        elif isinstance(node, ast.Call):
            node.args[1] = timed
        else:
            node.generators[0].iter = timed
            _time_filter(node.generators[0], number, times[number])
    return made, times


def _time_filter(generator: ast.comprehension, number: int, times: Times) -> None:
    """The conditions of a comprehension stay in the notebook: the item's own time begins behind them."""
    if generator.ifs:
        times.filtered = True
        chosen = ast.Call(ast.Name(CHOSEN, ast.Load()), [ast.Constant(number)], [])
        generator.ifs.append(ast.fix_missing_locations(ast.copy_location(chosen, generator.ifs[-1])))


@contextlib.contextmanager
def clocks(times: list[Times]) -> Iterator[None]:
    """While this is open, a statement of `with_clocks` finds its clocks.

    They are among the built-in names, as the cell may look at its own.
    """
    vars(builtins)[TIMED] = lambda items, number: _Timed(items, times[number])
    vars(builtins)[CHOSEN] = lambda number: times[number].chosen()
    try:
        yield
    finally:
        vars(builtins).pop(TIMED, None)
        vars(builtins).pop(CHOSEN, None)
