"""The sections of the timeline and the journey, and the answer to a zoom: with real workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill.errors import UsageError
from cellmill.telemetry import schema
from cellmill.views import commands
from cellmill.views.sections.journey import JourneySection
from cellmill.views.sections.timeline import TimelineSection
from cellmill.views.sections.work_fold import INTERVALS, SPAN
from tests.telemetry.work import double, wait_for

WAIT = 60
NAMES = ("start", "end", "ticket", "count", "failed", "cut", "worker", "running")


@pytest.fixture
def executor(default: cellmill.Executor) -> cellmill.Executor:
    return default


def spans(data: bytes) -> list[dict[str, Any]]:
    return [dict(zip(NAMES, row, strict=False)) for row in SPAN.iter_unpack(data)]


def until(ask: Callable[[], Any]) -> Any:
    """What `ask` says once it says anything."""
    deadline = time.monotonic() + WAIT
    while not (found := ask()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
    return found


def collected(section: TimelineSection, executor: cellmill.Executor, tasks: int) -> list[schema.Timeline]:
    """Its frames until they hold so many tasks."""
    frames: list[schema.Timeline] = []

    def enough() -> bool:
        frame = section.frame(executor)
        if frame is not None:
            frames.append(frame)
        return bool(frames) and frames[-1]["tasks"] >= tasks

    until(enough)
    return frames


def test_each_task_is_a_span_with_its_function(executor: cellmill.Executor) -> None:
    futures = [executor.submit(double, x) for x in range(20)]
    assert sum(f.exception(WAIT) is not None for f in futures) == 1
    section = TimelineSection()
    frames = collected(section, executor, 20)
    found = [span for frame in frames for span in spans(frame["spans"])]
    assert len(found) == 20
    assert sum(span["count"] for span in found) == 20
    assert sum(span["failed"] for span in found) == 1
    assert all(0 < span["start"] <= span["end"] <= time.monotonic_ns() for span in found)
    assert {span["worker"] for span in found} <= set(frames[-1]["workers"])
    assert [name["name"] for frame in frames for name in frame["names"]] == ["double"]
    assert frames[0]["follows"] == 0
    assert section.frame(executor) is None  # nothing new


def test_only_changes_follow_until_a_view_joins(executor: cellmill.Executor) -> None:
    section = TimelineSection()
    executor.submit(double, 1).result(WAIT)
    first = collected(section, executor, 1)[-1]
    executor.submit(double, 2).result(WAIT)
    second = collected(section, executor, 2)[-1]
    assert second["follows"] == first["number"]
    assert len(spans(second["spans"])) == 1
    assert second["names"] == []
    section.restart()
    whole = section.frame(executor)
    assert whole is not None
    assert whole["follows"] == 0
    assert len(spans(whole["spans"])) == 2
    assert whole["names"] == first["names"]


def test_functions_keep_their_colours_for_views_that_come_later(executor: cellmill.Executor) -> None:
    section = TimelineSection()
    executor.submit(abs, -1).result(WAIT)
    first = collected(section, executor, 1)[-1]["names"]
    executor.submit(double, 1).result(WAIT)
    then = collected(section, executor, 2)[-1]["names"]
    late = TimelineSection()
    names = [name for frame in collected(late, executor, 2) for name in frame["names"]]
    assert sorted(names, key=lambda one: one["number"]) == sorted(
        [*first, *then], key=lambda one: one["number"]
    )
    assert len({name["colour"] for name in names}) == 2


def test_what_runs_is_an_open_span_that_grows(executor: cellmill.Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    future = executor.submit(wait_for, str(gate))
    section = TimelineSection()

    def running() -> dict[str, Any] | None:
        frame = section.frame(executor)
        found = spans(frame["running"]) if frame is not None else []
        return found[0] if found else None

    first = until(running)
    later = until(lambda: (now := running()) is not None and now["end"] > first["end"] and now)
    assert later["start"] == first["start"]
    assert later["ticket"] == first["ticket"]
    assert later["running"] == 1
    gate.touch()
    future.result(WAIT)
    last = collected(section, executor, 1)[-1]
    until(lambda: not spans(last["running"]) or section.frame(executor))


def test_a_new_piece_of_work_starts_anew(executor: cellmill.Executor) -> None:
    timeline, journey = TimelineSection(), JourneySection()
    executor.submit(double, 1).result(WAIT)
    collected(timeline, executor, 1)
    work = (7, time.monotonic())
    for section in (timeline, journey):
        section.begin(work)
    executor.submit(abs, -4).result(WAIT)
    frame = collected(timeline, executor, 1)[-1]
    assert frame["work"] == 7
    assert frame["tasks"] == 1
    table = until(lambda: (got := journey.frame(executor)) and got["tasks"] and got)
    assert [function["name"] for function in table["functions"]] == ["abs"]


def test_the_journey_has_the_figures_of_the_rows(executor: cellmill.Executor) -> None:
    for f in [executor.submit(double, x) for x in range(10, 310)]:
        f.result(WAIT)
    section = JourneySection()
    frame = until(lambda: (got := section.frame(executor)) and got["tasks"] == 300 and got)
    (function,) = frame["functions"]
    rows = [row for row in executor.journey_rows() if row["resolved"]]
    assert len(rows) == function["tasks"] == 300
    for place, (begin, end) in enumerate(zip(schema.STAGES, schema.STAGES[1:], strict=False)):
        exact = sorted((row[end] - row[begin]) / 1e9 for row in rows)
        figures = function["intervals"][place]
        assert figures["known"] == 300
        assert figures["total"] == pytest.approx(sum(exact), abs=1e-6)
        for share, name in ((0.5, "median"), (0.95, "p95"), (0.99, "p99")):
            value = exact[int(share * 300) - 1]
            assert value / 1.14 - 2e-9 <= figures[name] <= value * 1.14 + 2e-9  # type: ignore[literal-required]
    assert function["intervals"][INTERVALS.index("beside")]["known"] == 0


def test_a_flood_stays_within_its_frame(executor: cellmill.Executor) -> None:
    for f in [executor.submit(abs, x) for x in range(20_000)]:
        f.result(WAIT)
    section = TimelineSection()
    frames = collected(section, executor, 20_000)
    assert all(len(spans(frame["spans"])) <= 1000 for frame in frames)
    section.restart()
    whole = section.frame(executor)
    assert whole is not None
    assert whole["threshold"] > 0
    assert (
        sum(span["count"] for span in spans(whole["spans"])) == 20_000 - whole["sampled"] or whole["sampled"]
    )


def ask(**more: Any) -> Any:
    command = {"cellmill": schema.VERSION, "kind": "zoom-timeline", **more}
    return commands.obey(command, cellmill.peek_default_executor())


def test_a_zoom_answers_with_the_tasks_of_the_window(executor: cellmill.Executor) -> None:
    executor.submit(double, 1).result(WAIT)
    middle = time.monotonic()
    executor.submit(double, 2).result(WAIT)
    until(lambda: len(spans(ask(request=4, start=0, end=1e9)["spans"])) == 2)
    answer = ask(request=5, start=middle, end=1e9)
    assert answer["request"] == 5
    assert answer["found"] == 1
    (span,) = spans(answer["spans"])
    assert span["start"] >= middle * 1e9 - 1e3
    assert [name["name"] for name in answer["names"]] == ["double"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"request": 1, "start": 2, "end": 1},
        {"request": 1, "start": "0", "end": 1},
        {"request": 1, "start": float("nan"), "end": 1},
        {"request": 1, "start": 0},
        {"request": True, "start": 0, "end": 1},
        {"request": -1, "start": 0, "end": 1},
    ],
)
def test_a_senseless_zoom_is_refused(executor: cellmill.Executor, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ask(**wrong)


def test_a_backend_without_journeys_says_so() -> None:
    before = cellmill.peek_default_executor()
    with cellmill.Executor(backend="inline") as inline:
        cellmill.set_default_executor(inline)
        timeline, journey = TimelineSection(), JourneySection()
        frame, table = timeline.frame(inline), journey.frame(inline)
        assert frame is not None
        assert table is not None
        assert frame["known"] is table["known"] is False
        assert timeline.frame(inline) is None
        assert journey.frame(inline) is None
        with pytest.raises(UsageError, match="inline"):
            ask(request=1, start=0, end=1)
    cellmill.set_default_executor(before)
