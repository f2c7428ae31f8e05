"""Dask's graphs on Cellmill's workers: values, errors and ends as of Dask's own schedulers."""

from __future__ import annotations

import gc
import operator
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pytest
from dask import delayed
from dask._task_spec import Task, TaskRef
from dask.callbacks import Callback
from dask.diagnostics import ProgressBar

import cellmill.dask
from benchmarks import census
from cellmill import Executor, UsageError, run_registry
from cellmill.diagnostics import unasked
from tests.dask.work import append_and_sum, fails_once, increment, process
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down

LARGE = 1 << 20  # bytes


@pytest.fixture(autouse=True)
def ours(pool: Executor) -> Iterator[None]:
    """Dask computes with the shared pool."""
    with cellmill.dask.scheduler(pool):
        yield
    assert comes_down(lambda: pool.stats().running, 0)


class CountsPickles:
    """Data that knows how often it was pickled here."""

    times = 0

    def __init__(self) -> None:
        self.bytes = bytes(LARGE)

    def __sizeof__(self) -> int:
        return LARGE

    def __reduce__(self) -> Any:
        CountsPickles.times += 1
        return len, (self.bytes,)


def test_programs_give_the_same_as_with_dasks_own_scheduler() -> None:
    first = delayed(increment)(1)
    second = delayed(increment)(first)
    words = db.from_sequence(["a", "bb", "cc", "d", "eee"] * 40, npartitions=7)
    square = da.from_array(np.arange(10_000.0).reshape(100, 100), chunks=(30, 40))
    programs = [
        first + second,
        delayed(sum)([first, (second, 3)[0], delayed(increment)(7)]),
        delayed(dict)(a=first, b=[second, {"c": first}]),
        words.map(len).filter(lambda n: n < 3).fold(operator.add),
        words.groupby(len).map(lambda pair: (pair[0], len(pair[1]))),
        words.frequencies(),
        (square @ square.T + 1).sum(axis=0)[::7],
        da.linalg.svd(square.rechunk((100, 25)))[1],
    ]
    for program in programs:
        expected, found = program.compute(scheduler="sync"), program.compute()
        if isinstance(expected, list):
            expected, found = sorted(expected), sorted(found)
        np.testing.assert_equal(found, expected)
    assert dask.compute(first, [second, {"x": first}], 5) == (2, [3, {"x": 2}], 5)


def test_they_run_in_workers_and_the_rest_of_a_persisted_one_too(pool: Executor) -> None:
    here = set(pool.run_on_workers(os.getpid))
    assert set(dask.compute(*[delayed(process)(i) for i in range(20)])) <= here
    kept = (da.ones(1000, chunks=100) + 1).persist()
    assert float(kept.sum().compute()) == 2000.0


@pytest.mark.parametrize(
    "graph",
    [
        {"x": 1, "y": (increment, "x"), "z": (operator.add, "y", "x"), "w": "z"},
        {("a", 0): [1, 2], ("a", 1): (sum, ("a", 0)), "b": (sum, [("a", 1), (increment, 3)])},
        {"plain": 3},
    ],
)
def test_values_have_the_shape_of_the_keys(graph: dict[Any, Any]) -> None:
    keys = list(graph)
    for asked in (keys, [keys, [keys[-1]]], keys[-1]):
        assert cellmill.dask.get(graph, asked) == dask.get(graph, asked)


@pytest.mark.parametrize(
    ("graph", "key"),
    [
        ({"x": (increment, 1)}, "y"),
        ({"x": (increment, "y"), "y": (increment, "z"), "z": (increment, "x")}, "x"),
        ({"x": (operator.truediv, 1, 0), "y": (increment, "x"), "z": [(increment, "y")]}, "z"),
        ({"x": (increment, "a word")}, "x"),
        ({"x": Task("x", increment, TaskRef("y"))}, "x"),
    ],
)
def test_errors_are_those_of_dask(graph: dict[Any, Any], key: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        dask.get(graph, key)
    with pytest.raises(type(theirs.value)) as ours:
        cellmill.dask.get(graph, key)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]
    assert cellmill.dask.get({"x": (increment, 1)}, "x") == 2


def test_an_error_comes_before_what_else_runs_and_cancels_the_rest(
    pool: Executor, gate: Gate, capfd: Any
) -> None:
    held = delayed(tasks.hold)(gate.folder)
    rest = [delayed(increment)(held) for _ in range(10)]
    with pytest.raises(ZeroDivisionError):
        dask.compute(held, rest, delayed(increment)(delayed(operator.truediv)(1, 0)))
    gate.release()
    assert comes_down(lambda: pool.stats().running, 0)
    assert "not asked for" not in capfd.readouterr().err


def test_an_error_beside_the_one_that_is_raised_is_not_said_to_be_unasked() -> None:
    graph: dict[Any, Any] = {
        "a": (operator.truediv, 1, 0),
        "b": (operator.add, 1, ""),
        "c": (operator.neg, "b"),
    }
    unasked.tell()  # what tests before have left
    with Executor(1) as ex, pytest.raises((TypeError, ZeroDivisionError)):
        cellmill.dask.get(graph, ["c", "b", "a"], executor=ex)
    gc.collect()
    assert unasked.tell() == ""


def test_a_value_that_two_tasks_change_is_private_to_each() -> None:
    start = delayed(list)([1, 2])
    found = dask.compute(*[delayed(append_and_sum)(start, more) for more in (10, 20, 30)], start)
    assert found == (13, 23, 33, [1, 2])
    data = delayed([1, 2])
    assert dask.compute(*[delayed(append_and_sum)(data, more) for more in (10, 20)]) == (13, 23)


def test_large_data_of_a_graph_is_sent_once() -> None:
    before = CountsPickles.times
    graph: dict[Any, Any] = {"data": CountsPickles()}
    graph |= {("n", i): (increment, "data") for i in range(10)}
    assert cellmill.dask.get(graph, [("n", i) for i in range(10)]) == (LARGE + 1,) * 10
    assert CountsPickles.times == before + 1


def test_nothing_is_left_of_it(pool: Executor) -> None:
    def compute() -> None:
        parts = [delayed(bytes)(LARGE) for _ in range(30)]
        assert delayed(sum)([delayed(len)(part) for part in parts]).compute() == 30 * LARGE
        with pytest.raises(ZeroDivisionError):
            delayed(increment)([parts, delayed(operator.truediv)(1, 0)]).compute()

    compute()
    before = census.take(pool)
    compute()
    assert census.leaks(before, census.take(pool, looks=3)) == []


def test_tasks_have_dasks_names_and_form_one_run(pool: Executor) -> None:
    before = {run.id for run in cellmill.runs()}
    x = da.ones(40, chunks=10) * np.arange(40.0)
    assert (x + 1).sum().compute() == 820.0
    (run,) = [run for run in cellmill.runs() if run.id not in before]
    assert run.name.startswith("finalize")
    names = [row["function"] for row in cellmill.journey_rows(pool)][-run.submitted :]
    assert any(name.endswith("-sum") for name in names), names
    assert not any("subgraph" in name or name.startswith("_") for name in names), names


def test_annotations(tmp_path: Any) -> None:
    with dask.annotate(retries=1):
        flaky = delayed(fails_once)(str(tmp_path))
    assert flaky.compute(optimize_graph=False) == 5
    with dask.annotate(resources={"telescope": 1}):
        picky = delayed(increment)(1)
    with pytest.raises(UsageError, match="telescope"):
        picky.compute(optimize_graph=False)


def test_callbacks(capsys: Any) -> None:
    heard: list[Any] = []

    class Told(Callback):  # type: ignore[misc]
        def _start(self, dsk: Any) -> None:
            heard.append(("start", len(dsk)))

        def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
            heard.append(key)

        def _finish(self, dsk: Any, state: Any, failed: bool) -> None:
            heard.append((len(state["finished"]), failed))

    graph = {"x": (increment, 1), "y": (increment, "x")}
    with Told():
        assert cellmill.dask.get(graph, "y") == 3
    assert heard == [("start", 2), "x", "y", (2, False)]
    with ProgressBar(dt=0.01):
        assert delayed(sum)([delayed(increment)(i) for i in range(50)]).compute() == 1275
    assert "100% Completed" in capsys.readouterr().out
    values: dict[Any, Any] = {}
    with Callback(posttask=lambda key, value, *_: values.update({key: value})):
        cellmill.dask.get(graph, "y")
    assert values == {"x": 2, "y": 3}


def nested(n: int) -> int:
    with cellmill.dask.scheduler():
        found: int = delayed(sum)([delayed(increment)(i) for i in range(n)]).compute()
    return found


def test_compute_in_a_task(pool: Executor) -> None:
    assert pool.submit(nested, 4).result(SECONDS) == 10
    assert delayed(nested)(5).compute() == 15


def test_a_collection_as_an_argument_means_itself() -> None:
    inner = delayed(increment)(1)
    assert cellmill.dask.get({"x": Task("x", type, inner)}, "x") is type(inner)
    (found,) = delayed([inner], traverse=False).compute()
    assert (type(found), found.key) == (type(inner), inner.key)


def test_options_of_dasks_pools_are_refused() -> None:
    one = delayed(increment)(1)
    assert one.compute(num_workers=3) == 2
    with pytest.raises(UsageError, match="initializer= is an option of Dask's own pools"):
        one.compute(initializer=time.time)
    with pytest.raises(UsageError, match=r"executor must be a cellmill\.Executor"):
        cellmill.dask.scheduler(3)  # type: ignore[arg-type]


def test_interrupted(tmp_path: Any) -> None:
    from tests.support.helpers import run_script

    out, _err = run_script(tmp_path, INTERRUPTED, str(tmp_path / "begun"))
    assert out.splitlines() == ["interrupted", "none runs", "3"]


INTERRUPTED = """
import os, signal, sys, threading, time
import cellmill.dask
from cellmill import Executor
from dask import delayed

def wait(path):
    open(path, "w").close()
    time.sleep(600)

def interrupt(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

if __name__ == "__main__":
    with Executor(2) as ex, cellmill.dask.scheduler(ex):
        path = sys.argv[1]
        threading.Thread(target=interrupt, args=[path]).start()
        try:
            delayed(len)([delayed(wait)(path), delayed(wait)(path)]).compute()
        except KeyboardInterrupt:
            print("interrupted")
        while ex.stats().running:
            time.sleep(0.01)
        print("none runs")
        print(delayed(sum)([1, 2]).compute())
"""


def test_store_into_an_array_of_this_process_is_refused() -> None:
    target = np.zeros(8)
    for source in (da.ones(8, chunks=2), da.ones(8, chunks=2) + 1):
        with pytest.raises(UsageError, match="writes to memory of this process"):
            da.store(source, target)
        da.store(source, target, scheduler="threads")
        assert target.sum() in (8, 16)


@pytest.mark.parametrize("backend", ["threads", "inline"])
def test_store_from_threads_of_this_process_writes_to_it(backend: str) -> None:
    target = np.zeros(8)
    with Executor(1, backend=backend) as here, cellmill.dask.scheduler(here):
        da.store(da.ones(8, chunks=2) + 1, target, lock=True)
    assert target.sum() == 16


class File:
    """A target that workers write to through its path, and that cannot take two writers."""

    def __init__(self, folder: str) -> None:
        self.folder, self.shape, self.dtype = folder, (40,), np.dtype(float)

    def __setitem__(self, index: Any, value: Any) -> None:
        busy = os.path.join(self.folder, "busy")
        os.mkdir(busy)  # an error where another writes
        with open(os.path.join(self.folder, "written"), "ab") as file:
            file.write(np.ascontiguousarray(value).tobytes())
        os.rmdir(busy)


def test_tasks_with_a_lock_run_one_after_another(tmp_path: Any) -> None:
    da.store(da.ones(40, chunks=2), File(str(tmp_path)), lock=True)
    assert np.fromfile(tmp_path / "written").sum() == 40


def test_a_run_that_was_stopped_as_it_began_is_over(pool: Executor) -> None:
    undo = run_registry.on_run_started(lambda run: signal.raise_signal(signal.SIGINT))
    before = run_registry.runs_of(pool._backend)
    try:
        with pytest.raises(KeyboardInterrupt):
            delayed(increment)(1).compute()
    finally:
        undo()
    assert set(run_registry.runs_of(pool._backend)) <= set(before)
    assert delayed(increment)(1).compute() == 2
