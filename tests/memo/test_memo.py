"""`memo=`: an equal call gives the result that was kept; any other one runs."""

from __future__ import annotations

import decimal
import functools
import importlib
import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy
import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.memo import calls, sources
from tests.support import tasks
from tests.support.helpers import Gate

_SOURCE = """
scale = 2

def scaled(x):
    return scale * x

class Kind:
    rate = 1

    def of(self, x):
        return self.rate * x
"""


def memo(function: Callable[..., Any], ex: Executor, **options: Any) -> Any:
    return cellmill.parallel(executor=ex, **{"memo": True, **options})(function)


def test_an_equal_call_gives_what_was_kept(ex: Executor, tmp_path: Path) -> None:
    for where in True, str(tmp_path / "store"):
        ran = tmp_path / f"ran {where is True}"

        def square(x: int, power: int = 2, ran: Path = ran) -> list[int]:
            with ran.open("a") as file:
                file.write(f"{x} ")
            return [x**power]

        f = memo(square, ex, memo=where)
        assert [f(3).result(), f(3).result(), f(4).result(), f(3, power=3).result()] == [[9], [9], [16], [27]]
        assert ran.read_text() == "3 4 3 "
        assert f.cache_info()[:3] == (1, 3, 3)
        assert f.cache_info().bytes > 0
        assert f.cache_clear() == 3
        assert f(3).result() == [9]
        assert ran.read_text() == "3 4 3 3 "


def test_settings_that_values_depend_on_count(ex: Executor) -> None:
    """And where all is as it was, so is what is found."""

    def third() -> str:
        return str(decimal.Decimal(1) / 3)

    def shown() -> str:
        return repr(numpy.array([1 / 3]))

    def plot() -> int:
        return 1

    for function, setting in (
        (third, lambda: decimal.localcontext(decimal.Context(prec=5))),
        (shown, lambda: numpy.printoptions(precision=2)),
        (plot, lambda: matplotlib.rc_context({"lines.linewidth": 7.5})),
    ):
        f = memo(function, ex)
        assert f().result() == f().result() == function()
        assert f.cache_info()[:2] == (1, 1)
        with setting():
            assert f().result() == f().result() == function()
            assert f.cache_info()[:2] == (2, 2)
        assert f().result() == function()
        assert f.cache_info()[:2] == (3, 2)


def test_a_kept_result_hides_no_warning_that_is_to_be_an_error(ex: Executor) -> None:
    def warns() -> int:
        warnings.warn("as asked", stacklevel=1)
        return 1

    f = memo(warns, ex)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert f().result() == f().result() == 1
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="as asked"):
            f().result()
        warnings.simplefilter("ignore")
        assert f().result() == 1
    assert f.cache_info()[:2] == (1, 3)


def test_what_arguments_read_of_modules_counts(
    ex: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions and classes, of the user's modules and of cells."""
    (tmp_path / "cellmill_test_memo_module.py").write_text(_SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("cellmill_test_memo_module")

    def call(function: Any, x: int) -> Any:
        return function(x)

    def of(kind: Any, x: int) -> Any:
        return kind.of(x)

    f, g = memo(call, ex), memo(of, ex)
    try:
        for number in (3, 5, 3):
            own.scale = own.Kind.rate = number
            assert f(own.scaled, 4).result() == 4 * number
            assert f(lambda x: own.scale * x, 4).result() == 4 * number
            assert g(own.Kind(), 4).result() == 4 * number
        assert (f.cache_info().hits, g.cache_info().hits) == (2, 1)
    finally:
        sys.modules.pop(own.__name__)


def test_each_has_a_value_of_its_own(ex: Executor) -> None:
    def make(n: int) -> tuple[list[int], Any]:
        return [n], numpy.full(2000, n)

    f = memo(make, ex)
    for _ in range(3):
        items, array = f(1).result()
        assert items == [1]
        assert array[0] == 1
        items.append(2)
        array[:] = 7


def test_maps_bring_kept_and_new_results_in_their_places(ex: Executor) -> None:
    def f(x: int, y: int = 1) -> int:
        return x * 10 + y

    g = memo(f, ex)
    assert list(g.map([5, 1, 7])) == [51, 11, 71]
    assert list(g.map(range(10))) == [x * 10 + 1 for x in range(10)]
    assert list(g.map(iter(range(12)))) == [x * 10 + 1 for x in range(12)]
    assert sorted(g.map(iter(range(14)), ordered=False)) == [x * 10 + 1 for x in range(14)]
    assert list(g.map(range(3), y=4)) == list(g.map(range(3), y=4)) == [4, 14, 24]
    assert list(g.map([1, 2], [3, 4])) == list(g.starmap([(1, 3), (2, 4)])) == [13, 24]
    assert g.cache_info()[:2] == (3 + 10 + 12 + 3 + 2, 3 + 7 + 2 + 2 + 3 + 2)


def test_a_map_of_kept_results_alone_runs_nothing_and_tells_how_far_it_is(ex: Executor) -> None:
    f = memo(abs, ex)
    list(f.map(range(100)))
    before = ex.stats().submitted
    results = f.map(range(100))
    assert results.__length_hint__() == 100
    assert repr(results) == "<map of abs: 100 of 100 done>"
    assert next(results) == 0
    assert list(results) == list(range(1, 100))
    assert ex.stats().submitted == before


def test_an_endless_input_of_kept_results_is_read_piece_by_piece(
    ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.memo.maps._MOST_PENDING", 10)
    f = memo(abs, ex)
    f(1).result()

    def ones() -> Iterator[int]:
        while True:
            yield 1

    results = f.map(ones(), prefetch=4)
    assert [next(results) for _ in range(100)] == [1] * 100
    results.close()


def test_errors_come_in_their_places_name_their_call_and_are_not_kept(ex: Executor) -> None:
    def f(x: Any) -> int:
        return x + 1

    g = memo(f, ex)
    assert list(g.map([1, 3])) == [2, 4]
    results = g.map([1, 2, "a", 3])
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(TypeError) as caught:
        next(results)
    text = "\n".join(caught.value.__notes__)
    assert "f('a')" in text
    assert "it is element 2 of the input" in text
    assert "Key" not in text
    with pytest.raises(TypeError) as caught:
        g("b").result()
    assert any(note.endswith("f('b')") for note in caught.value.__notes__)
    found = list(g.map([1, "a", 3], return_exceptions=True))
    assert [found[0], type(found[1]), found[2]] == [2, TypeError, 4]
    assert g.cache_info().results == 3


def test_an_error_of_the_input_comes_behind_the_results_before_it(ex: Executor) -> None:
    f = memo(abs, ex)
    assert list(f.map([1, 2])) == [1, 2]

    def items() -> Iterator[int]:
        yield from (1, 2)
        raise LookupError("no more")

    results = f.map(items())
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(LookupError, match="no more"):
        next(results)


def test_batches(ex: Executor) -> None:
    def f(xs: list[Any], by: int = 2) -> list[Any]:
        return [x * by for x in xs]

    g = memo(f, ex, batch=True)
    assert list(g.map([1, 2, 3])) == [2, 4, 6]
    assert list(g.map([3, 4])) == [6, 8]
    assert list(g.map([3, 4], by=3)) == [9, 12]
    assert [g(1).result(), g(9).result()] == [2, 18]
    assert g.cache_info()[:2] == (2, 7)


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @cellmill.parallel(memo=True)
    def of(self, x: int) -> int:
        return self.factor * x


def test_methods_by_their_instance_as_it_is(ex: Executor) -> None:
    scale = Scale(2)
    of = scale.of.options(executor=ex)
    assert [of(3).result(), of(3).result(), list(of.map([3, 4])), list(of.map([4]))] == [6, 6, [6, 8], [8]]
    assert of.cache_info()[:2] == scale.of.cache_info()[:2] == (2, 3)
    scale.factor = 5
    assert [of(3).result(), *of.map([3, 4])] == [15, 15, 20]
    assert of.cache_info()[:2] == (2, 6)


def test_options_of_an_executor(ex: Executor) -> None:
    kept = ex.options(memo=True)
    assert [kept.submit(abs, -5).result(), kept.submit(abs, -5).result()] == [5, 5]
    assert list(kept.map(abs, [-5, -6])) == [5, 6]
    assert calls.stores()[0].held("abs").results == 2


def test_a_kept_result_is_an_input_and_a_call_that_waits_is_not_looked_up(
    fresh: Executor, gate: Gate
) -> None:
    f = memo(abs, fresh)
    f(-2).result()
    assert f(f(-2)).result() == 2  # a future that is over counts by its value
    waiting = f(fresh.submit(tasks.hold, gate.folder))
    before = f.cache_info()
    gate.wait_started()
    gate.release()
    with pytest.raises(TypeError):
        waiting.result()  # hold returns None
    assert f.cache_info() == before


def test_arguments_of_all_kinds(ex: Executor) -> None:
    f = memo(repr, ex)
    import pandas

    for value in (
        [1],
        {"a": {1, 2}},
        numpy.arange(3),
        pandas.DataFrame({"a": [1]}),
        (1, [2]),
        functools.partial(abs, 1),
    ):
        assert f(value).result() == f(value).result()
    assert f.cache_info()[:2] == (6, 6)
    with pytest.raises(
        UsageError, match=r"a result of repr cannot be kept under these arguments: .*cannot be pickled"
    ):
        f(open(os.devnull))  # noqa: SIM115


def test_the_order_of_names_counts_where_a_function_sees_it(ex: Executor) -> None:
    rows = memo(lambda **row: list(row), ex)
    assert rows(a=1, b=2).result() == ["a", "b"]
    assert rows(b=2, a=1).result() == ["b", "a"]
    named = memo(lambda a, b: [a, b], ex)
    assert named(a=1, b=2).result() == named(b=2, a=1).result() == [1, 2]
    assert named.cache_info()[:2] == (1, 1)


# -- never stale

STEP = 1


def stepped(x: int) -> int:
    return x + STEP


def _changes(f: Any, change: Callable[[], object]) -> bool:
    """Whether the call runs anew after a change."""
    f(1).result()
    f(1).result()
    before = f.cache_info().misses
    change()
    f(1).result()
    return bool(f.cache_info().misses == before + 1)


def test_code_captured_state_and_helpers_at_any_depth(ex: Executor) -> None:
    space: dict[str, Any] = {"numpy": numpy}
    source = """
    SHIFT, TABLE, ARRAY = 1, [1, 2], numpy.arange(3)

    class Scale:
        factor = 2

        def of(self, x):
            return x * self.factor

    def deepest(x):
        return x + SHIFT

    def helper(x, bound=[5]):
        return deepest(x) + TABLE[0] + ARRAY[1] + bound[0]

    def f(x):
        return Scale().of(helper(x))
    """
    exec(textwrap.dedent(source), space)
    f = memo(space["f"], ex)
    assert f(1).result() == 2 * (1 + 1 + 1 + 1 + 5)
    changes: list[Callable[[], object]] = [
        lambda: space.update(SHIFT=7),
        lambda: space["TABLE"].__setitem__(0, 100),
        lambda: space["ARRAY"].__setitem__(1, 50),
        lambda: space["helper"].__defaults__[0].append(1),
        lambda: setattr(space["Scale"], "factor", 3),
        lambda: setattr(space["Scale"], "of", lambda self, x: x),
        lambda: exec("def deepest(x):\n    return x - SHIFT", space),
        lambda: setattr(space["helper"], "__code__", (lambda x, bound=0: x).__code__),
    ]
    for change in changes:
        assert _changes(f, change), change
        assert f(1).result() == space["f"](1)


def test_closures_and_what_comes_back_as_it_was(ex: Executor) -> None:
    shift = 1

    def f(x: int) -> int:
        return x + shift

    g = memo(f, ex)
    assert g(1).result() == 2
    shift = 10
    assert g(1).result() == 11
    shift = 1
    assert g(1).result() == 2
    assert g.cache_info()[:2] == (1, 2)


def test_the_same_code_under_another_name_and_place_is_found(ex: Executor) -> None:
    spaces: list[dict[str, Any]] = [{}, {}]
    for space, text in zip(
        spaces, ("def f(x):\n    return x", "# moved\n\ndef f(x):\n    return x"), strict=True
    ):
        exec(text, space)
    first, second = (memo(space["f"], ex) for space in spaces)
    first(1).result()
    second(1).result()
    assert second.cache_info().hits == 1


def test_files_that_it_depends_on(ex: Executor, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("1")

    def f(x: int) -> str:
        return file.read_text() * x

    g = memo(f, ex, depends_on=[file])
    for text in "1", "2", "1", "3":  # each of one size, within one tick of the file's clock
        file.write_text(text)
        assert g(2).result() == text * 2
    with pytest.raises(UsageError, match="which is no file"):
        memo(f, ex, depends_on=[tmp_path / "none"])
    with pytest.raises(UsageError, match="depends_on names files for memo="):
        cellmill.parallel(depends_on=[file])(f)


def test_generators_of_random_numbers_are_refused(ex: Executor) -> None:
    rng = numpy.random.default_rng(1)
    f = memo(lambda x: rng.random() + x, ex)
    with pytest.raises(UsageError, match="draws from a generator of random numbers"):
        f(1)
    with pytest.raises(UsageError, match="draws from a generator of random numbers"):
        f.map([1])


OWN = {
    "steps.py": "import deeper\nfrom package import part\nSIZE = 1\ndef step(x):\n    return x + SIZE + deeper.add()"
    " + part.LEVEL",
    "deeper.py": "def add():\n    import lazy\n    return lazy.VALUE",
    "lazy.py": "VALUE = 100",
    "package/__init__.py": "",
    "package/part.py": "from .base import LEVEL",
    "package/base.py": "LEVEL = 1000",
}
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import cellmill, steps

class Result:
    def __init__(self, x): self.x = x

def f(x): return steps.step(x)
def lazily(x):
    import lazy
    return lazy.VALUE + x
def of_class(x): return Result(x)

if __name__ == "__main__":
    if len(sys.argv) > 3:
        steps.SIZE = int(sys.argv[3])
    with cellmill.Executor(1) as ex:
        made = [cellmill.parallel(memo=sys.argv[2], executor=ex)(g) for g in (f, lazily)]
        print(*[g(1).result() for g in made], *[g.cache_info().hits for g in made])
        kept = cellmill.parallel(memo=sys.argv[2], executor=ex)(of_class)
        assert type(kept(1).result()) is type(kept(1).result()) is Result
"""


def test_the_users_own_modules_in_other_kernels(tmp_path: Path) -> None:
    """Their code, what they import at any depth and inside functions, and data that was bound anew."""
    folder = tmp_path / "own"
    for name, text in OWN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(*more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-B", program, folder, tmp_path / "store", *more],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "class of a cell" in done.stderr or "classes that a cell defines" in done.stderr
        return done.stdout.strip()

    assert run() == "1102 101 0 0"
    assert run() == "1102 101 1 1"
    assert run("5") == "1106 101 0 1"
    (folder / "package" / "base.py").write_text("LEVEL = 2000")
    assert run() == "2102 101 0 1"
    (folder / "lazy.py").write_text("VALUE = 300")
    assert run() == "2302 301 0 0"
    assert run() == "2302 301 1 1"


def test_packages_count_by_their_version(ex: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    f = memo(lambda x: numpy.sqrt(x), ex)

    def upgrade() -> None:
        monkeypatch.setattr(numpy, "__version__", "99.0")
        sources.version_of_package.cache_clear()
        calls._memos.clear()

    f(4.0).result()
    assert f.cache_info()[:2] == (0, 1)
    upgrade()
    f(4.0).result()
    assert f.cache_info()[:2] == (0, 1)
    sources.version_of_package.cache_clear()
    monkeypatch.undo()
    sources.version_of_package.cache_clear()


def test_senseless_options(ex: Executor) -> None:
    for wrong in 3, "", None:
        with pytest.raises(UsageError, match="memo takes True, False or the name of a folder"):
            cellmill.parallel(memo=wrong)(abs)
    with pytest.raises(AttributeError):
        cellmill.parallel(stepped).cache_info()

    @functools.cache
    def cached(x: int) -> int:
        return x

    assert cellmill.parallel(cached).cache_info() == cached.cache_info()
