"""`retries=`: how often, how soon, after which errors; what waits to be tried again can be cancelled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, Retry
from cellmill.api import questions_of
from tests.contract import work
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

NEVER = 3600.0  # seconds to the next attempt
Try = Callable[[Any, Any, tuple[Any, ...]], Any]


def single(view: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
    return view.submit(function, *arguments).result(SECONDS)


def mapped(view: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
    return next(iter(view.map(function, *([argument] for argument in arguments))))


ways = pytest.mark.parametrize("way", [single, mapped])


@ways
def test_until_it_succeeds(ex: Executor, tmp_path: Path, way: Try) -> None:
    assert way(ex.options(retries=Retry(3)), tasks.fail_first, (str(tmp_path), 2)) == 3


@ways
def test_the_last_error_stands(ex: Executor, tmp_path: Path, way: Try) -> None:
    with pytest.raises(ConnectionError, match="attempt 3"):
        way(ex.options(retries=Retry(2, backoff=0.001)), tasks.fail_first, (str(tmp_path), 9))
    assert len(list(tmp_path.iterdir())) == 3


@ways
@pytest.mark.parametrize(
    ("when", "calls"),
    [
        (ConnectionError, 3),
        ((KeyError, OSError), 3),
        (KeyError, 1),
        (lambda error: "attempt 1" in str(error), 2),
        (lambda error: False, 1),
    ],
)
def test_only_some_errors(ex: Executor, tmp_path: Path, way: Try, when: Any, calls: int) -> None:
    with pytest.raises(ConnectionError, match=f"attempt {calls}"):
        way(ex.options(retries=Retry(2, when=when)), tasks.fail_first, (str(tmp_path), 9))
    assert len(list(tmp_path.iterdir())) == calls


def test_the_attempt_that_is_the_last_by_its_error_is_no_other(fresh: Executor, tmp_path: Path) -> None:
    """The scheduler asks after each; what the table, the journeys and the error say was so is known with the answer."""
    refused = fresh.options(retries=Retry(2, when=KeyError)).submit(tasks.fail_first, str(tmp_path), 9)
    assert isinstance(refused.exception(SECONDS), ConnectionError)
    once = fresh.options(retries=Retry(2, when=lambda error: "attempt 2" in str(error)))
    second = once.submit(tasks.fail_first, str(tmp_path), 9)  # its first is the second of all
    assert isinstance(second.exception(SECONDS), ConnectionError)
    lost = fresh.options(retries=Retry(2, when=KeyError)).submit(tasks.die, "SIGKILL")
    assert "tried" not in str(lost.exception(SECONDS))
    cancelled = fresh.options(retries=Retry(2, backoff=NEVER)).submit(tasks.fail)
    questions = questions_of(fresh)
    while not questions.find(kinds=("delayed",))[1]:
        fresh.submit(tasks.double, 1).result(SECONDS)
    assert cancelled.cancel()
    rows, _ = questions.find(kinds=("failed", "lost", "cancelled", "retried"))
    assert Counter((row.task, row.kind, row.attempt) for row in rows) == Counter(
        [
            (refused._ticket, "failed", 0),
            (second._ticket, "retried", 0),
            (second._ticket, "failed", 1),
            (lost._ticket, "lost", 0),
            (cancelled._ticket, "retried", 0),
            (cancelled._ticket, "cancelled", 1),
        ]
    )
    assert [questions.failure(each._ticket).attempts for each in (refused, second, lost)] == [1, 2, 1]
    assert all(
        row.worker is not None and all(row.stamps) for row in rows if row.kind in ("failed", "retried")
    )
    statuses = Counter(row["status"] for row in fresh.journey_rows() if row["status"] != "done")
    statuses.pop("cancelled", None)  # which may not have been taken yet
    assert statuses == {"failed": 2, "retried": 2, "lost": 1}


@ways
def test_a_predicate_that_raises_ends_it(ex: Executor, tmp_path: Path, way: Try) -> None:
    with pytest.raises(ConnectionError) as caught:
        way(ex.options(retries=Retry(2, when=lambda e: bool(1 / 0))), tasks.fail_first, (str(tmp_path), 9))
    assert "ZeroDivisionError" in caught.value.__notes__[0]


@ways
def test_it_waits_longer_each_time(ex: Executor, tmp_path: Path, way: Try) -> None:
    start = time.monotonic()
    way(ex.options(retries=Retry(3, backoff=0.05, factor=3)), tasks.fail_first, (str(tmp_path), 3))
    assert time.monotonic() - start >= 0.05 + 0.15 + 0.45


def test_delays() -> None:
    retry = Retry(5, backoff=1, factor=4, most=20)
    assert [retry.delay(attempt, ValueError()) for attempt in range(6)] == [1, 4, 16, 20, 20, None]
    assert Retry(255, backoff=1, factor=1e9, most=7).delay(200, ValueError()) == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"times": -1}, "whole number from 0 to 255"),
        ({"times": 1, "backoff": -1}, "backoff of a Retry must be a number of at least 0"),
        ({"times": 1, "factor": 0.5}, "factor of a Retry must be a number of at least 1"),
        ({"times": 1, "most": "1"}, "most of a Retry"),
        ({"times": 1, "when": 5}, "when of a Retry takes"),
        ({"times": 1, "when": int}, "when of a Retry takes"),
    ],
)
def test_senseless_ones_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(cellmill.UsageError, match=words):
        Retry(**arguments)


def test_no_worker_waits_with_it(fresh: Executor, tmp_path: Path) -> None:
    for _ in range(4):
        fresh.options(retries=Retry(2, backoff=NEVER)).submit(tasks.fail)
    assert [f.result(SECONDS) for f in [fresh.submit(tasks.double, i) for i in range(100)]] == list(
        range(0, 200, 2)
    )
    while fresh.stats().waiting < 4:
        fresh.submit(tasks.double, 1).result(SECONDS)
    assert all(fresh.submit(tasks.double, 2).result(SECONDS) == 4 for _ in range(10))
    assert fresh.stats().waiting == 4


def test_what_waits_is_cancelled(fresh: Executor, tmp_path: Path) -> None:
    future = fresh.options(retries=Retry(2, backoff=NEVER)).submit(tasks.fail_first, str(tmp_path), 9)
    while fresh.stats().waiting == 0:
        fresh.submit(tasks.double, 1).result(SECONDS)
    assert future.cancel()
    assert future.cancelled()
    assert fresh.stats().cancelled == 1


def test_what_waits_of_a_map_is_cancelled(fresh: Executor) -> None:
    results = fresh.options(retries=Retry(2, backoff=NEVER)).map(tasks.half_of_even, range(10))
    assert next(results) == 0
    # a result on its way would be cancelled, too
    while (stats := fresh.stats()).waiting < 5 or stats.submitted - stats.done > 5:
        fresh.submit(tasks.double, 1).result(SECONDS)
    results.close()  # type: ignore[attr-defined]
    while (stats := fresh.stats()).done < stats.submitted:
        fresh.submit(tasks.double, 1).result(SECONDS)
    assert (stats.submitted - stats.done, stats.waiting, stats.cancelled) == (0, 0, 5)


def test_retries_of_a_map_hold_back_no_others(fresh: Executor) -> None:
    """Fewer chunks are in flight at a time than elements wait to be tried again here."""
    view = fresh.options(retries=Retry(1, backoff=0.2))
    results = list(view.map(tasks.half_of_even, range(60), chunksize=1, return_exceptions=True))
    assert [r for r in results if isinstance(r, int)] == list(range(30))
    stats = fresh.stats()
    assert (stats.submitted, stats.succeeded, stats.failed) == (60, 30, 30)


@ways
def test_attempts_are_in_the_journeys(fresh: Executor, tmp_path: Path, way: Try) -> None:
    way(fresh.options(retries=Retry(3, backoff=0.01)), tasks.fail_first, (str(tmp_path), 2))
    rows = [(row["attempt"], row["status"]) for row in fresh.journey_rows()]
    assert [attempt for attempt, _ in rows] == [0, 1, 2]
    assert rows[-1][1] == "done"
    if way is single:
        assert [status for _, status in rows] == ["retried", "retried", "done"]


def test_plain_retries_are_in_the_journeys(fresh: Executor, tmp_path: Path) -> None:
    single(fresh.options(retries=1), tasks.fail_first, (str(tmp_path), 1))
    rows = list(fresh.journey_rows())
    assert [(row["attempt"], row["status"]) for row in rows] == [(0, "retried"), (1, "done")]
    assert len({row["task"] for row in rows}) == 1


def test_chunks_that_are_sent_again_are_attempts_and_not_lost(fresh: Executor) -> None:
    """Workers end until the culprit is known, and its last attempt alone is lost."""
    list(fresh.options(retries=1).map(work.leave_at, range(3), [2] * 3, chunksize=3, return_exceptions=True))
    rows = [row["status"] for row in fresh.journey_rows()]
    assert Counter(rows) == {"done": 2, "retried": 1, "lost": 1}
    batch = fresh.options(batch=True).map(work.leave_with, range(4), chunksize=4, return_exceptions=True)
    assert [isinstance(each, cellmill.WorkerLostError) for each in batch] == [False, False, True, False]
    statuses = Counter(row["status"] for row in list(fresh.journey_rows())[len(rows) :])
    assert (statuses["done"], statuses["lost"]) == (3, 1)


@ways
def test_a_lost_worker_is_an_attempt(fresh: Executor, tmp_path: Path, way: Try) -> None:
    folder = str(tmp_path)

    def die_once(x: int) -> int:
        if tasks.count_call(folder) == 1:
            tasks.die("SIGKILL")
        return x

    assert way(fresh.options(retries=Retry(1, when=cellmill.WorkerLostError)), die_once, (5,)) == 5


@ways
@pytest.mark.parametrize("retries", [9, Retry(9, when=TimeoutError)])  # the later ones: for a busy machine
def test_a_time_limit_is_an_attempt(fresh: Executor, tmp_path: Path, way: Try, retries: Any) -> None:
    folder = str(tmp_path)

    def late_once() -> str:
        return tasks.spin(60 if tasks.count_call(folder) == 1 else 0)

    assert way(fresh.options(timeout=0.3, retries=retries), lambda _: late_once(), (0,)) == "ran"


def test_time_limits_can_be_left_out(fresh: Executor, gate: Gate) -> None:
    retry = Retry(5, when=lambda error: not isinstance(error, TimeoutError))
    future = fresh.options(timeout=0.3, retries=retry).submit(tasks.hold, gate.folder)
    assert isinstance(future.exception(SECONDS), cellmill.TaskTimeoutError)


def test_of_a_parallel_function(pool: Executor, tmp_path: Path) -> None:
    again = cellmill.parallel(retries=Retry(2, backoff=0.01), executor=pool)(tasks.fail_first)
    assert again(str(tmp_path), 2).result(SECONDS) == 3


def fail_or_die_once(folder: str, number: int) -> int:
    """The first attempt of each third fails, that of one element kills its worker."""
    first = tasks.count_call(f"{folder}/{number}") == 1
    if first and number == 4:
        tasks.die("SIGKILL")
    if first and number % 3 == 0:
        raise ValueError(number)
    return number


@pytest.mark.parametrize("chunksize", [1, 10])
def test_what_is_tried_again_has_not_failed(fresh: Executor, tmp_path: Path, chunksize: int) -> None:
    """Counts that views show in the moment in which it is decided, and the others of a lost chunk."""
    counted = []

    def noted(_: BaseException) -> bool:
        stats = fresh.stats()
        counted.append((stats.failed, stats.lost, stats.done <= stats.submitted))
        return True

    for number in range(10):
        (tmp_path / str(number)).mkdir()
    results = fresh.options(retries=Retry(2, when=noted)).map(
        fail_or_die_once, [str(tmp_path)] * 10, range(10), chunksize=chunksize
    )
    assert list(results) == list(range(10))
    assert len(counted) >= 2
    assert set(counted) == {(0, 0, True)}
    assert (fresh.stats().succeeded, fresh.stats().failed, fresh.stats().lost) == (10, 0, 0)


def test_others_of_a_lost_chunk_are_not_lost(fresh: Executor) -> None:
    counted = []

    def noted(_: BaseException) -> bool:
        counted.append((fresh.stats().failed, fresh.stats().lost))
        return False

    several = fresh.options(retries=Retry(1, when=noted))
    results = list(several.map(tasks.die_at, range(10), [4] * 10, chunksize=10, return_exceptions=True))
    assert sum(isinstance(result, cellmill.WorkerLostError) for result in results) == 1
    assert counted == [(0, 0)]
    assert (fresh.stats().succeeded, fresh.stats().failed, fresh.stats().lost) == (9, 1, 1)
