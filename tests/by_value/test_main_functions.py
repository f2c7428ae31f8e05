"""Functions and classes of `__main__`, always in their newest version: only programs of their own have such."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.helpers import run_script
from tests.support.programs import WITH_EXECUTOR, in_parts, of_parts

PARTS = {
    "recursion and helpers": """
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(ex.submit(fib, 15).result(), ex.submit(even, 10).result(), list(ex.map(odd, range(4))))
""",
    "redefined helpers": """
LIMIT = 1
def deep(x): return x + LIMIT
def helper(x): return deep(x)
def task(x): return helper(x)
seen = [ex.submit(task, 0).result()]
def helper(x): return deep(x) * 100
seen.append(ex.submit(task, 0).result())
LIMIT = 2
seen.append(ex.submit(task, 0).result())
def deep(x): return x + 7 * LIMIT
seen.append(list(ex.map(task, [0]))[0])
def task(x): return -1
seen.append(ex.submit(task, 0).result())
helper = len
def task(x): return helper(x)
seen.append(ex.submit(task, "four").result())
print(seen)
""",
    "a helper defined later": """
def task(x): return later(x)
print(type(ex.submit(task, 1).exception()).__name__)
def later(x): return x + 1
print(ex.submit(task, 1).result())
del later
print(type(ex.submit(task, 1).exception()).__name__)
""",
    "classes and instances": """
import dataclasses, enum
class Base:
    def scale(self): return self.factor
class Point(Base):
    factor = 2
    def __init__(self, x): self.x = x
    def doubled(self): return Point(self.x * self.scale())
    @classmethod
    def origin(cls): return cls(0)
    @staticmethod
    def count(points): return len(points)
@dataclasses.dataclass
class Row:
    name: str
    points: list
class Colour(enum.Enum):
    RED = 1
class Lost(Exception):
    def __init__(self, where): super().__init__(where); self.where = where
def move(p, by): assert isinstance(p, Point); return Point(p.x + by)
def lose(): raise Lost("woods")
p = ex.submit(move, Point(1), 2).result()
assert isinstance(p, Point) and type(p) is Point, type(p)
print(p.x, p.doubled().x)
q = ex.submit(Point, 9).result()
assert type(q) is Point and q.x == 9
assert type(ex.submit(q.doubled).result()) is Point
assert type(ex.submit(Point.origin).result()) is Point
print(ex.submit(Point.count, [p, q]).result())
row = ex.submit(lambda r: dataclasses.replace(r, name="b"), Row("a", [p])).result()
assert type(row) is Row and type(row.points[0]) is Point
assert ex.submit(lambda: Colour.RED).result() is Colour.RED
assert all(type(r) is Point for r in ex.map(Point, range(100)))
e = ex.submit(lose).exception()
assert type(e) is Lost and e.where == "woods", repr(e)
nested = ex.submit(lambda: {"k": [Point(1)]}).result()
assert type(nested["k"][0]) is Point
""",
    "redefined classes": """
class Thing:
    def size(self): return 1
def make(): return Thing()
def measure(t): return t.size()
print(ex.submit(make).result().size(), ex.submit(measure, Thing()).result())
class Thing:
    def size(self): return 2
got = ex.submit(make).result()
print(got.size(), type(got) is Thing, ex.submit(measure, Thing()).result())
Thing.size = lambda self: 3
print(ex.submit(measure, Thing()).result(), ex.submit(lambda: Thing().size()).result())
""",
    "parallel functions in each other": """
@parallel
def inner(x): return x + 1
@parallel
def outer(x): return [inner(x), *inner.map([x, x + 1])]
@parallel(batch=True)
def many(xs): return [x * 2 for x in xs]
@parallel
def uses_batch(x): return many(x), list(many.map([x, x]))
@parallel
def fact(n): return 1 if n < 2 else n * fact(n - 1)
print(outer(1).result(), uses_batch(4).result(), fact(5).result(), inner.__wrapped__(1))
def inner_plain(x): return 0
@parallel
def inner(x): return x * 1000
print(outer(1).result())
""",
    "executors inside tasks": """
import os
def nested():
    import cellmill, warnings
    warnings.simplefilter("ignore")
    with cellmill.Executor(4) as inner:
        here = list(inner.map(lambda _: os.getpid(), range(3)))
        return inner.backend, cellmill.default_executor().backend, set(here) == {os.getpid()}, cellmill.in_worker()
import cellmill
print(ex.submit(nested).result(), cellmill.in_worker())
""",
    "globals are copies": """
counter = 0
def bump():
    global counter
    counter += 1
    return counter
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert ex.submit(bump).result() == 1
assert "tasks of bump change counter" in str(said[0].message), said
print(counter)
""",
    "modules as globals": """
import math, os.path as osp, json
def task(x): return math.sqrt(x), osp.join("a", "b"), json.dumps([x])
print(ex.submit(task, 4).result())
""",
    "a function that cannot travel": """
import threading, cellmill
lock = threading.Lock()
def task(x):
    with lock: return x
try:
    ex.submit(task, 1)
except cellmill.PayloadError as e:
    print(e)
try:
    list(ex.map(task, [1]))
except cellmill.PayloadError as e:
    print("map:", "lock" in str(e))
print(ex.submit(abs, -1).result(), ex.stats().submitted, ex.stats().done)
""",
    "exceptions": """
import threading
class Bad(Exception):
    def __init__(self, a, b): super().__init__(f"{a}{b}"); self.pair = a, b
class Worse(Bad):
    def __init__(self): super().__init__(1, 2); self.lock = threading.Lock()
def fail(x):
    if x: raise Bad(x, x)
    raise Worse
for x in (3, 0):
    try:
        ex.submit(fail, x).result()
    except Bad as error:
        print(type(error) in (Bad, Worse), error, error.pair, len(error.__notes__), error.__notes__[-1])
print([type(e) is Bad for e in ex.map(fail, [1, 2], return_exceptions=True)])
class Bad(Exception): pass
print(type(ex.submit(fail, 4).exception()) is Bad)
""",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each part prints of one program."""
    out, err = run_script(tmp_path_factory.mktemp("main"), WITH_EXECUTOR + in_parts(PARTS))
    assert not err, err
    return of_parts(out)


def test_recursion_and_helpers(said: dict[str, str]) -> None:
    assert said["recursion and helpers"] == "610 True [False, True, False, True]\n"


def test_redefined_helpers(said: dict[str, str]) -> None:
    assert said["redefined helpers"] == "[1, 100, 200, 1400, -1, 4]\n"


def test_a_helper_defined_later(said: dict[str, str]) -> None:
    assert said["a helper defined later"] == "NameError\n2\nNameError\n"


def test_classes_and_instances(said: dict[str, str]) -> None:
    assert said["classes and instances"] == "3 6\n2\n"


def test_redefined_classes(said: dict[str, str]) -> None:
    assert said["redefined classes"] == "1 1\n2 True 2\n3 3\n"


def test_parallel_functions_in_each_other(said: dict[str, str]) -> None:
    assert said["parallel functions in each other"] == "[2, 2, 3] (8, [8, 8]) 120 2\n[1000, 1000, 2000]\n"


def test_executors_inside_tasks_run_inline(said: dict[str, str]) -> None:
    assert said["executors inside tasks"] == "('inline', 'inline', True, True) False\n"


def test_globals_are_copies(said: dict[str, str]) -> None:
    assert said["globals are copies"] == "0\n"


def test_modules_as_globals(said: dict[str, str]) -> None:
    assert said["modules as globals"] == "(2.0, 'a/b', '[4]')\n"


def test_a_function_that_cannot_travel(said: dict[str, str]) -> None:
    out = said["a function that cannot travel"]
    first, second, third = out.splitlines()
    assert "task" in first
    assert "'lock'" in first
    assert "manager.Lock()" in first
    assert second == "map: True"
    assert third.startswith("1 ")
    assert len(set(third.split()[1:])) == 1


def test_exceptions_are_caught_by_their_own_classes(said: dict[str, str]) -> None:
    assert (
        said["exceptions"] == "True 33 (3, 3) 1 in fail(3)\nTrue 12 (1, 2) 2 in fail(0)\n[True, True]\nTrue\n"
    )


def test_the_module_of_the_program_is_the_workers_own(tmp_path: Path) -> None:
    _, errors = run_script(
        tmp_path,
        """
import __main__
import cellmill

total = 0

def add(x):
    __main__.total = x

def add_imported(x):
    import __main__ as here
    here.total = x

if __name__ == "__main__":
    with cellmill.Executor(1) as ex:
        ex.submit(add, 1).result()
        ex.submit(add_imported, 1).result()
""",
    )
    assert errors.count("a function uses the module __main__") == 1
