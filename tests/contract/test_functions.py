"""What can be called, and what it finds where it runs."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import Abilities, each_cluster, elsewhere, later, own_cluster
from tests.support import tasks
from tests.support.helpers import SECONDS, comes_down, prepend_to_path


def test_lambdas_and_closures(ex: Executor) -> None:
    def scaled(factor: int) -> Callable[[int], int]:
        return lambda x: factor * x

    assert ex.submit(scaled(3), 5).result(SECONDS) == 15
    assert list(ex.map(lambda x: scaled(x)(x), range(4))) == [0, 1, 4, 9]


def test_methods_and_classes(ex: Executor) -> None:
    assert ex.submit(tasks.Gather(3).method, 4).result(SECONDS) == 7
    assert ex.submit(tasks.Gather(3), 4).result(SECONDS) == 12
    assert ex.submit(complex, 1, 2).result(SECONDS) == 1 + 2j


def test_functions_of_cells(ex: Executor, cell: Callable[[str], dict[str, Any]]) -> None:
    names = cell("import math\nSCALE = 10\ndef helper(x):\n    return SCALE * x\n")
    names = cell("def task(x):\n    return math.floor(helper(x) + 0.5)\n")
    assert ex.submit(names["task"], 2).result(SECONDS) == 20
    assert list(ex.map(names["task"], range(3))) == [0, 10, 20]


def test_redefined(ex: Executor, cell: Callable[[str], dict[str, Any]]) -> None:
    """The newest version of everything, however it is reached."""
    names = cell("def helper(x):\n    return x + 1\ndef task(x):\n    return helper(x)\n")
    task = names["task"]
    assert ex.submit(task, 1).result(SECONDS) == 2
    cell("def helper(x):\n    return x + 100\n")
    assert ex.submit(task, 1).result(SECONDS) == 101
    cell("def task(x):\n    return -helper(x)\n")
    assert ex.submit(names["task"], 1).result(SECONDS) == -101
    assert list(ex.map(names["task"], [1])) == [-101]


def test_redefined_by_turns(ex: Executor) -> None:
    def version(n: int) -> Callable[[], int]:
        return lambda: n

    for n in range(20):
        assert ex.submit(version(n)).result(SECONDS) == n


def test_classes_of_cells(ex: Executor, cell: Callable[[str], dict[str, Any]]) -> None:
    names = cell(
        "class Box:\n    def __init__(self, x):\n        self.x = x\ndef pack(x):\n    return Box(x)\n"
    )
    box = ex.submit(names["pack"], 3).result(SECONDS)
    assert isinstance(box, names["Box"])
    assert box.x == 3


def test_named_tuples_of_cells(ex: Executor, cell: Callable[[str], dict[str, Any]]) -> None:
    space = cell(
        "from typing import NamedTuple\nclass Row(NamedTuple):\n    name: str\n    value: float = 1.5\n"
        "    def twice(self): return 2 * self.value\n"
        "def f(row): return Row(row.name + '!', row.twice())"
    )
    found = ex.submit(space["f"], space["Row"]("a")).result(SECONDS)
    assert type(found) is space["Row"]
    assert found == ("a!", 3.0)
    assert found._replace(value=2).twice() == 4


def test_classes_of_cells_are_called_as_in_the_notebook(
    ex: Executor, cell: Callable[[str], dict[str, Any]]
) -> None:
    space = cell(
        "class A:\n    class Inner:\n        __slots__ = ()\n"
        "def f(_):\n    return A.Inner.__qualname__, A.Inner.__repr__(A.Inner()).split()[0]"
    )
    assert ex.submit(space["f"], 0).result(SECONDS) == space["f"](0)


def test_per_worker(ex: Executor) -> None:
    @cellmill.per_worker
    def engine() -> str:
        return uuid.uuid4().hex

    def use(_: int) -> tuple[tuple[int, int], str]:
        return work.who(), engine()

    seen = set(ex.map(use, range(50), chunksize=1)) | set(ex.map(use, range(50)))
    assert len(seen) == len({where for where, _ in seen}) <= ex.max_workers


def test_run_on_workers(ex: Executor, able: Abilities) -> None:
    places = ex.run_on_workers(work.who)
    assert len(set(places)) == len(places) == able.workers
    assert (os.getpid() in {process for process, _ in places}) == (not able.apart)
    with pytest.raises(LookupError, match="as asked"):
        ex.run_on_workers(tasks.fail)


@own_cluster
@elsewhere
def test_run_on_workers_that_die(ex: Executor) -> None:
    """A worker started under a dead one's number does not answer for it, and is not waited for."""
    assert len(ex.run_on_workers(os.getpid)) == 2
    with pytest.raises(cellmill.BackendError, match="ended before it answered"):
        ex.run_on_workers(functools.partial(tasks.die, "SIGKILL"))
    assert ex.submit(tasks.double, 4).result(SECONDS) == 8
    assert comes_down(lambda: 2 - ex.stats().workers, 0)


# -- the caller's world


def test_environment(ex: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLMILL_TEST", "one")
    assert ex.submit(os.getenv, "CELLMILL_TEST").result(SECONDS) == "one"
    monkeypatch.setenv("CELLMILL_TEST", "two")
    assert set(ex.map(os.getenv, ["CELLMILL_TEST"] * 20)) == {"two"}
    monkeypatch.delenv("CELLMILL_TEST")
    assert ex.submit(os.getenv, "CELLMILL_TEST").result(SECONDS) is None


def test_current_directory(ex: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ex.submit(os.getcwd).result(SECONDS) == str(tmp_path)
    assert set(ex.map(lambda _: os.getcwd(), range(10), chunksize=1)) == {str(tmp_path)}


def test_path(ex: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"cellmill_found_later_{uuid.uuid4().hex[:8]}"
    (tmp_path / f"{name}.py").write_text("VALUE = 7\n")
    prepend_to_path(monkeypatch, tmp_path)
    assert ex.submit(eval, f"__import__({name!r}).VALUE").result(SECONDS) == 7


# -- output


@each_cluster
def test_output(ex: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    """It is there when the result is."""
    capfd.readouterr()
    for i in range(5):
        assert ex.submit(work.say, f"hello {i}").result(SECONDS) == f"hello {i}"
        out, err = capfd.readouterr()
        assert f"hello {i}\n" in out
        assert f"hello {i} to stderr\n" in err


def test_output_of_a_map(ex: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    """Whole lines, each once. An element's value may be there a moment before what its chunk printed."""
    capfd.readouterr()
    list(ex.map(work.say, [f"element {i}" for i in range(20)]))
    out, err = "", ""

    def missing() -> int:
        nonlocal out, err
        more = capfd.readouterr()
        out, err = out + more.out, err + more.err
        return 40 - out.count("\n") - err.count("\n")

    assert comes_down(missing, 0)
    assert sorted(out.splitlines()) == sorted(f"element {i}" for i in range(20))
    assert sorted(err.splitlines()) == sorted(f"element {i} to stderr" for i in range(20))


@later
def test_output_read_again(ex: Executor) -> None:
    future = ex.submit(work.say, "once more")
    future.result(SECONDS)
    assert cellmill.output(future).splitlines() == ["once more", "once more to stderr"]
