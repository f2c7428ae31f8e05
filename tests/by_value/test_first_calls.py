"""Arguments that tasks change through methods, helpers and other names are told; those that they do not are not."""

from __future__ import annotations

import heapq
import importlib
import io
import os
import sys
import types
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from cellmill.by_value.first_calls import CALLS
from cellmill.diagnostics import notices
from tests.support.helpers import SECONDS, prepend_to_path
from tests.support.told import told


class Account:
    """Of the user's: an object that methods change."""

    def __init__(self) -> None:
        self.total = 0
        self.seen: list[int] = []

    def add(self, value: int) -> int:
        self.total += value
        return self.total

    def read(self) -> int:
        return self.total


pytestmark = pytest.mark.usefixtures("notices_anew")


def changed(call: Callable[[], Any]) -> list[str]:
    """What is said of arguments meanwhile."""
    return told(call, "argument")


def put(rows: list[int], value: int) -> None:
    rows.append(value)


def test_through_a_method(pool: Executor) -> None:
    def book(account: Any, value: int) -> int:
        return int(account.add(value))

    assert changed(lambda: pool.submit(book, Account(), 1).result(SECONDS)) == [
        (
            "test_through_a_method.<locals>.book changes its argument account in place. A task has a copy of it: the "
            "caller's object does not change. Return what is changed and take it from the result, or begin with "
            "account = copy.copy(account) if only the task needs the change."
        )
    ]


def test_through_a_helper_in_a_map(pool: Executor) -> None:
    def count(rows: list[int]) -> int:
        put(rows, 1)
        return len(rows)

    assert len(changed(lambda: list(pool.map(count, [[], [], []])))) == 1


def test_through_another_name_and_by_keyword(pool: Executor) -> None:
    def count(rows: list[int], *, table: dict[str, int]) -> int:
        other = table
        other["n"] = len(rows)
        return 0

    assert "its argument table" in changed(lambda: pool.submit(count, [1], table={}).result(SECONDS))[0]


def test_modules_that_are_made_here(pool: Executor) -> None:
    settings = types.ModuleType("settings_made_here")
    settings.limit = 1  # type: ignore[attr-defined]

    def raised(module: Any) -> int:
        setattr(module, "lim" + "it", module.limit + 1)
        return int(module.limit)

    def read(module: Any) -> int:
        return int(module.limit)

    assert "its argument module" in changed(lambda: pool.submit(raised, settings).result(SECONDS))[0]
    assert changed(lambda: pool.submit(read, settings).result(SECONDS)) == []


def test_arrays(pool: Executor) -> None:
    numpy = pytest.importorskip("numpy")

    def fill(array: Any) -> float:
        view = array[1:]
        view[:] = 3
        return float(array.sum())

    assert "its argument array" in changed(lambda: pool.submit(fill, numpy.zeros(4)).result(SECONDS))[0]
    big = numpy.zeros(1 << 20)  # not copied to be compared
    assert changed(lambda: pool.submit(lambda array: fill(array), big).result(SECONDS)) == []


def test_arrays_in_files(pool: Executor, tmp_path: Any) -> None:
    numpy = pytest.importorskip("numpy")
    values = numpy.memmap(tmp_path / "values", float, "w+", shape=4)

    def fill(array: Any) -> float:
        put(array, 3)
        return float(array.sum())

    def put(array: Any, value: float) -> None:
        array[:] = value

    def filled(array: Any) -> Any:
        put(array, 3)
        return array

    assert "its argument array" in changed(lambda: pool.submit(fill, values).result(SECONDS))[0]
    assert changed(lambda: pool.submit(filled, values).result(SECONDS)) == []
    assert values.sum() == 0


@pytest.mark.parametrize("size", [10_000, 20_000, 30_000, 40_000])
def test_arrays_near_the_limit_of_a_look(pool: Executor, size: int) -> None:
    """The comparison after a call copies again what has changed, past the limit of the first copy."""
    numpy = pytest.importorskip("numpy")

    def grow(arrays: list[Any], array: Any) -> float:
        put(arrays, numpy.ones(size))
        array[1:][:] = 3
        return float(array[-1])

    calls = [([], numpy.zeros(size)) for _ in range(8)]
    assert changed(lambda: list(pool.starmap(grow, calls)))
    assert [pool.submit(grow, [], numpy.zeros(size)).result(SECONDS) for _ in range(8)] == [3.0] * 8


def test_objects_that_cannot_be_compared(pool: Executor) -> None:
    here = os.getpid()

    class Odd:
        def __getstate__(self) -> dict[str, int]:
            if os.getpid() != here:
                raise ValueError("not here")
            return {"value": 1}

    def use(odd: Any, rows: list[Any]) -> int:
        put(rows, odd)
        return int(odd.value) + len(rows)

    assert [pool.submit(use, Odd(), []).result(SECONDS) for _ in range(8)] == [2] * 8


class Shy:
    """Tells its class at home only."""

    def __init__(self) -> None:
        self.home = os.getpid()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if os.getpid() != self.home:
            raise ValueError("not here")
        return Shy

    def read(self) -> int:
        return self.home


def test_what_is_looked_at_is_asked_for_no_more_than_its_type(pool: Executor) -> None:
    def use(shy: Any) -> int:
        return int(shy.home)

    for function, given in ((use, (Shy(),)), (Shy().read, ())):
        assert pool.submit(function, *given).result(SECONDS) == os.getpid()


def test_what_is_handed_back_or_not_changed_is_not_told(pool: Executor) -> None:
    def give_back(rows: list[int]) -> list[int]:
        put(rows, 1)
        return rows

    def give_in_a_dict(rows: list[int]) -> dict[str, Any]:
        put(rows, 1)
        return {"rows": rows}

    def copy(rows: list[int]) -> int:
        rows = list(rows)
        put(rows, 1)
        return len(rows)

    def read(account: Any, rows: list[int], table: dict[str, list[int]]) -> int:
        return int(account.read()) + len(rows) + len(table)

    assert changed(lambda: pool.submit(give_back, [1]).result(SECONDS)) == []
    assert changed(lambda: pool.submit(give_in_a_dict, [1]).result(SECONDS)) == []
    assert changed(lambda: pool.submit(copy, [1]).result(SECONDS)) == []
    assert changed(lambda: pool.submit(read, Account(), [1], {"a": [1]}).result(SECONDS)) == []


def test_lists_of_batch_functions_are_no_callers(pool: Executor) -> None:
    def batch(items: list[int]) -> list[int]:
        put(items, 0)
        return [2 * item for item in items[:-1]]

    assert changed(lambda: list(pool.options(batch=True).map(batch, range(10)))) == []


def test_a_function_is_soon_called_bare(pool: Executor) -> None:
    def called_by(_: int) -> str:
        import sys

        return sys._getframe(1).f_code.co_filename

    found = [pool.submit(called_by, i).result(SECONDS) for i in range(2 * CALLS + 10)]
    assert found[0].endswith("first_calls.py")
    assert not found[-1].endswith("first_calls.py")


def test_functions_that_remember(pool: Executor) -> None:
    """Closures as arguments, and methods of objects."""

    def counter() -> Callable[[int], int]:
        total = 0

        def add(value: int) -> int:
            nonlocal total
            total += value
            return total

        return add

    def call(count: Callable[[int], int], value: int) -> int:
        return count(value)

    def call_method(method: Callable[[int], int], value: int) -> int:
        return method(value)

    def only_calls(read: Callable[[], int]) -> int:
        return read()

    assert len(changed(lambda: pool.submit(call, counter(), 1).result(SECONDS))) == 1
    assert len(changed(lambda: pool.submit(call_method, Account().add, 1).result(SECONDS))) == 1
    assert changed(lambda: pool.submit(only_calls, Account().read).result(SECONDS)) == []


class Counted(Account):
    """Counts calls for the whole class, and notes them outside."""

    calls = 0

    def add(self, value: int) -> int:
        Counted.calls += 1
        noted.append(value)
        return super().add(value)


noted: list[int] = []


def write() -> int:
    noted.append(1)
    return len(noted)


def test_parts_of_arguments(pool: Executor) -> None:
    """Members of tuples, further arguments by place and by name, what a partial call has, arguments called self, and
    those whose names are bound anew.
    """

    def of_pair(pair: tuple[Any, Any]) -> int:
        one, other = pair
        return int(one.add(1)) + int(other.read())

    def of_all(*accounts: Any) -> int:
        return sum(account.add(1) for account in accounts)

    def of_named(**accounts: Any) -> int:
        return sum(account.add(1) for account in accounts.values())

    def of_one(call: Callable[[int], int]) -> int:
        return call(1)

    def step(self: Any) -> int:
        return int(self.add(1))

    def chain(node: Any) -> int:
        while node is not None:
            node.add(1)
            node = getattr(node, "following", None)
        return 0

    def remember(key: int, memo: dict[int, int] = {}) -> int:  # noqa: B006
        put(memo, key) if isinstance(memo, list) else memo.update({key: 1})
        return len(memo)

    for function, given, named, argument in (
        (of_pair, ((Account(), Account()),), {}, "argument pair[0]"),
        (of_all, (Account(), Account()), {}, "arguments accounts[0] and accounts[1]"),
        (of_named, (), {"one": Account()}, "argument one"),
        (of_one, (partial(Account().add),), {}, "argument call.func"),
        (of_one, ([].append,), {}, "argument call.__self__"),
        (step, (Account(),), {}, "argument self"),
        (chain, (Account(),), {}, "argument node"),
        (remember, (1, {}), {}, "argument memo"),
    ):
        (text,) = changed(lambda f=function, g=given, n=named: pool.submit(f, *g, **n).result(SECONDS))
        assert f"{function.__qualname__} changes its {argument} in place." in text


IN_A_SCRIPT = """
import os
kept = []

class Caller:
    of_all = []
    def __init__(self, rows=None):
        self.calls = 0
        self.go_on(rows if rows is not None else [])
    def __call__(self, rows):
        self.go_on(rows)
    def go_on(self, them):
        other = them
        other.append(1)
    def count(self):
        self.calls += 1
    def counted(self):
        self.calls += 1
        return self
    @classmethod
    def note(cls):
        cls.of_all.append(1)
    def go(self):
        os.environ["CELLMILL_TEST_GO"] = "1"

def add(value, them):
    other = them
    other.append(value)

def add_too(value, them):
    other = them
    other.append(value)

def write(value):
    other = kept
    other.append(value)
"""
"""Not of a module: a module's have a number, with what they read of it."""


def test_callables_that_come_with_their_calls(pool: Executor) -> None:
    """Methods, partial calls, callable objects and functions of C: what they have with them is their caller's, too."""
    script: dict[str, Any] = {"__name__": "__main__"}
    exec(IN_A_SCRIPT, script)
    caller, add, write = script["Caller"], script["add"], script["write"]
    rows = [2, 1]
    for function, given, words in (
        (caller().count, (), "its argument self "),
        (caller.note, (), "its argument cls "),
        (caller(), (rows,), "its argument rows "),
        (caller(), [rows], "its argument rows "),
        (caller, [rows], "its argument rows "),
        (partial(add, them=rows), (1,), "its argument them "),
        (partial(script["add_too"], 1), (rows,), "its argument them "),
        (partial(write), (1,), "change kept."),
        (caller().go, (), "os.environ['CELLMILL_TEST_GO']"),
        (rows.append, (1,), "its argument self "),
        (rows.sort, (), "its argument self "),
        (list.sort, (rows,), "its argument self "),
        (heapq.heapify, (rows,), "its argument heap "),
        (rows.append, [1], "change self."),
    ):
        notices.forget()
        said = " ".join(told(lambda f=function, g=given: sent(pool, f, g), "change"))
        assert words in said, words
        assert "copy.copy(" not in said  # there is no line to add that to
    for function, given in ((caller, ()), (caller().counted, ()), (sorted, (rows,)), (rows.index, (1,))):
        assert told(lambda f=function, g=given: sent(pool, f, g), "change") == []


def sent(pool: Executor, function: Any, given: Any) -> None:
    """A call with a tuple of arguments, or a map over a list."""
    if type(given) is list:
        list(pool.map(function, given))
    else:
        pool.submit(function, *given).result(SECONDS)


def test_what_functions_and_classes_among_arguments_change(pool: Executor) -> None:
    """The notebook's globals and classes, also where the argument itself is handed back."""

    class Tagged:
        made = 0

        def __init__(self) -> None:
            type(self).made += 1

    def call(function: Callable[[], Any]) -> int:
        function()
        return 0

    def hand_back(account: Any) -> Any:
        account.add(1)
        return account

    for function, given, variables in (
        (call, write, ["noted"]),
        (call, Tagged, ["argument function"]),
        (hand_back, Counted(), ["Counted", "noted"]),
    ):
        texts = told(lambda f=function, g=given: pool.submit(f, g).result(SECONDS), "change")
        assert sorted(v for v in variables if any(v in text for text in texts)) == variables, texts


def test_what_is_beside_large_arrays(pool: Executor) -> None:
    """Arrays are not compared, the rest is."""
    numpy = pytest.importorskip("numpy")

    class Simulation:
        def __init__(self) -> None:
            self.field = numpy.zeros(90_000)
            self.time = 0

        def step(self) -> None:
            self.time += 1

    def run(simulation: Any) -> int:
        simulation.step()
        return int(simulation.time)

    assert len(changed(lambda: pool.submit(run, Simulation()).result(SECONDS))) == 1


@pytest.mark.long  # each kind by itself: `Account` above, test_frames.py, test_caches.py
def test_objects_of_packages(pool: Executor) -> None:
    """Estimators, frames and molecules; what only reads them is not told."""
    import numpy as np
    import pandas as pd
    from rdkit import Chem
    from rdkit.Chem import Descriptors
    from sklearn.linear_model import LinearRegression

    x, y = np.arange(6.0).reshape(-1, 1), np.arange(6.0)

    def fit(model: Any) -> None:
        model.fit(x, y)

    def predict(model: Any) -> int:
        return len(model.predict(x))

    def fill(frame: Any) -> None:
        fill_first(frame)

    def mean(frame: Any) -> Any:
        return frame.a.mean(), frame.groupby("a").size().max()

    def name(molecule: Any) -> None:
        molecule.SetProp("name", "it")

    def describe(molecule: Any) -> int:
        return len([function(molecule) for _, function in Descriptors.descList])

    frame, molecule = pd.DataFrame({"a": [1.0, 2.0]}), Chem.MolFromSmiles("C[C@H](N)C(=O)O")
    for changes, given in ((fit, LinearRegression()), (fill, frame), (name, molecule)):
        assert len(changed(lambda c=changes, g=given: pool.submit(c, g).result(SECONDS))) == 1, changes  # type: ignore[misc]
    for reads, given in ((predict, LinearRegression().fit(x, y)), (mean, frame), (describe, molecule)):
        assert changed(lambda r=reads, g=given: pool.submit(r, g).result(SECONDS)) == [], reads  # type: ignore[misc]


def fill_first(frame: Any) -> None:
    frame.loc[0, "a"] = 7.0


def test_iterators_are_told_at_the_call(pool: Executor) -> None:
    def take(it: Any) -> Any:
        return next(it)

    def read(file: Any) -> Any:
        return file.readline()

    for function, given, gives, words in (
        (take, iter([1, 2]), 1, r"take is given a list_iterator.*next\(it\)"),
        (take, zip([1], [2], strict=True), (1, 2), r"take is given a zip"),
        (read, io.StringIO("a\nb\n"), "a\n", r"read is given a StringIO.*it\.readline"),
    ):
        notices.forget()
        with pytest.warns(RuntimeWarning, match=words):
            future = pool.submit(function, given)
        assert future.result(SECONDS) == gives
    assert list(given) == ["a\n", "b\n"]


def test_iterators_that_come_with_their_function_or_several_times_are_told(pool: Executor) -> None:
    def take(it: Any, _: int = 0) -> Any:
        return next(it)

    one, file = iter([1, 2]), io.StringIO("a\nb\n")
    for call, kind in (
        (lambda: pool.submit(partial(take, one), 1).result(SECONDS), "list_iterator"),
        (lambda: pool.submit(file.readline).result(SECONDS), "StringIO"),
        (lambda: list(pool.map(take, [one, one])), "list_iterator"),
        (lambda: list(pool.map(take, [one, one], [1, 2])), "list_iterator"),
    ):
        notices.forget()
        assert len(told(call, f" is given a {kind}. ")) == 1
    notices.forget()
    assert told(lambda: list(pool.map(take, [iter([1]), iter([2])])), "is given") == []
    assert told(lambda: pool.submit(file.getvalue).result(SECONDS), "is given") == []


def test_data_of_modules_that_arguments_change(
    pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a function of the module, given as an argument or called by name: a name bound anew, and a dict."""
    source = """
count = 0
rows = {}

def add(key):
    global count
    count += 1
    rows[key] = count
    return count
"""
    (tmp_path / "cellmill_test_counting.py").write_text(source)
    prepend_to_path(monkeypatch, tmp_path)
    own = importlib.import_module("cellmill_test_counting")

    def given(add: Callable[[str], int], key: str) -> int:
        return add(key)

    def named(key: str) -> int:
        found: int = own.add(key)
        return found

    def sets(key: str) -> int:
        own.count += 2
        return len(key)

    def reads(_: str) -> int:
        return len(own.rows) + int(own.count)

    def all_told(call: Callable[[], Any]) -> str:
        notices.forget()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        return " ".join(str(each.message) for each in said)

    try:
        assert "cellmill_test_counting.count" in all_told(
            lambda: pool.submit(given, own.add, "a").result(SECONDS)
        )
        text = all_told(lambda: pool.submit(named, "a").result(SECONDS))
        assert "change cellmill_test_counting.count and cellmill_test_counting.rows" in text
        assert "change cellmill_test_counting.count." in all_told(
            lambda: pool.submit(sets, "a").result(SECONDS)
        )
        assert all_told(lambda: pool.submit(reads, "a").result(SECONDS)) == ""
    finally:
        sys.modules.pop(own.__name__)
