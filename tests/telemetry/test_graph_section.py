"""What hangs on what, of real pools: each task once, each dependency, its state, and groups where there are many."""

from __future__ import annotations

import importlib
import random
import sys
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor, Future, WorkerLostError, run_registry
from cellmill.api import questions_of
from cellmill.views.sections import graph as graph_section
from cellmill.views.sections.graph import GraphSection
from tests.support.helpers import prepend_to_path
from tests.telemetry.work import die, fail, hold, total

WAITING, QUEUED, RUNNING, DONE, FAILED, CANCELLED, SKIPPED, LOST = range(8)
SECONDS = 60


@pytest.fixture
def executor() -> Iterator[Executor]:
    with Executor(2) as made:
        yield made


class Picture:
    """What a view has after the frames so far."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.section = GraphSection()
        self.frame: Any = None
        self.kinds: list[str] = []

    def look(self) -> Picture:
        frame = self.section.frame(self.executor)
        if frame is not None:
            self.kinds.append(frame["kind"])
            if frame["kind"] == "graph-states":
                assert frame["structure"] == self.frame["structure"]
                frame = {**self.frame, "states": frame["states"], "seconds": frame["seconds"]}
            self.frame = frame
        return self

    @property
    def tickets(self) -> list[int]:
        return array("Q", self.frame["tickets"]).tolist()

    @property
    def edges(self) -> list[tuple[int, int]]:
        places = array("H", self.frame["edges"])
        return [(self.tickets[a], self.tickets[b]) for a, b in zip(places[::2], places[1::2], strict=True)]

    def state(self, future: Future) -> int:
        return int(self.frame["states"][self.tickets.index(future._ticket)])

    def function(self, future: Future) -> str:
        place = array("H", self.frame["functions"])[self.tickets.index(future._ticket)]
        return str(self.frame["names"][place])

    def until(self, holds: Callable[[Picture], bool]) -> Picture:
        deadline = time.monotonic() + SECONDS
        while not holds(self.look()):
            assert time.monotonic() < deadline
        return self


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_random_graphs(executor: Executor, seed: int) -> None:
    dice = random.Random(seed)
    picture = Picture(executor)
    futures: list[Future] = []
    wanted: list[tuple[int, int]] = []
    for _ in range(400):
        inputs = dice.sample(futures, min(len(futures), dice.choice([0, 0, 1, 2, 4])))
        half = len(inputs) // 2
        future = executor.submit(total, *inputs[:half], inputs[half:])  # also nested
        wanted += [(one._ticket, future._ticket) for one in inputs]
        futures.append(future)
        if dice.random() < 0.05:
            dice.choice(futures).result(SECONDS)  # inputs that are over, whose values go along
        if dice.random() < 0.01:
            picture.look()
    for future in futures:
        future.result(SECONDS)
    picture.look()
    assert Counter(picture.edges) == Counter(wanted)
    linked = {ticket for edge in wanted for ticket in edge}
    assert len(picture.tickets) == len(linked)
    assert set(picture.tickets) == linked
    assert set(picture.frame["states"]) == {DONE}
    depth = dict(zip(picture.tickets, array("H", picture.frame["depths"]), strict=True))
    inputs_of: dict[int, list[int]] = {}
    for start, end in wanted:
        inputs_of.setdefault(end, []).append(start)
    for ticket, found in depth.items():
        assert found == max((depth[one] + 1 for one in inputs_of.get(ticket, [])), default=0)
    assert {picture.function(f) for f in futures if f._ticket in linked} == {"total"}
    assert picture.section.frame(executor) is None  # nothing is new
    picture.section.restart()
    assert picture.look().kinds[-1] == "graph"  # a view joined


def test_every_state(executor: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    picture = Picture(executor)
    first = executor.submit(hold, str(gate))
    bad = executor.submit(fail, first)
    behind = executor.submit(total, bad)
    cancelled = executor.submit(total, first)
    good = executor.submit(total, first, 5)
    lost = executor.submit(die, first)
    picture.until(lambda p: p.state(first) == RUNNING)
    assert [picture.state(f) for f in (bad, behind, good)] == [WAITING] * 3
    assert cancelled.cancel()
    gate.touch()
    assert good.result(SECONDS) == 7
    assert isinstance(bad.exception(SECONDS), ValueError)
    assert behind.exception(SECONDS) is not None
    assert isinstance(lost.exception(SECONDS), WorkerLostError)
    picture.look()
    assert [picture.state(f) for f in (first, bad, behind, cancelled, good, lost)] == [
        DONE,
        FAILED,
        SKIPPED,
        CANCELLED,
        DONE,
        LOST,
    ]
    assert picture.kinds[-1] == "graph-states"  # the tasks are those that were sent before
    assert picture.function(first) == "hold"
    assert array("f", picture.frame["seconds"])[picture.tickets.index(first._ticket)] > 0


def test_inputs_that_had_failed_before(executor: Executor) -> None:
    """What hangs on them is over at once, and a task like others."""
    bad = executor.submit(fail, 1)
    assert isinstance(bad.exception(SECONDS), ValueError)
    behind = executor.submit(total, bad, "x")
    further = executor.submit(total, 1, [behind])
    assert behind.done()
    assert further.done()
    picture = Picture(executor).look()
    assert picture.edges == [(bad._ticket, behind._ticket), (behind._ticket, further._ticket)]
    assert [picture.state(f) for f in (bad, behind, further)] == [FAILED, SKIPPED, SKIPPED]
    assert picture.function(behind) == "total"
    questions = questions_of(executor)
    rows, count = questions.find(kinds=("not-run",), order="oldest")
    assert count == 2
    assert [row.task for row in rows] == [behind._ticket, further._ticket]
    assert questions.arguments(behind._ticket, None) == "<input 1>, 'x'"
    assert executor.stats().submitted == executor.stats().failed == 3


def test_the_arguments_of_a_few_tasks_are_told(executor: Executor) -> None:
    executor.pause()
    first = executor.submit(total, 3, [1] * 30)
    second = executor.submit(total, first, 5)
    third = executor.submit(total, [first, second], 6)
    executor.resume()
    assert third.result(SECONDS) == 1 + 34 + 40 + 6
    picture = Picture(executor).look()
    told = dict(zip(picture.tickets, picture.frame["arguments"], strict=True))
    assert [told[future._ticket] for future in (second, third)] == ["5", "6"]
    assert told[first._ticket] == f"3, {str([1] * 30)[:36]}…"
    for future in [executor.submit(total, first) for _ in range(graph_section.MOST_LABELLED)]:
        assert future.result(SECONDS) == 35
    assert Picture(executor).look().frame["arguments"] is None


@pytest.mark.parametrize("members", [10, 200, 400, 900])
def test_arguments_are_told_beside_data_of_modules_that_goes_along(
    executor: Executor, members: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "cellmill_test_beside_arguments"
    (tmp_path / f"{name}.py").write_text("class Kind:\n    def use(self): return len(rows)\n")
    prepend_to_path(monkeypatch, tmp_path)
    own = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, own)  # gone afterwards
    own.rows = list(range(members))
    executor.submit(type, own.Kind()).result(SECONDS)
    executor.pause()
    first = executor.submit(total, 3)
    second = executor.submit(total, first, 5)
    executor.resume()
    assert second.result(SECONDS) == 10
    picture = Picture(executor).look()
    assert dict(zip(picture.tickets, picture.frame["arguments"], strict=True))[second._ticket] == "5"


def test_a_new_piece_of_work_begins_anew(executor: Executor) -> None:
    picture = Picture(executor)
    run_registry.bump_epoch()
    first = executor.submit(total, executor.submit(total))
    assert first.result(SECONDS) == 2
    assert len(picture.look().tickets) == 2
    run_registry.bump_epoch()
    assert len(picture.look().tickets) == 2  # a cell without tasks
    run_registry.bump_epoch()
    assert len(Picture(executor).look().tickets) == 2
    second = executor.submit(total, executor.submit(total, first))
    assert second.result(SECONDS) == 4
    assert len(picture.look().tickets) == 3  # with the input from before
    assert first._ticket in picture.tickets
    run_registry.bump_epoch()
    executor.submit(total).result(SECONDS)
    assert picture.look().tickets == []


def test_many_tasks_are_groups(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_section, "MOST_TASKS", 100)
    picture = Picture(executor)
    layers = [[executor.submit(total, i) for i in range(60)]]
    for _ in range(3):
        layers.append([executor.submit(total, one) for one in layers[-1]])
    assert [f.result(SECONDS) for f in layers[-1]] == [4 + i for i in range(60)]
    picture.look()
    frame = picture.frame
    assert frame["folded"]
    assert (frame["tasks"], frame["dependencies"], frame["span"]) == (240, 180, 1)
    counts = array("I", frame["states"])
    depths = array("H", frame["depths"]).tolist()
    assert sorted(depths) == [0, 1, 2, 3]
    assert [counts[state * 4 : state * 4 + 4].tolist() for state in (WAITING, DONE)] == [[0] * 4, [60] * 4]
    links = array("I", frame["edges"]).tolist()
    found = {(depths[a], depths[b]): n for a, b, n in zip(links[::3], links[1::3], links[2::3], strict=True)}
    assert found == dict.fromkeys(pairwise(range(4)), 60)
    monkeypatch.setattr(graph_section, "MOST_GROUPS", 2)
    picture.section.restart()
    assert picture.look().frame["span"] == 2


def test_a_frame_is_small_enough(executor: Executor) -> None:
    futures = [executor.submit(total) for _ in range(1000)]
    for _ in range(3):
        futures += [executor.submit(total, *random.sample(futures, 4)) for _ in range(999)]
    for future in futures:
        future.result(SECONDS)
    frame = Picture(executor).look().frame
    assert not frame["folded"]
    assert sum(len(v) for v in frame.values() if isinstance(v, bytes)) < 130_000


def test_inline_has_none() -> None:
    with Executor(backend="inline") as inline:
        picture = Picture(inline)
        assert inline.submit(total, inline.submit(total)).result() == 2
        assert picture.look().frame["tasks"] == 0
        assert picture.section.frame(inline) is None
