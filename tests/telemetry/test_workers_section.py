"""What each worker does and takes, of real pools."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor, UsageError, WorkerLostError, set_default_executor
from cellmill.telemetry import schema
from cellmill.views import commands
from cellmill.views.sections.workers import WorkersSection
from tests.telemetry.work import end, spin

SECONDS = 60
MEGABYTE = 1 << 20


@pytest.fixture
def executor() -> Iterator[Executor]:
    with Executor(2) as made:
        set_default_executor(made)
        yield made
        set_default_executor(None)


def until(section: WorkersSection, executor: Executor, holds: Any) -> Any:
    deadline = time.monotonic() + SECONDS
    frame: Any = None
    while True:
        frame = section.frame(executor) or frame
        if frame is not None and holds(frame):
            return frame
        assert time.monotonic() < deadline, frame
        time.sleep(0.1)  # the pace of looks; processor time counts in steps of 10 ms


def test_a_busy_worker_and_an_idle_one(executor: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    section = WorkersSection()
    future = executor.submit(spin, str(gate))
    frame = until(
        section,
        executor,
        lambda f: (
            [w for w in f["workers"] if w["cpu"] and (w["memory"] or 0) > 40 * MEGABYTE]
            and len(f["workers"]) == 2
            and "starting" not in {w["state"] for w in f["workers"]}
        ),
    )
    busy = next(w for w in frame["workers"] if w["function"])
    idle = next(w for w in frame["workers"] if w is not busy)
    assert (busy["function"], busy["state"], busy["task"]) == ("spin", "busy", str(future._ticket))
    assert busy["seconds"] >= 0
    assert busy["element"] is None
    assert 0 < busy["cpu"] < 3
    assert (idle["state"], idle["function"], idle["seconds"]) == ("idle", None, None)
    assert frame["machine"]["pid"] == os.getpid()
    assert 0 < frame["machine"]["free"] <= frame["machine"]["memory"]
    assert frame["machine"]["used"] > MEGABYTE
    gate.touch()
    assert future.result(SECONDS) > 0


def test_elements_of_a_map_are_named(executor: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    results = executor.map(spin, [str(gate)] * 4, chunksize=4)
    frame = until(WorkersSection(), executor, lambda f: [w for w in f["workers"] if w["element"] is not None])
    assert 0 in [w["element"] for w in frame["workers"]]
    gate.touch()
    assert len(list(results)) == 4


def test_why_a_worker_ended(executor: Executor) -> None:
    with pytest.raises(WorkerLostError):
        executor.submit(end).result(SECONDS)
    section = WorkersSection()
    frame = until(section, executor, lambda f: f["ends"] and f["restarts"])
    (found,) = frame["ends"]
    assert "SIGKILL" in found["how"]
    assert found["memory"] > MEGABYTE


def test_a_worker_is_replaced_when_asked(executor: Executor) -> None:
    section = WorkersSection()
    frame = until(section, executor, lambda f: [w["state"] for w in f["workers"]] == ["idle"] * 2)
    before = {w["pid"] for w in frame["workers"]}
    place = frame["workers"][0]["index"]
    command = {"cellmill": schema.VERSION, "kind": "replace-worker", "worker": place}
    assert commands.obey(command, executor) is None
    frame = until(
        section,
        executor,
        lambda f: (
            len({w["pid"] for w in f["workers"] if w["state"] == "idle"} & before) == 1
            and len(f["workers"]) == 2
            and all(w["state"] == "idle" for w in f["workers"])
        ),
    )
    assert not frame["ends"]  # it was asked to
    with pytest.raises(UsageError, match="gone"):
        commands.obey({**command, "worker": 99}, executor)


def test_inline_has_no_workers() -> None:
    with Executor(backend="inline") as inline:
        frame = WorkersSection().frame(inline)
    assert frame is not None
    assert (frame["workers"], frame["machine"]) == ([], None)
