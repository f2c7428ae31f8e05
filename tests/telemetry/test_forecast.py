"""What another number of workers would change: promises beside the time that it then takes."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellmill.process_context.cpus import available_cpus
from cellmill.telemetry.forecast import Forecast, Ran, makespan, with_more_workers
from tests.support.notebook import Notebook

SECONDS = st.integers(1, 9).map(float)


@given(st.lists(SECONDS, max_size=30), st.integers(1, 8))
def test_independent_tasks_keep_to_the_bounds_of_list_scheduling(times: list[float], workers: int) -> None:
    took = makespan([Ran(seconds) for seconds in times], workers)
    least = max([*times, sum(times) / workers, 0.0])
    assert least <= took + 1e-9
    assert took <= sum(times) / workers + max(times, default=0.0) * (1 - 1 / workers) + 1e-9
    if workers == 1:
        assert took == pytest.approx(sum(times))


@given(st.lists(st.tuples(SECONDS, st.sets(st.integers(1, 5), max_size=3)), max_size=30), st.integers(1, 8))
def test_tasks_wait_for_their_inputs(drawn: list[tuple[float, set[int]]], workers: int) -> None:
    tasks = [
        Ran(seconds, tuple(at - back for back in backs if at >= back))
        for at, (seconds, backs) in enumerate(drawn)
    ]
    chains: list[float] = []
    for task in tasks:
        chains.append(task.seconds + max((chains[before] for before in task.inputs), default=0.0))
    span, work = max(chains, default=0.0), sum(task.seconds for task in tasks)
    took = makespan(tasks, workers)
    assert max(span, work / workers) <= took + 1e-9
    assert took <= work / workers + span * (1 - 1 / workers) + 1e-9


def test_the_task_that_was_submitted_first_begins_first() -> None:
    for times in permutations([3.0, 2.0, 2.0]):
        ends = [0.0, 0.0]
        for seconds in times:
            ends = sorted([ends[0] + seconds, ends[1]])
        assert makespan([Ran(seconds) for seconds in times], 2) == max(ends)


def test_there_is_a_worker() -> None:
    with pytest.raises(ValueError, match="at least one worker, not 0"):
        makespan([], 0)


@pytest.mark.parametrize(
    ("tasks", "wall", "least", "more"),
    [
        ([Ran(1.0)] * 8, 4.0, 0.0, Forecast(4, 2.0)),
        (
            [Ran(1.0)] * 8,
            4.4,
            0.0,
            Forecast(4, 2.2),
        ),  # a tenth of the wall time is handling, which scales too
        ([Ran(1.0)] * 8, 4.0, 3.0, Forecast(4, 3.0)),
        ([Ran(1.0)] * 8, 4.0, 3.9, None),  # there are no processors for more
        ([Ran(1.0)] * 8, 9.0, 0.0, None),  # the kernel was slow to submit them
        ([Ran(1.0)] * 2, 1.0, 0.0, None),  # there are not more tasks
        ([Ran(1.0), *(Ran(1.0, (at,)) for at in range(7))], 8.0, 0.0, None),  # a chain
        ([], 0.0, 0.0, None),
    ],
)
def test_promises(tasks: list[Ran], wall: float, least: float, more: Forecast | None) -> None:
    found = with_more_workers(tasks, wall, 2, least)
    assert (found is None) == (more is None)
    if found is not None and more is not None:
        assert (found.workers, found.wall) == (more.workers, pytest.approx(more.wall))


CHAIN = """
chain = nap(0.15)
for _ in range(3):
    chain = nap(0.15, chain)
beside = [nap(0.15) for _ in range(8)]
chain.result(), [call.result() for call in beside]
"""
RUNS = {
    "equal tasks": "list(nap.map([0.2] * 16, chunksize=1))",
    "single calls": "[call.result() for call in [nap(0.3) for _ in range(6)]]",
    "tasks of many lengths": "list(nap.map([0.05 * (1 + at % 5) for at in range(20)], chunksize=1))",
    "a chain beside others": CHAIN,
}


BURN = """
%%parallel
def burn(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Notebook]:
    made = Notebook()
    made.run("%load_ext cellmill\nimport time, cellmill").ok()
    made.run("%%parallel\ndef nap(seconds, after=None):\n    import time\n    time.sleep(seconds)").ok()
    made.run(BURN).ok()
    yield made
    made.close()


def told(kernel: Notebook, cell: str, workers: int) -> tuple[float, tuple[int, float] | None]:
    """Wall seconds of a cell with so many workers, and what is promised of more."""
    kernel.run(f"%cellmill workers {workers}\nfrom cellmill import default_executor").ok()
    kernel.run("default_executor().run_on_workers(int)").ok()
    kernel.run(cell).ok()
    kernel.run("found = cellmill.account()").ok()
    more = literal_eval(kernel.value("found.more and (found.more.workers, found.more.wall)"))
    return float(kernel.value("found.wall")), more


@pytest.mark.parametrize("run", RUNS)
def test_what_is_promised_comes_true(kernel: Notebook, run: str) -> None:
    """Within a quarter, in one of some tries: other work on the machine slows runs, or leaves time unexplained."""
    tries = (told(kernel, RUNS[run], 2) for _ in range(6))
    wall, more = next((found for found in tries if found[1]), (0.0, None))
    assert more is not None
    assert more[0] == 4
    took: list[float] = []
    while not took or (len(took) < 6 and not 0.75 * more[1] <= took[-1] <= 1.25 * more[1]):
        took.append(told(kernel, RUNS[run], 4)[0])
    assert 0.75 * more[1] <= took[-1] <= 1.25 * more[1], took
    assert took[-1] < wall


def test_nothing_is_promised_to_tasks_that_compute_on_all_processors(kernel: Notebook) -> None:
    workers = available_cpus()
    _, more = told(kernel, f"list(burn.map([0.1] * {6 * workers}, chunksize=1))", workers)
    assert more is None


def test_nothing_is_promised_before_the_work_is_over(kernel: Notebook) -> None:
    told(
        kernel,
        "results = nap.map([0.2] * 16, chunksize=1)\nnext(results)\nearly = cellmill.account().more",
        2,
    )
    assert kernel.value("early") == "None"
    kernel.run("list(results)").ok()


@pytest.mark.parametrize(
    "cell",
    [
        "list(nap.map([0.05] * 8 + [0.8], chunksize=1))",
        "for _ in range(6):\n    nap(0.05).result()\n    time.sleep(0.1)",
        "call = nap(0.1)\nfor _ in range(5):\n    call = nap(0.1, call)\ncall.result()",
    ],
    ids=["the last task is long", "calls wait for each other in the cell", "a chain"],
)
def test_nothing_is_promised_where_more_workers_would_idle(kernel: Notebook, cell: str) -> None:
    _, more = told(kernel, cell, 2)
    assert more is None
