"""What is shown of tasks, against what they did: counts, rows, the table, folds and observers agree."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from typing import Any, NoReturn

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.api import in_words, questions_of
from cellmill.diagnostics.questions import span
from cellmill.telemetry.schema import STAGES
from cellmill.views.commands.tasks import list_tasks
from cellmill.views.scope import scope_of
from cellmill.views.sections import SCOPED
from tests.support.helpers import SECONDS
from tests.support.waiting import until

OUTCOMES = {"done": "succeeded", "cancelled": "cancelled"}  # of rows; the others failed
LIVE = ("waiting", "delayed", "queued", "sent", "running", "stopping")


@pytest.fixture
def watched(default: Executor) -> Iterator[Executor]:
    """An executor of its own as the default one; what comes after it is in another cell."""
    yield default
    run_registry.bump_epoch()


class DoesNotLoad:
    def __reduce__(self) -> Any:
        return refuse, ()


def refuse() -> NoReturn:
    raise RuntimeError("does not load")


def act(what: str, _: object = None) -> str:
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what in ("fail", "boom"):
        raise ValueError(what)
    return what


def act_on_all(items: list[str]) -> list[str]:
    return [act(item) for item in items]


def table(executor: Executor, **asked: Any) -> Any:
    wanted = {"states": (), "order": "news", "text": "", "run": None, "count": 500, "offset": 0, "request": 1}
    return list_tasks(executor, {**wanted, **asked})


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    """Outcomes of rows of the table, of which one may stand for several elements."""
    found: Counter[str] = Counter()
    for row in rows:
        found[row["state"]] += row["count"]
    return found


def settled(executor: Executor) -> None:
    until(lambda: (stats := executor.stats()).done == stats.submitted)
    executor._backend.settle(0)


def test_elements_of_a_chunk_are_found_by_their_error(watched: Executor) -> None:
    """A page holds fewer rows than the chunks of those that are meant."""
    words = ["boom" if place in (417, 800) else "fine" for place in range(1000)]
    results = list(watched.map(act, words, chunksize=1000, return_exceptions=True))
    assert sum(isinstance(result, ValueError) for result in results) == 2
    for order in ("news", "oldest"):
        found = table(watched, text="boom", order=order, count=20)
        assert found["matched"] == 2
        assert counted(found["rows"]) == {"failed": 2}
        second = table(watched, text="boom", order=order, count=20, offset=1)
        assert second["rows"][0]["element"] == found["rows"][1]["element"]
    group = found["failures"][0]["id"]
    assert table(watched, failure=group, count=20)["matched"] == 2


def test_elements_that_ended_before_their_worker_are_listed(watched: Executor) -> None:
    """Their chunk was lost, with one element: it is that one, and the others are done or ran elsewhere."""
    words = ["fine"] * 30
    words[3], words[20] = "fail", "die"
    results = list(watched.map(act, words, chunksize=30, return_exceptions=True))
    assert sum(isinstance(result, Exception) for result in results) == 2
    settled(watched)
    assert counted(table(watched)["rows"]) == {"done": 28, "failed": 1, "lost": 1}
    fold = next(group for group in table(watched)["failures"] if group["type"] == "WorkerLostError")
    (lost,) = table(watched, failure=fold["id"])["rows"]
    assert (lost["element"] or 0, lost["state"]) == (fold["elements"][0], "lost")


def test_what_does_not_load_has_no_time_before_its_beginning(watched: Executor) -> None:
    second = [DoesNotLoad() if place == 2 else place for place in range(5)]
    results = list(watched.map(act, ["fine"] * 5, second, chunksize=5, return_exceptions=True))
    assert sum(isinstance(result, Exception) for result in results) == 1
    settled(watched)
    for row in watched.journey_rows():
        stamps = [row[stage] for stage in STAGES if row[stage]]
        assert stamps == sorted(stamps)
    found = counted(table(watched)["rows"])
    assert (found["done"], found["failed"]) == (4, 1)


def test_elements_whose_input_had_failed_are_among_the_failures(watched: Executor) -> None:
    before = watched.submit(act, "fail")
    assert before.exception(SECONDS) is not None
    results = list(watched.map(act, ["fine"] * 3, [1, before, 3], chunksize=1, return_exceptions=True))
    assert isinstance(results[1], cellmill.DependencyError)
    assert [(fold.type, fold.total) for fold in cellmill.failures(cellmill.runs()[-1].id)] == [
        ("DependencyError", 1)
    ]


@pytest.mark.parametrize(
    "name", ["two\nlines", "a\x1b[31mred", "\x00", "tab\tname", "x" * 3000, "o.<locals>.f"]
)
def test_a_name_is_a_line(inline: Executor, name: str) -> None:
    """Whatever a function is called: tables have a line for each run, and terminals are sent no commands."""
    act.__qualname__, before = name, act.__qualname__
    try:
        list(inline.map(act, ["fine"]))
    finally:
        act.__qualname__ = before
    record = cellmill.runs()[-1]
    assert record.name.isprintable()
    assert 0 < len(record.name) <= 200
    runs = cellmill.runs()
    assert len(repr(runs).splitlines()) == len(runs) + 1
    assert repr(cellmill.open_record(record)).isprintable()


def test_times_are_told_in_the_unit_that_they_are_rounded_to() -> None:
    asked = (999.4, 999.6, 999_600, 9.96e6, 999.6e6, 59.6e9, 60e9)
    assert [span(each) for each in asked] == [
        "999 ns",
        "1.0 us",
        "1.0 ms",
        "10 ms",
        "1.0 s",
        "1.0 min",
        "1.0 min",
    ]


class Program:
    """Calls drawn at random, made on one executor, and what became of those whose outcome is known."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.futures: list[Future[Any]] = []

    def run(self, executor: Executor) -> None:
        run_registry.bump_epoch("In[1]")
        maps = []
        for _ in range(self.draw.randint(2, 5)):
            kind = self.draw.choice(["alone", "single", "map", "map", "batch", "pause", "cancel", "resize"])
            options = {"retries": self.draw.choice([0, 0, 1])}
            if kind == "alone":
                self.futures.append(executor.submit(act, self._word()))
            elif kind == "single":
                submit = executor.options(**options).submit
                self.futures += [submit(act, self._word()) for _ in range(self.draw.randint(1, 5))]
            elif kind in ("map", "batch"):
                size = self.draw.choice([None, 1, 3, 20])
                words = [self._word(alone=False) for _ in range(self.draw.choice([1, 7, 30]))]
                several = executor.options(batch=kind == "batch", **options)
                function: Any = act_on_all if kind == "batch" else act
                maps.append(several.map(function, words, chunksize=size, return_exceptions=True))
            elif kind == "pause":
                executor.pause()
            elif kind == "cancel":
                for future in self.futures[::2]:
                    future.cancel()
            else:
                executor.set_workers(self.draw.choice([1, 2, 3]))
        executor.resume()
        for results in maps:
            list(results)
        for future in self.futures:
            try:
                future.exception(SECONDS)
            except CancelledError:
                assert future.cancelled()

    def _word(self, alone: bool = True) -> str:
        often = 1 if alone else 0.3
        return self.draw.choices(["fine", "fail", "boom", "die"], [12, 2, 1, often])[0]


def check(executor: Executor, told: list[cellmill.TaskEnd]) -> None:
    """Every two places agree."""
    stats, rows = executor.stats(), list(executor.journey_rows())
    assert (stats.running, stats.queued, stats.waiting, stats.stopping) == (0, 0, 0, 0)
    final: Counter[str] = Counter(
        OUTCOMES.get(row["status"], "failed") for row in rows if row["status"] != "retried"
    )
    assert (final["succeeded"], final["failed"]) == (stats.succeeded, stats.failed)
    keys = Counter((row["task"] >> 32, row["element"], row["attempt"], row["status"]) for row in rows)
    assert set(keys.values()) <= {1}
    assert Counter((end.task, end.element, end.attempt, end.status) for end in told) == keys
    assert all(end.ran >= 0 and end.queued >= 0 for end in told)
    for row in rows:
        stamps = [row[stage] for stage in STAGES if row[stage]]
        assert stamps == sorted(stamps)
    states = counted(table(executor)["rows"])
    assert states["done"] == stats.succeeded
    assert states["failed"] + states["lost"] == stats.failed
    assert (states["lost"], states["cancelled"]) == (stats.lost, stats.cancelled)
    assert not set(LIVE) & set(states)
    assert sum(fold.total for fold in cellmill.failures(executor=executor)) == stats.failed
    for group in table(executor)["failures"]:
        assert table(executor, failure=group["id"])["matched"] == group["count"]
    check_runs(executor)


def check_runs(executor: Executor) -> None:
    for record in cellmill.runs():
        scope = scope_of(executor, record.id)
        if scope is None:
            continue  # of an executor before
        outcomes = (record.succeeded, record.failed, record.cancelled)
        found = counted(table(executor, run=record.id)["rows"])
        assert (found["done"], found["failed"] + found["lost"], found["cancelled"]) == outcomes
        assert sum(fold.total for fold in cellmill.failures(record.id)) == record.failed
        counts: Any = SCOPED["state-map"](scope).frame(executor)
        counts = counts["counts"]
        assert (counts["done"], counts["failed"] + counts["lost"], counts["cancelled"]) == outcomes
        account = cellmill.account(record.id, executor)
        assert account.busy + account.overhead + account.idle == pytest.approx(account.wall * account.workers)


def one_program(executor: Executor, seed: int) -> None:
    told: list[cellmill.TaskEnd] = []
    stop = cellmill.on_task(told.append)
    program = Program(seed)
    program.run(executor)
    settled(executor)
    stop()
    check(executor, told)
    for future in program.futures:
        assert in_words(questions_of(executor), future._ticket).startswith("It ")
        assert cellmill.why(future).startswith("It does not wait")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [1, 8, 22, 31])
def test_every_two_places_agree(watched: Executor, seed: int) -> None:
    one_program(watched, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_every_two_places_agree_often(watched: Executor, seed: int) -> None:
    one_program(watched, seed)
