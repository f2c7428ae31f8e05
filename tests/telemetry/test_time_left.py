"""Estimates of the time left: on paper, and of real runs whose end is then seen."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed, wait
from typing import Any

import pytest

from cellmill import Executor
from cellmill.backends.scheduled import remaining
from cellmill.telemetry.time_left import Backlog, Graph, Latest, Pace, TimeLeft, time_left
from cellmill.views.samples import left_of
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate
from tests.telemetry.work import join, join_all, long_step, pause, pause_for_longer, rest_for_each, step

NOTHING = Graph((), (), ())


def seconds(backlogs: dict[int, Backlog], graph: Graph = NOTHING, workers: int = 2, **more: Any) -> float:
    found = time_left(backlogs, graph, workers, **more)
    assert found is not None
    assert found.seconds is not None
    return found.seconds


def test_equal_tasks_share_the_workers() -> None:
    assert seconds({1: Backlog("f", 10, ended=4, spent=2.0)}) == pytest.approx(2.5)
    assert seconds({1: Backlog("f", 1_000_000, ended=4, spent=2.0)}) == pytest.approx(250_000, rel=0.01)
    assert seconds({1: Backlog("f", 1, ended=4, spent=2.0)}, workers=100) == pytest.approx(0.5)


def test_functions_have_times_of_their_own() -> None:
    both = {1: Backlog("f", 100, ended=1, spent=0.1), 2: Backlog("g", 4, ended=1, spent=10.0)}
    assert seconds(both) == pytest.approx(25, rel=0.02)


def test_what_runs_has_done_a_part() -> None:
    assert seconds({1: Backlog("f", 2, ended=1, spent=4.0, elapsed=(3.0, 1.0))}) == pytest.approx(3)
    late = seconds({1: Backlog("f", 1, ended=1, spent=4.0, elapsed=(8.0,))})
    assert 0 < late < 4


def test_short_tasks_that_end_first_do_not_stand_for_all() -> None:
    backlog = Backlog("f", 103, ended=1, spent=0.01, elapsed=(1.0, 1.0, 1.0))
    assert (backlog.seconds or 0) > 0.7
    assert Backlog("f", 103, ended=2, spent=2.0, elapsed=(0.5, 0.9)).seconds == 1.0


def test_a_chain_takes_its_length() -> None:
    chain = Graph([1] * 50, [False] * 50, [(at, at + 1) for at in range(49)])
    assert seconds({1: Backlog("f", 50, ended=1, spent=1.0)}, chain, workers=8) == pytest.approx(50)


def test_linked_tasks_are_counted_once() -> None:
    pair = Graph([1, 2], [False, False], [(0, 1)])
    known = {1: Backlog("f", 3, ended=1, spent=1.0), 2: Backlog("g", 1, ended=1, spent=5.0)}
    assert seconds(known, pair, workers=1) == pytest.approx(8)


def test_a_function_that_has_never_ended_is_named_and_not_guessed() -> None:
    known = {1: Backlog("f", 4, ended=1, spent=1.0), 2: Backlog("g", 1)}
    assert time_left(known, NOTHING, 2) == TimeLeft(2.0, ("g",))
    assert time_left({2: Backlog("g", 1)}, NOTHING, 2) == TimeLeft(None, ("g",))
    assert time_left({}, NOTHING, 2) is None
    assert time_left({1: Backlog("f", 0, ended=1, spent=1.0)}, NOTHING, 2) is None


def test_workers_that_are_not_fed_count_by_what_they_get() -> None:
    backlog = {1: Backlog("f", 100, ended=1, spent=1.0)}
    assert seconds(backlog, workers=4, pace=2.0) == pytest.approx(2 * seconds(backlog, workers=4))
    assert seconds(backlog, workers=4, pace=9.0) == seconds(backlog, workers=4)


def test_the_pace_is_measured_only_while_tasks_wait() -> None:
    pace = Pace()
    pace.push(10.0, 5.0, 2)
    assert pace.workers is None
    pace.push(12.0, 8.0, 2)
    assert pace.workers == 1.5
    pace.push(13.0, 10.0, 4)  # more workers have become ready
    assert pace.workers is None
    pace.push(14.0, 10.0, 0)
    pace.push(15.0, 10.0, 0)
    assert pace.workers is None
    for tick in range(100):
        pace.push(20.0 + tick, 2.0 * tick if tick < 50 else 100 + 0.5 * (tick - 50), 2)
    assert pace.workers == pytest.approx(0.5)


def test_what_the_first_calls_took_longer_is_left_out_soon() -> None:
    latest = Latest()
    assert latest.push(0, 0.0) == (0, 0.0)
    assert latest.push(4, 8.0) == (4, 8.0)
    assert latest.push(10, 14.0) == (6, pytest.approx(6))
    for ended in range(11, 1000):
        taken, spent = latest.push(ended, 4.0 + ended)
        assert spent == pytest.approx(taken)
        assert 0.5 * ended <= taken <= 0.8 * ended
    assert latest.push(2, 1.0) == (2, 1.0)  # another run


# Real runs. Each yields once for every task that has ended, in the order of the ends.


def ends(futures: list[Any]) -> Iterator[object]:
    yield from as_completed(futures, timeout=SECONDS)


def single_calls(executor: Executor) -> Iterator[object]:
    yield from ends([executor.submit(pause, 0.1) for _ in range(40)])


def one_at_a_time(executor: Executor) -> Iterator[object]:
    executor.set_resources({"gpu": 1})
    held = executor.options(resources={"gpu": 1})
    yield from ends([held.submit(pause, 0.1) for _ in range(30)])


def a_map(executor: Executor) -> Iterator[object]:
    yield from executor.map(pause, [0.03] * 160)


def two_functions(executor: Executor) -> Iterator[object]:
    quick = [executor.submit(pause, 0.01) for _ in range(40)]
    yield from ends(quick + [executor.submit(pause_for_longer, 0.2) for _ in range(24)])


def chains(executor: Executor) -> Iterator[object]:
    futures = []
    for _ in range(2):
        futures.append(executor.submit(step, None, 0.08))
        for _ in range(19):
            futures.append(executor.submit(step, futures[-1], 0.08))
    yield from ends(futures)


def a_tree(executor: Executor) -> Iterator[object]:
    level = [executor.submit(step, None, 0.06) for _ in range(32)]
    futures = list(level)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [executor.submit(join, *pair, 0.06) for pair in pairs]
        futures += level
    yield from ends(futures)


def unequal_functions(executor: Executor) -> Iterator[object]:
    """Sixteen graphs, each of one step, three longer ones that take its result, and one that takes all theirs."""
    futures = []
    for _ in range(16):
        first = executor.submit(step, None, 0.03)
        middle = [executor.submit(long_step, first, 0.15) for _ in range(3)]
        futures += [first, *middle, executor.submit(join_all, *middle, 0.06)]
    yield from ends(futures)


def promised(run: Callable[[Executor], Iterator[object]]) -> list[float]:
    """Estimates of the first three quarters of a run, each divided by the time that was left."""
    said: list[tuple[float, float]] = []
    with Executor(4) as executor:
        executor.submit(tasks.double, 1).result(SECONDS)
        for _ in run(executor):
            left = left_of(executor)
            if left is not None and not left["unknown"]:
                said.append((time.monotonic(), left["seconds"]))
        end = time.monotonic()
        assert left_of(executor) is None
    return [seconds / (end - at) for at, seconds in said if end - at > 0.25 * (end - said[0][0])]


@pytest.mark.parametrize(
    "run", [single_calls, one_at_a_time, a_map, two_functions, chains, a_tree, unequal_functions]
)
def test_the_end_comes_when_it_was_promised(run: Callable[[Executor], Iterator[object]]) -> None:
    tries = []
    for _ in range(3):  # other work of the machine may stop tasks, or this thread until all have ended
        tries.append(promised(run))
        if tries[-1] and statistics.median(tries[-1]) == pytest.approx(1, abs=0.2):
            return
    pytest.fail(f"in none of the runs: {tries}")


def test_an_estimate_that_waited_for_the_processor_is_kept_no_longer(
    monkeypatch: pytest.MonkeyPatch, fresh: Executor, gate: Gate
) -> None:
    estimates = 0

    def waited(*given: Any) -> TimeLeft | None:
        nonlocal estimates
        estimates += 1
        threading.Event().wait(0.2)
        return time_left(*given)

    monkeypatch.setattr(remaining, "time_left", waited)
    held = fresh.submit(tasks.hold, gate.folder, 1)
    end = time.monotonic() + 10
    while estimates < 2 and time.monotonic() < end:
        left_of(fresh)
    gate.release()
    held.result(SECONDS)
    assert estimates == 2


def test_a_graph_says_which_of_its_functions_have_not_run() -> None:
    with Executor(2) as executor:
        first = executor.submit(step, None, 0.01)
        middle = [executor.submit(long_step, first, 0.05) for _ in range(3)]
        last = executor.submit(join_all, *middle, 0.5)
        said = []
        while not wait([last], 0.01).done:
            left = left_of(executor)
            if left is not None and left["unknown"]:
                said.append(left["unknown"])
        last.result(SECONDS)
    assert all("join_all" in unknown for unknown in said)
    assert said[-1] == ["join_all"]  # an estimate is said for a moment, so the last one counts


def test_nothing_is_promised_while_paused_or_of_unknown_length() -> None:
    with Executor(1) as executor:
        first = executor.submit(tasks.double, 1)
        first.result(SECONDS)
        executor.pause()
        rest = [executor.submit(tasks.double, n) for n in range(10)]
        assert left_of(executor) is None
        executor.resume()
        assert [future.result(SECONDS) for future in rest] == [2 * n for n in range(10)]

    def endless() -> Iterator[int]:
        n = 0
        while True:
            yield n
            n += 1

    with Executor(1) as executor:
        results = executor.map(tasks.double, endless())
        assert [next(results) for _ in range(100)] == [2 * n for n in range(100)]
        assert left_of(executor) is None
        results.close()


def test_a_pause_is_no_pace_of_what_comes_then() -> None:
    with Executor(1) as executor:
        remaining = executor._backend.observer._remaining  # type: ignore[union-attr]
        for moment, spent in ((0.0, 0.0), (60.0, 0.6)):
            remaining._pace.push(moment, spent, 1)
        assert remaining._pace.workers == pytest.approx(0.01)
        executor.pause()
        waits = executor.submit(tasks.double, 1)
        assert left_of(executor) is None
        assert remaining._pace.workers is None
        executor.resume()
        assert waits.result(SECONDS) == 2


def test_a_task_that_runs_far_longer_than_those_before_makes_a_bound_of_it() -> None:
    known = {1: Backlog("f", 1, ended=9, spent=0.9, elapsed=(8.0,)), 2: Backlog("g", 1, ended=1, spent=4.0)}
    found = time_left(known, NOTHING, 2)
    assert found is not None
    assert found.late == ("f",)
    assert not Backlog("f", 1, ended=9, spent=0.9, elapsed=(2.0,)).late
    assert not Backlog("f", 1, ended=1, spent=4.0, elapsed=(15.0,)).late
    assert not Backlog("f", 1, elapsed=(15.0,)).late


def test_a_call_with_a_list_stands_for_its_elements() -> None:
    """It runs far longer than the mean of an element, which makes it neither late nor a guess of hours."""
    with Executor(1) as executor:
        batched = executor.options(batch=True)
        list(batched.map(rest_for_each, range(100), chunksize=10))
        results = batched.map(rest_for_each, range(600), chunksize=600)
        said = []
        while executor.stats().running or not said:
            left = left_of(executor)
            if left is not None and left["seconds"] is not None:
                said.append(left)
            time.sleep(0.05)  # between two looks, as a view has it
        assert len(list(results)) == 600
    assert max(left["seconds"] for left in said) < 10
    assert not any(left["late"] for left in said)
