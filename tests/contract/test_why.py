"""What `cellmill.why` says of a task in every state, by its future and by its number, on every backend."""

from __future__ import annotations

import re

import pytest

import cellmill
from cellmill import DependencyError, Executor, Future, Retry
from cellmill.api import in_words, questions_of
from tests.contract import work
from tests.contract.abilities import elsewhere, later, same_on_clusters
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

pytestmark = later


def by_number(ex: Executor, future: Future) -> str:
    return in_words(questions_of(ex), future._ticket >> 32)


def settle(ex: Executor) -> None:
    """Return when what has ended is in the records: they are written after a future has its result, in order."""
    assert ex.submit(tasks.double, 1).result(SECONDS) == 2


def test_one_that_runs_and_those_behind_it(ex: Executor, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder, n) for n in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    behind = [ex.submit(tasks.double, n) for n in range(20)]
    runs = re.compile(r"It does not wait: (as far as has been heard, )?it has run for .+ on worker \d+\.")
    for future in held:
        assert runs.fullmatch(cellmill.why(future))
        assert runs.fullmatch(by_number(ex, future))
        assert ("as far as has been heard" in cellmill.why(future)) == bool(ex._backend.cluster)
    queued = re.compile(
        r"It is (queued behind|the next one).*|Worker \d+ has it, behind hold #\d+, which has run for .+"
    )
    said = [words for future in behind for words in (cellmill.why(future), by_number(ex, future))]
    assert [words for words in said if not queued.fullmatch(words)] == []
    gate.release(len(held))
    assert [future.result(SECONDS) for future in behind] == [2 * n for n in range(20)]
    settle(ex)
    assert cellmill.why(behind[0]) == by_number(ex, behind[0]) == "It does not wait: it is done."


def test_one_that_waits_for_inputs(ex: Executor, gate: Gate) -> None:
    slow = ex.submit(tasks.hold, gate.folder, 3)
    gate.wait_started()
    done = ex.submit(tasks.double, 1)
    done.result(SECONDS)
    total = ex.submit(tasks.add, slow, done)
    words = f"It waits for the results of 1 task: hold #{slow._ticket >> 32}."
    assert cellmill.why(total) == by_number(ex, total) == words
    other = ex.submit(tasks.hold, gate.folder, 4)
    both = ex.submit(tasks.add, slow, other)
    assert cellmill.why(both).startswith("It waits for the results of 2 tasks: hold #")
    with_a_function = ex.submit(
        lambda function, value: function(value), lambda value: value, slow
    )  # pickled twice, by two picklers
    assert cellmill.why(with_a_function) == words
    gate.release(2)
    assert total.result(SECONDS) == 5
    assert both.result(SECONDS) == 7


def test_while_tasks_are_paused(ex: Executor) -> None:
    ex.pause()
    try:
        first, second = ex.submit(tasks.double, 1), ex.submit(tasks.double, 2)
        for words in (cellmill.why(first), by_number(ex, first)):
            assert words.startswith("The workers are paused: `%cellmill resume`")
        assert cellmill.why(second).endswith(" 1 task is before it.")
        assert second.cancel()
        assert cellmill.why(second) == "It does not wait: it was cancelled."
    finally:
        ex.resume()
    assert first.result(SECONDS) == 2
    settle(ex)
    assert by_number(ex, second) == "It does not wait: it was cancelled."


def test_one_that_is_tried_again(ex: Executor) -> None:
    future = ex.options(retries=Retry(2, backoff=600)).submit(tasks.fail)
    while "kept back" not in cellmill.why(future):
        assert ex.submit(tasks.double, 1).result(SECONDS) == 2
    again = re.compile(r"It is kept back: attempt 2 of 3 begins in [\d.]+ (s|min)\.")
    assert again.fullmatch(cellmill.why(future))
    assert again.fullmatch(by_number(ex, future))
    assert future.cancel()
    settle(ex)
    assert cellmill.why(future) == by_number(ex, future) == "It does not wait: it was cancelled."


@pytest.mark.parametrize("known", [False, True])
def test_one_that_failed_and_its_dependent(ex: Executor, known: bool) -> None:
    """Whether the kernel knows of the failure when the second call is made, or hears of it later."""
    ex.pause()
    try:
        bad = ex.submit(tasks.fail, "as asked")
        after = None if known else ex.submit(tasks.double, bad)
    finally:
        ex.resume()
    if after is None:
        bad.exception(SECONDS)
        after = ex.submit(tasks.double, bad)
    with pytest.raises(DependencyError):
        after.result(SECONDS)
    settle(ex)
    assert cellmill.why(bad) == "It does not wait: it failed with LookupError."
    assert by_number(ex, bad).endswith("fail('as asked'), failed with LookupError: as asked")
    assert cellmill.why(after) == "It does not wait: it did not run, since an input failed."
    assert "the task did not run: its input fail('as asked')" in by_number(ex, after)


@same_on_clusters
@elsewhere
def test_one_whose_worker_died(ex: Executor) -> None:
    lost = ex.submit(tasks.die, "SIGKILL")
    assert isinstance(lost.exception(SECONDS), cellmill.WorkerLostError)
    settle(ex)
    assert cellmill.why(lost) == "It does not wait: it failed with WorkerLostError."
    assert "failed with WorkerLostError: " in by_number(ex, lost)


def test_one_that_is_not_known(ex: Executor) -> None:
    assert (
        in_words(questions_of(ex), 2**31 - 1)
        == "It is over, or there has been no such task: nothing to wait for."
    )


def test_items_of_a_batch(ex: Executor, gate: Gate) -> None:
    batch = ex.options(batch=True)
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    behind = [batch.submit(work.halves, n) for n in range(200)]
    waits = batch.submit(work.halves, behind[-1])
    goes = "It is an item of a batch: it goes to a worker with the others as soon as one has room."
    sent = "Its batch was handed on: it runs on a worker, or is queued for one."
    assert cellmill.why(behind[0]) == sent
    assert cellmill.why(behind[-1]) == goes
    assert cellmill.why(waits) in (
        goes,
        "It waits for its input halves(…), which is not over.",
    )
    gate.release(len(held))
    assert waits.result(SECONDS) == 199 / 4
    assert cellmill.why(waits) == "It does not wait: it is done."
