"""Functions in wrappers of the standard library, methods, and the module of this package, wherever tasks run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import cellmill
from cellmill import Executor, parallel
from tests.contract.abilities import elsewhere, few_on_clusters
from tests.support.helpers import SECONDS

CELL = """
import functools
import cellmill

factor = 10

@functools.cache
def scaled(x): return x * factor

@functools.lru_cache(maxsize=3)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)

@functools.singledispatch
def kind(x): return "object"

@kind.register
def _(x: int): return "int"

def plus_one(function):
    @functools.wraps(function)
    def inner(*args): return function(*args) + 1
    return inner

@plus_one
def doubled(x): return 2 * x

@cellmill.parallel
def annotated(x: int, deep: "bool" = True) -> float:
    return annotated(x, False) if deep else (annotated.__annotations__, annotated.__doc__)

power = functools.partial(pow, 2)
ten_more = functools.partial(doubled, 5)

class Line:
    def __init__(self, n): self.n = n
    def at(self, x): return self.n * x
    @functools.cached_property
    def hundred(self): return self.n * 100
    @functools.lru_cache
    def less(self, x): return self.n - x
    @functools.singledispatchmethod
    def of(self, x): return "object"
    @of.register
    def _(self, x: int): return "int"
    three = functools.partialmethod(at, 3)
    @cellmill.parallel
    def plus(self, x): return self.n + x
    @classmethod
    @cellmill.parallel
    def named(cls, x): return cls.__name__, x
    @staticmethod
    @cellmill.parallel
    def same(x): return x
    @cellmill.parallel(batch=True)
    def many(self, xs): return [self.n + x for x in xs]
"""


@pytest.fixture
def cell() -> dict[str, Any]:
    """What a cell has defined, which cannot be imported."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), namespace)
    return namespace


@pytest.fixture
def use(cell: dict[str, Any]) -> Callable[[str], Any]:
    """A function of the same cell, of x."""

    def make(expression: str) -> Any:
        exec(f"def used(x): return {expression}", cell)
        return cell["used"]

    return make


@pytest.mark.parametrize(
    ("expression", "value"),
    few_on_clusters(
        [
            ("scaled(x)", 30),
            ("fib(x + 10)", 233),
            ("kind(x), kind(str(x))", ("int", "object")),
            ("doubled(x)", 7),
            ("power(x), ten_more()", (8, 11)),
            ("annotated(x)", ({"x": "int", "deep": "'bool'", "return": "float"}, None)),
            ("Line(x).hundred, Line(x).less(1), Line(x).three()", (300, 2, 9)),
            ("Line(x).of(x), Line(x).of('x')", ("int", "object")),
            ("Line(x).plus(1), list(Line(x).plus.map([1, 2])), Line(x).named(1)", (4, [4, 5], ("Line", 1))),
            ("cellmill.__name__, cellmill.in_worker()", ("cellmill", True)),
        ],
        2,
    ),
)
def test_a_task_refers_to_it(ex: Executor, use: Callable[[str], Any], expression: str, value: Any) -> None:
    task = use(expression)
    assert ex.submit(task, 3).result(SECONDS) == value
    assert list(ex.map(task, [3, 3])) == [value, value]


@pytest.mark.parametrize(
    ("name", "item", "value"),
    few_on_clusters(
        [
            ("scaled", 3, 30),
            ("fib", 9, 34),
            ("kind", 3, "int"),
            ("doubled", 3, 7),
            ("power", 3, 8),
        ],
        1,
    ),
)
def test_it_is_the_task(ex: Executor, cell: dict[str, Any], name: str, item: int, value: Any) -> None:
    function = cell[name]
    assert ex.submit(function, item).result(SECONDS) == value
    assert list(ex.map(function, [item] * 3)) == [value] * 3
    made = parallel(executor=ex)(function)
    assert made(item).result(SECONDS) == value
    assert list(made.map([item] * 3)) == [value] * 3
    assert made.name == {"power": "pow"}.get(name, name)


def test_what_a_cached_function_and_a_dispatcher_refer_to_is_as_it_is_now(
    ex: Executor, cell: dict[str, Any], use: Callable[[str], Any]
) -> None:
    task = use("scaled(x), kind(1.5)")
    assert ex.submit(task, 3).result(SECONDS) == (30, "object")
    cell["factor"] = 20
    cell["scaled"].cache_clear()
    cell["kind"].register(float, lambda x: "float")
    assert ex.submit(task, 3).result(SECONDS) == (60, "float")
    assert ex.submit(cell["scaled"], 3).result(SECONDS) == 60


@elsewhere
def test_each_worker_has_a_cache_of_its_own(ex: Executor, use: Callable[[str], Any]) -> None:
    task = use("(scaled(x), scaled(x), fib.cache_parameters()['maxsize'], scaled.cache_info())[1:]")
    use("0").__globals__["scaled"](7)  # the kernel's does not travel
    value, maxsize, info = ex.submit(task, 3).result(SECONDS)
    assert (value, maxsize) == (30, 3)
    assert (info.hits, info.misses, info.currsize) == (1, 1, 1)


def test_parallel_methods(ex: Executor, cell: dict[str, Any]) -> None:
    line = cell["Line"](5)
    plus = line.plus.options(executor=ex)
    assert plus(1).result(SECONDS) == 6
    assert list(plus.map(range(3))) == [5, 6, 7]
    assert plus.options(retries=1)(2).result(SECONDS) == 7
    named = cell["Line"].named.options(executor=ex)
    assert named(1).result(SECONDS) == ("Line", 1)
    assert list(named.map([2])) == [("Line", 2)]
    assert list(line.same.options(executor=ex).map([3])) == [3]
    many = line.many.options(executor=ex)
    assert list(many.map(range(4))) == [5, 6, 7, 8]
    assert many(1).result(SECONDS) == 6
    assert line.plus == line.plus
    assert line.plus != cell["Line"](5).plus
    assert line.plus.__self__ is line
    assert line.plus.__name__ == "plus"
    assert repr(line.plus) == "<parallel Line.plus(x)>"


def test_plain_methods_and_partial_objects_of_them(ex: Executor, cell: dict[str, Any]) -> None:
    line = cell["Line"](5)
    for method, value in ((line.at, 10), (line.less, 3), (line.of, "int"), (functools.partial(line.at), 10)):
        assert ex.submit(method, 2).result(SECONDS) == value
        assert list(ex.map(method, [2, 2])) == [value, value]
        assert list(parallel(executor=ex)(method).map([2])) == [value]


def test_the_module_travels_by_name(ex: Executor) -> None:
    assert ex.submit(lambda module: module.__version__, cellmill).result(SECONDS) == cellmill.__version__
    assert ex.submit(lambda: cellmill).result(SECONDS) is cellmill
