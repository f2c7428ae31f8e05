"""A sweep with real workers: each point once, failures kept and run again, Stop, and going on after a kill."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, UsageError
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

Pair = collections.namedtuple("Pair", "low high")


@dataclasses.dataclass
class Fit:
    slope: float
    note: str


def on(executor: Executor, function: Any, **values: Any) -> Any:
    return cellmill.sweep(cellmill.parallel(executor=executor)(function), **values)


def noted(folder: Path, x: int, y: int) -> int:
    with Path(folder, "calls").open("a") as out:
        out.write(f"{x},{y} ")
    return 10 * x + y


def calls(folder: Path) -> list[str]:
    return Path(folder, "calls").read_text().split()


def test_all_points_run_once_as_one_run(pool: Executor, tmp_path: Path) -> None:
    made = on(pool, noted, folder=str(tmp_path), x=[1, 2], y=range(3))
    assert made(x=2).result() == 20  # y at its first value
    assert made.counts() == (5, 0, 0, 1, 0)
    before = cellmill.runs()[-1].id
    assert made.run() is made
    (ran,) = [run for run in cellmill.runs() if run.id > before]
    assert (ran.name, ran.submitted, ran.finished) == ("noted", 5, True)
    assert [row["result"] for row in made.rows()] == [10, 11, 12, 20, 21, 22]  # as a loop has them
    assert made.run().point(x=1, y=2).result() == 12
    assert sorted(calls(tmp_path)) == ["1,0", "1,1", "1,2", "2,0", "2,1", "2,2"]
    assert repr(made) == "<cellmill.Sweep noted(x: 2 values, y: 3 values): 6 of 6 points done>"


def test_it_runs_where_the_function_runs(ex: Executor) -> None:
    made = on(ex, tasks.double, x=[1, 2])
    assert [row["result"] for row in made.run().rows()] == [2, 4]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": 3}, r"x=3 is no point of this sweep: x has 1, 2"),
        ({"z": 3}, r"'z' is no axis of this sweep: its axes are x, y"),
        ({"folder": "f"}, r"'folder' is no axis of this sweep"),
    ],
)
def test_points_that_it_has_not(pool: Executor, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        on(pool, noted, folder="", x=[1, 2], y=[0])(**values)


def test_unhashable_values(pool: Executor) -> None:
    made = on(pool, lambda layers, at: sum(layers) + at["n"], layers=[[1, 2], [3]], at=[{"n": 1}, {"n": 2}])
    assert made(layers=[3], at={"n": 2}).result() == 5
    assert [row["result"] for row in made.run().rows()] == [4, 5, 4, 5]


def mixed(kind: str) -> Any:
    return {
        "number": 1.5,
        "dict": {"loss": 2, "kind": "inner", "error": 3},
        "pair": Pair(1, 2),
        "fit": Fit(0.5, "good"),
        "none": None,
        "list": [1, 2],
    }[kind]


def test_results_of_mixed_kinds(pool: Executor) -> None:
    made = on(pool, mixed, kind=["number", "dict", "pair", "fit", "none", "list", "absent"]).run()
    rows = {row["kind"]: row for row in made.rows()}
    names = ["kind", "result", "loss", "result.kind", "result.error", "low", "high", "slope", "note", "error"]
    assert all(list(row) == names for row in rows.values())
    empty = dict.fromkeys(names)
    assert rows["number"] == {**empty, "kind": "number", "result": 1.5}
    assert rows["dict"] == {**empty, "kind": "dict", "loss": 2, "result.kind": "inner", "result.error": 3}
    assert rows["pair"] == {**empty, "kind": "pair", "low": 1, "high": 2}
    assert rows["fit"] == {**empty, "kind": "fit", "slope": 0.5, "note": "good"}
    assert rows["none"] == {**empty, "kind": "none"}
    assert rows["list"] == {**empty, "kind": "list", "result": [1, 2]}
    assert rows["absent"] == {**empty, "kind": "absent", "error": "KeyError: 'absent'"}
    frame = made.frame()
    assert list(frame.columns) == names
    assert frame["loss"].sum() == 2
    assert frame["result"].iloc[-2] == [1, 2]


def clashing(x: int, error: float, *, flat: bool = False) -> Any:
    if error > 0.3:
        raise ValueError("too much")
    return {"x": 10 * x} if flat else {"x": 10 * x, "result.x": 20 * x, "error": 0}


def test_no_column_takes_the_place_of_another(pool: Executor) -> None:
    made = on(pool, clashing, x=[1, 2], error=[0.1, 0.5]).run()
    names = ["x", "error", "flat", "result.result.x", "result.x", "result.error", "sweep.error"]
    rows = made.rows()
    assert all(list(row) == names for row in rows)
    assert [row["x"] for row in rows] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert [row["error"] for row in rows] == [0.1, 0.1, 0.5, 0.5] * 2
    assert [*rows[4].values()] == [2, 0.1, False, 20, 40, 0, None]
    assert [*rows[5].values()] == [2, 0.1, True, 20, None, None, None]
    assert [*rows[6].values()] == [2, 0.5, False, None, None, None, "ValueError: too much"]
    assert list(made.frame().columns) == names
    assert list(made.frame()["error"]) == [0.1, 0.1, 0.5, 0.5] * 2


def test_a_frame_of_numbers_has_numbers_and_an_empty_one_its_names(pool: Executor) -> None:
    made = on(pool, tasks.double, x=[1, 2])
    assert list(made.frame().columns) == ["x", "error"]
    frame = made.run().frame()
    assert (frame["x"].dtype, frame["result"].dtype) == ("int64", "int64")


def half(folder: str, x: int) -> int:
    if x == 2 and tasks.count_call(folder) == 1:
        raise LookupError("two")
    return x


def test_failures_are_kept_and_run_again(pool: Executor, tmp_path: Path) -> None:
    made = on(pool, half, folder=str(tmp_path), x=[1, 2, 3]).run()
    ((at, error),) = made.errors()
    assert (at, type(error), str(error)) == ({"x": 2, "folder": str(tmp_path)}, LookupError, "two")
    assert made.counts() == (0, 0, 0, 2, 1)
    assert "2 of 3 points done, 1 failed" in repr(made)
    assert made.run().counts().failed == 1  # it is known
    with pytest.raises(LookupError, match="two"):
        made(x=2).result()
    assert made.retry().errors() == []
    assert made(x=2).result() == 2


def test_options_are_those_of_the_function(pool: Executor, tmp_path: Path) -> None:
    f = cellmill.parallel(tasks.fail_first).options(retries=1, executor=pool, name="stubborn")
    made = cellmill.sweep(f, folder=[str(tmp_path)]).run()
    assert [row["result"] for row in made.rows()] == [2]
    assert cellmill.runs()[-1].name == "stubborn"


def test_an_argument_that_cannot_be_sent_fails_its_point_alone(pool: Executor) -> None:
    import threading

    made = on(pool, tasks.same, value=[1, threading.Lock(), 2]).run()
    assert [row["result"] for row in made.rows()] == [1, None, 2]
    ((_, error),) = made.errors()
    assert isinstance(error, cellmill.PayloadError)


def test_stop_in_the_middle_and_going_on(fresh: Executor, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    made = on(fresh, tasks.hold, folder=str(tmp_path), value=range(6)).run(wait=False)
    gate.wait_started(2)
    gate.release()
    gate.wait_started()  # one is over, and the third runs
    waiting = made(value=5)
    assert not waiting.done()  # the future of the point that waits
    with pytest.raises(TimeoutError, match="not over yet"):
        made.wait(timeout=0.01)
    counts = made.counts()
    assert (counts.done, counts.waiting + counts.running) == (1, 5)
    assert made.stop() == 5
    made.wait(SECONDS)
    assert made.counts() == (5, 0, 0, 1, 0)
    with pytest.raises(CancelledError, match="stop\\(\\) of the sweep over hold"):
        waiting.result(0)
    gate.close()
    assert [row["result"] for row in made.run().rows()] == [*range(6)]


def test_results_of_a_function_that_has_changed_are_results_no_more(pool: Executor) -> None:
    names: dict[str, Any] = {"by": 2}
    exec("def f(x): return by * x", names)
    made = on(pool, names["f"], x=[1, 2]).run()
    names["by"] = 3
    with pytest.warns(RuntimeWarning, match="has changed: the sweep shows 2 results from before no more"):
        assert made(x=1).result() == 3
    assert made.counts().open == 1
    assert [row["result"] for row in made.run().rows()] == [3, 6]


def test_results_from_before_a_change_are_not_shown(pool: Executor) -> None:
    """Whatever asks for them; settings at that moment are none of it."""
    names: dict[str, Any] = {"by": 2}
    exec("def f(x): return by * x", names)
    made = on(pool, names["f"], x=[1, 2])
    asked: list[tuple[Callable[[], Any], Any]] = [
        (made.rows, []),
        (lambda: len(made.frame()), 0),
        (lambda: made.counts().open, 2),
        (made.errors, []),
        (lambda: repr(made).endswith("0 of 2 points done>"), True),
    ]
    for ask, answer in asked:
        made.run()
        with decimal.localcontext(decimal.Context(prec=5)):
            assert [row["result"] for row in made.rows()] == [names["by"], 2 * names["by"]]
        names["by"] += 1
        with pytest.warns(RuntimeWarning, match="has changed: the sweep shows 2 results from before no more"):
            assert ask() == answer


KILLED = """
import os, signal, sys, cellmill
folder, kept, count = *sys.argv[1:3], int(sys.argv[3])
def f(x, y):
    with open(folder + "/calls", "a") as out:
        out.write(f"{x},{y} ")
    return {"sum": x + y}
if __name__ == "__main__":
    with cellmill.Executor(2) as ex:
        made = cellmill.sweep(cellmill.parallel(executor=ex)(f), x=range(4), y=range(5), path=kept)
        print(made.counts().done, flush=True)
        if count:
            for x in range(count):
                made(x=x, y=3)
            made.wait()
            os.kill(os.getpid(), signal.SIGKILL)
        made.run()
        print([row["sum"] for row in made.rows()])
"""


def test_killed_and_resumed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KILLED)

    def run(count: int) -> tuple[int, list[str]]:
        command = [sys.executable, str(program), str(tmp_path), str(tmp_path / "kept"), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS)
        return done.returncode, done.stdout.splitlines()

    assert run(3) == (-signal.SIGKILL, ["0"])
    status, (found, values) = run(0)
    assert (status, values) == (0, str([x + y for x in range(4) for y in range(5)]))
    assert found == "3"
    assert len(calls(tmp_path)) == len(set(calls(tmp_path))) == 20
    assert run(0)[1][0] == "20"


def test_a_path_is_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    file.touch()
    with pytest.raises(UsageError, match="path names a folder"):
        cellmill.sweep(tasks.double, x=[1], path=file)
    with pytest.raises(UsageError, match="path takes the name of a folder"):
        cellmill.sweep(tasks.double, x=[1], path=3)  # type: ignore[arg-type]
