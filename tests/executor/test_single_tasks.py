"""Single tasks of real pools: found by what they are, why they wait, how they failed, and their calls again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy
import pytest

import cellmill
from cellmill import Executor
from cellmill.api import questions_of
from cellmill.diagnostics.questions import Waits
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


def fail(number: int, factor: int = 1) -> int:
    if number * factor % 7 == 3:
        print("on", number)
        raise ValueError(f"no {number}")
    return number


def fail_otherwise(number: int) -> None:
    raise KeyError(number)


def die(number: int) -> None:
    os.kill(os.getpid(), 9)


def negate_all(numbers: list[int]) -> list[int]:
    if 4 in numbers:
        raise ValueError("four")
    return [-number for number in numbers]


class Hostile:
    """Shows and pickles itself badly in the kernel."""

    def __repr__(self) -> str:
        raise RuntimeError("not me")


def take(thing: Any) -> None:
    raise ValueError("taken")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def started(fresh: Executor) -> Executor:
    """Both workers are there."""
    until(lambda: [worker.state for worker in fresh.workers()] == ["idle"] * 2)
    return fresh


@pytest.fixture
def gated(started: Executor, gate: Gate) -> Iterator[Executor]:
    """Both workers are held by a task each."""
    for _ in range(2):
        started.submit(tasks.hold, gate.folder)
    gate.wait_started(2)
    yield started
    gate.release(1000)


def waits(executor: Executor, future: cellmill.Future) -> Waits:
    return questions_of(executor).why(future._ticket)


def test_rows_by_state_text_and_number(started: Executor) -> None:
    futures = [started.submit(fail, n) for n in range(20)]
    lost = started.submit(die, 1)
    lost.exception(SECONDS)
    assert [n for n, future in enumerate(futures) if future.exception(SECONDS)] == [3, 10, 17]
    ask = questions_of(started)
    rows, matched = ask.find(kinds=("failed",))
    assert matched == 3
    assert {row.task for row in rows} == {futures[n]._ticket for n in (3, 10, 17)}
    assert [row.task for row in ask.find(kinds=("lost",))[0]] == [lost._ticket]
    assert {row.task for row in ask.find(text="NO 10")[0]} == {futures[10]._ticket}
    assert ask.find(kinds=("done", "failed"), text="fail")[1] == 20
    assert ask.find(text="nothing like it")[1] == 0
    assert [row.kind for row in ask.find(task=futures[17]._ticket >> 32)[0]] == ["failed"]
    newest = [row.task for row in ask.find(order="newest", most=5)[0]]
    assert newest == [lost._ticket, *(future._ticket for future in futures[:-5:-1])]
    assert [row.task for row in ask.find(order="newest", offset=2, most=3)[0]] == newest[2:]
    slowest = [row.stamps[5] - row.stamps[4] for row in ask.find(kinds=("done",), order="run")[0]]
    assert slowest == sorted(slowest, reverse=True)


def test_elements_that_failed(started: Executor) -> None:
    results = list(started.map(fail, range(40), chunksize=20, return_exceptions=True))
    assert sum(isinstance(result, ValueError) for result in results) == 6
    ask = questions_of(started)
    rows, matched = ask.find(kinds=("failed",), order="oldest")
    assert matched == 6
    failures = [ask.failure(row.task, row.element) for row in rows]
    assert [failure and failure.arguments for failure in failures] == ["3", "10", "17", "24", "31", "38"]
    assert max(row.element or 0 for row in rows) > 1  # they went out many at a time
    assert ask.find(kinds=("done",))[1] == 34
    found = failures[1]
    assert found is not None
    assert (found.arguments, found.message, found.function) == ("10", "no 10", "fail")
    assert found.call() == (fail, (10,), {})
    assert "in fail" in found.traceback
    assert ask.output(rows[1].task, rows[1].element) == "on 10\n"
    named = [(row.task, row.element) for row in ask.find(text="no 24")[0]]
    assert named == [(rows[3].task, rows[3].element)]


def test_failures_are_folded_and_bounded(started: Executor) -> None:
    expected = 2200
    results = started.map(take, range(expected), chunksize=220, return_exceptions=True)
    assert sum(isinstance(result, ValueError) for result in results) == expected
    list(started.map(fail_otherwise, range(3), return_exceptions=True))
    log: Any = started._backend.failures  # type: ignore[attr-defined]
    groups = {group.type: group for group in log.groups(10)}
    assert {kind: group.count for kind, group in groups.items()} == {"ValueError": expected, "KeyError": 3}
    assert len(groups["ValueError"].first) == 8
    assert len(log._kept) <= 2048 + 2 * 8 < expected
    assert log.latest().type == "KeyError"


def test_what_is_kept_of_a_call(started: Executor) -> None:
    ask = questions_of(started)

    def failure(function: Any, *args: Any, **kwargs: Any) -> Any:
        future = started.submit(function, *args, **kwargs)
        assert future.exception(SECONDS) is not None
        return ask.failure(future._ticket)

    plain = failure(fail, 3, factor=1)
    assert (plain.arguments, plain.attempts, plain.type) == ("3, factor=1", 1, "ValueError")
    assert plain.call() == (fail, (3,), {"factor": 1})
    large = failure(take, numpy.zeros(100_000))
    assert large.arguments == "<array>"
    assert not large.is_kept
    with pytest.raises(cellmill.UsageError, match="not kept"):
        large.call()
    assert "bytes" in failure(take, "x" * (2 << 20)).arguments
    assert failure(take, Hostile()).arguments == "Hostile()"
    lost = failure(die, 5)
    assert lost.arguments == "5"
    assert lost.peak_rss > 1_000_000
    assert lost.call() == (die, (5,), {})
    retried = started.options(retries=2).submit(fail, 3)
    assert retried.exception(SECONDS) is not None
    assert ask.failure(retried._ticket).attempts == 3  # type: ignore[union-attr]
    assert sorted(row.kind for row in ask.find(task=retried._ticket)[0]) == ["failed", "retried", "retried"]


def test_a_call_again(started: Executor) -> None:
    ask = questions_of(started)
    first = started.submit(fail, 3)
    assert first.exception(SECONDS) is not None
    again = ask.again(first._ticket)
    assert isinstance(again.exception(SECONDS), ValueError)
    assert again._ticket != first._ticket
    assert ask.result(again._ticket) is again
    good = started.submit(tasks.double, 3)
    assert good.result(SECONDS) == 6
    with pytest.raises(cellmill.UsageError, match="nothing is kept"):
        ask.again(good._ticket)
    # with the result of another task
    source = started.submit(tasks.double, 5)
    dependent = started.submit(take, source)
    assert dependent.exception(SECONDS) is not None
    assert ask.failure(dependent._ticket).call()[1] == (10,)  # type: ignore[union-attr]


def test_an_item_of_a_batch_again(started: Executor) -> None:
    results = list(started.options(batch=True).map(negate_all, range(8), return_exceptions=True))
    assert results[3] == -3
    ask = questions_of(started)
    found = [row for row in ask.find(kinds=("failed",))[0] if ask.failure(row.task, row.element)]
    assert len(found) == 1
    again = ask.again(found[0].task, found[0].element)
    assert isinstance(again.exception(SECONDS), ValueError)


def test_who_takes_over_what_is_behind_another() -> None:
    sent = Waits("sent", worker=0, runs_there=(1 << 32, "f"), since_ns=10**9, ahead=1)
    assert str(sent) == "Worker 0 has it, behind f #1, which has run for 1.0 s."
    assert str(replace(sent, moves=True)).endswith("the next worker with nothing to do takes it over.")


def test_why_in_words(gated: Executor) -> None:
    queued = [gated.submit(tasks.double, n) for n in range(50)]
    assert waits(gated, queued[-1]).reason in ("queued", "sent")
    dependent = gated.submit(tasks.double, queued[0])
    found = waits(gated, dependent)
    assert found.reason == "inputs"
    assert found.waits_for == ((queued[0]._ticket, "double"),)
    assert "waits for the results of 1 task: double #" in cellmill.why(dependent)
    gated.pause()
    last = gated.submit(tasks.double, 1)
    assert "%cellmill resume" in cellmill.why(last)
    gated.resume()
    assert waits(gated, last).reason in ("queued", "sent")
    assert "nothing to wait for" in str(questions_of(gated).why(1))


def test_priority_of_a_task_and_of_a_run(gated: Executor, gate: Gate) -> None:
    order: list[int] = []
    futures = [gated.submit(tasks.spin, 0.005) for _ in range(30)]
    for number, future in enumerate(futures):
        future.add_done_callback(lambda _, number=number: order.append(number))
    assert cellmill.set_priority(futures[29], 50) == 1
    assert waits(gated, futures[29]).priority == 50
    with pytest.raises(cellmill.UsageError, match="priority must be"):
        cellmill.set_priority(futures[0], 101)
    gate.release(2)
    for future in futures:
        future.result(SECONDS)
    until(lambda: len(order) == 30)
    assert order.index(29) < 15  # submitted last; the first of one worker, while the other one is at its own
    assert cellmill.set_priority(futures[0], 1) == 0


def test_priority_of_a_map(gated: Executor, gate: Gate) -> None:
    low = gated.map(tasks.double, range(1000), chunksize=100)
    run = [run for run in cellmill.run_registry.active_runs() if run._backend is gated._backend][-1]
    assert run.set_priority(5) == 1000
    rows = questions_of(gated).find(run=run.key)[0]
    assert {row.priority for row in rows} == {5}
    gate.release(2)
    assert sum(low) == 999 * 1000


def test_a_backend_without_an_inspector(inline: Executor) -> None:
    with pytest.raises(cellmill.BackendError, match="keeps no single tasks"):
        questions_of(inline)
    with pytest.raises(cellmill.UsageError, match="by its future or its number"):
        cellmill.why("x")  # type: ignore[arg-type]
    assert "is done" in cellmill.why(inline.submit(abs, -1))
