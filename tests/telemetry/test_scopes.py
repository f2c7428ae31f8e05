"""Views of one run beside others: what each scope tells adds up to what is told of all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.errors import UsageError
from cellmill.telemetry import schema
from cellmill.telemetry.progress import ProgressFold
from cellmill.views import commands
from cellmill.views.samples import take_run_samples, take_sample
from cellmill.views.scope import Scope, scope_of
from cellmill.views.section_set import MOST_RUNS, SectionSet, check, wishes_of
from cellmill.views.sections import SCOPED
from tests.support.waiting import until

WAIT = 60
STATES = ("unknown", "waiting", "queued", "running", "done", "failed", "cancelled", "lost")


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """A default executor of two workers."""
    before = cellmill.peek_default_executor()
    with Executor(2) as made:
        cellmill.set_default_executor(made)
        yield made
    cellmill.set_default_executor(before)
    run_registry.bump_epoch()


@cellmill.parallel
def even(x: int) -> int:
    if x % 10 == 0:
        raise ValueError("a ten")
    return x


@cellmill.parallel
def odd(x: int, gate: str = "") -> int:
    while gate and not Path(gate).exists():
        time.sleep(0.005)
    if x % 15 == 0:
        raise KeyError("a fifteen")
    return x


def unpack(packed: bytes) -> list[str]:
    out, at = bytearray(), 0
    while at < len(packed):
        head = packed[at]
        out += packed[at + 1 : at + head + 2] if head < 128 else packed[at + 1 : at + 2] * (257 - head)
        at += head + 2 if head < 128 else 2
    return [STATES[cell] for cell in out]


def frame_of(executor: Executor, name: str, scope: Scope) -> Any:
    return SCOPED[name](scope).frame(executor)


def two_runs(executor: Executor, path: str = "") -> tuple[Scope, Scope, list[Any]]:
    """Calls of two functions that take turns, each function's as one run."""
    run_registry.bump_epoch("In[7]")
    futures: list[Any] = []
    for x in range(60):
        futures += [even(x), odd(x, path)]
    found = [run for run in cellmill.runs() if run.name in ("even", "odd")][-2:]
    scopes = [scope_of(executor, run.id) for run in found]
    assert scopes[0] is not None
    assert scopes[1] is not None
    return scopes[0], scopes[1], futures


def settle(futures: list[Any]) -> None:
    for future in futures:
        future.exception(WAIT)


def test_two_runs_that_take_turns_add_up(pool: Executor) -> None:
    first, second, futures = two_runs(pool)
    settle(futures)
    counted = [frame_of(pool, "counters", scope)["counts"] for scope in (first, second)]
    assert [(c["total"], c["done"], c["failed"], c["queued"]) for c in counted] == [
        (60, 60, 6, 0),
        (60, 60, 4, 0),
    ]

    maps = [frame_of(pool, "state-map", scope) for scope in (first, second)]
    for scope, frame, bad in zip((first, second), maps, (10, 15), strict=True):
        assert (frame["run"], frame["origin"], frame["start"], frame["end"]) == (scope.run, 0, 0, 60)
        assert unpack(frame["cells"]) == ["failed" if x % bad == 0 else "done" for x in range(60)]

    for name, scope in (("even", first), ("odd", second)):
        journey = until(
            lambda scope=scope: (f := frame_of(pool, "journey", scope)) and f["tasks"] == 60 and f
        )
        assert [one["name"] for one in journey["functions"]] == [name]
        assert journey["account"]["tasks"] == 60
        timeline = frame_of(pool, "timeline", scope)
        assert timeline["tasks"] == 60
        assert {one["name"] for one in timeline["names"]} == {name}


def test_a_runs_graph_has_its_tasks_and_their_neighbours(pool: Executor) -> None:
    run_registry.bump_epoch("In[8]")
    inner = [even(x) for x in range(1, 4)]
    outer = [odd(future) for future in inner]
    settle(outer)
    by_name = {run.name: scope_of(pool, run.id) for run in cellmill.runs()[-2:]}
    for name in ("even", "odd"):
        scope = by_name[name]
        assert scope is not None
        graph = frame_of(pool, "graph", scope)
        assert (graph["run"], graph["tasks"], graph["own"], graph["dependencies"]) == (scope.run, 6, 3, 3)
    run_registry.bump_epoch("In[9]")
    settle([even(1)])
    alone = scope_of(pool, cellmill.runs()[-1].id)
    assert alone is not None
    assert frame_of(pool, "graph", alone)["tasks"] == 0


def test_only_the_tasks_of_a_run_are_listed(pool: Executor) -> None:
    first, second, futures = two_runs(pool)
    settle(futures)

    def listed(run: int | None, failure: int | None = None) -> Any:
        command = {
            "cellmill": schema.VERSION,
            "kind": "list-tasks",
            "request": 1,
            "states": [],
            "order": "oldest",
            "text": "",
            "run": run,
            "failure": failure,
            "offset": 0,
            "count": 100,
        }
        return commands.obey(command, pool)

    def whole() -> Any:
        found = listed(first.run)
        return found if found["matched"] == 60 else None

    found = until(whole)
    assert {row["function"] for row in found["rows"]} == {"even"}
    assert [(group["type"], group["count"]) for group in found["failures"]] == [("ValueError", 6)]
    # A fold leads to exactly its own tasks.
    group = found["failures"][0]["id"]
    failed = until(lambda: (f := listed(first.run, group)) and f["matched"] == 6 and f)
    assert {(row["function"], row["state"]) for row in failed["rows"]} == {("even", "failed")}
    assert listed(second.run, group)["matched"] == 0
    assert listed(None, group)["matched"] >= 6
    # A place in a run's map leads to its task.
    command = {
        "cellmill": schema.VERSION,
        "kind": "show-task",
        "request": 1,
        "task": "",
        "element": None,
        "position": 7,
        "run": second.run,
    }
    shown: Any = commands.obey(command, pool)
    assert shown["task"] == str(futures[2 * 7 + 1]._ticket)


def test_a_run_tells_its_counters_while_it_goes_on(pool: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first, second, futures = two_runs(pool, str(gate))
    fold = ProgressFold()

    def look(at: float) -> None:
        fold.snapshot(replace(take_sample(pool), time=second.began + at), take_run_samples(pool))

    def running() -> Any:
        frame = frame_of(pool, "counters", second)
        return frame if frame["counts"]["running"] == 2 else None

    look(0)
    until(running)
    futures.append(even(1))  # queued: both workers are held
    frame = until(running)
    look(1)
    assert frame["counts"]["done"] < frame["counts"]["total"] == 60
    assert frame["left"] is None, "others run too"
    assert frame_of(pool, "timeline", first)["running"] == b""
    assert len(frame_of(pool, "timeline", second)["running"]) == 2 * 64
    gate.touch()
    settle(futures)
    look(2)
    course = fold.course_of(second.run, second.began)
    assert course is not None
    assert course["ran"][-1] == 60
    assert max(course["running"]) == 2
    ended = until(lambda: (f := frame_of(pool, "counters", second)) and f["counts"]["done"] == 60 and f)
    assert ended["elapsed"] < time.monotonic() - second.began


def test_the_list_of_runs_tells_what_changed(pool: Executor) -> None:
    from cellmill.views.sections.runs import RunsSection

    section = RunsSection()
    run_registry.bump_epoch("In[11]")
    settle([even(1)])
    first = section.frame(pool)
    assert first is not None
    last = first["runs"][-1]
    assert (last["cell"], last["name"], last["submitted"], last["kept"]) == ("In[11]", "even", 1, True)
    run_registry.bump_epoch("In[12]")
    settle([odd(1), odd(2)])
    news = until(lambda: (f := section.frame(pool)) and f["runs"][-1]["succeeded"] == 2 and f)
    assert news["runs"][-1]["cell"] == "In[12]"
    assert len(news["runs"]) < len(first["runs"]) + 1


def test_the_wall_time_of_calls_ends_with_the_last_one(pool: Executor) -> None:
    run_registry.bump_epoch("In[13]")
    settle([even(1)])
    run = cellmill.runs()[-1]
    assert run.succeeded == 1
    wall = until(lambda: cellmill.runs()[-1].wall)
    run_registry.bump_epoch("In[14]")
    assert cellmill.runs()[-1].wall == wall


def test_records_that_are_gone_are_said_to_be() -> None:
    before = cellmill.peek_default_executor()
    with Executor(1) as earlier:
        cellmill.set_default_executor(earlier)
        run_registry.bump_epoch("In[20]")
        settle([even(1)])
        run = cellmill.runs()[-1].id
    with Executor(1) as later:
        cellmill.set_default_executor(later)
        assert scope_of(later, run) is None
        sections = SectionSet(ProgressFold())
        assert list(sections.frames(frozenset({("timeline", run)}), later, 0.0)) == []
        command = {"cellmill": schema.VERSION, "kind": "zoom-map", "request": 1, "start": 0, "end": 9}
        with pytest.raises(UsageError, match="records of that run's tasks are gone"):
            commands.obey({**command, "run": run}, later)
    cellmill.set_default_executor(before)


def test_a_view_may_watch_runs_by_themselves_but_not_any_number() -> None:
    scopes = [{"run": 4, "sections": ["counters", "timeline", "workers"]}]
    command = {"sections": ["workers", "nonsense"], "scopes": scopes}
    assert wishes_of(command) == {("workers", None), ("counters", 4), ("timeline", 4)}
    check({("counters", run) for run in range(MOST_RUNS)})
    with pytest.raises(UsageError, match="choose all tasks in one"):
        check({("counters", run) for run in range(MOST_RUNS + 1)})
    assert Counter(name for name, _ in wishes_of({"sections": ["graph"]})) == {"graph": 1}
