"""Recording runs: what is in a file is what the kernel knew, of each run its own, also when its process is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, cli
from cellmill.records.recorder import RunRecorder
from cellmill.views.played import frames_of
from cellmill.views.terminal import play
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, Program


def rows(record: cellmill.Record) -> list[dict[str, object]]:
    return [{**row, "run": None} for row in record.journeys()]


def test_what_is_recorded_is_what_the_kernel_keeps(pool: Executor, tmp_path: Path) -> None:
    with cellmill.record(tmp_path):
        assert len(list(pool.map(tasks.double, range(2000)))) == 2000
        assert len(list(pool.map(tasks.fails_at_tens, range(300), return_exceptions=True))) == 300
        assert len(list(pool.map(tasks.double, range(50), chunksize=1))) == 50
    ours, kept = cellmill.runs()[-3:], cellmill.runs(tmp_path)
    for here, there in zip(ours, kept, strict=True):
        live, again = cellmill.open_record(here), cellmill.open_record(there)
        assert rows(live) == rows(again)
        assert (again.state, again.missing, again.notes) == ("whole", 0, [])
        assert [getattr(there, name) for name in FIELDS] == [getattr(here, name) for name in FIELDS]
        assert again.failures == live.failures
    assert again.account["tasks"] == 50
    assert [run.failed for run in kept] == [0, 30, 0]
    assert cellmill.open_record(kept[1]).failures[0].count == 30
    assert "2000" not in repr(kept)
    assert "2,000" in repr(kept)
    assert str(kept[0].path.name) in kept._repr_html_()


def test_a_run_within_a_look(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins and ends between two steps of the thread."""
    look, meanwhile = RunRecorder.look, iter([range(3)])

    def look_long(recorder: RunRecorder) -> None:
        look(recorder)
        for numbers in meanwhile:
            assert list(pool.map(abs, numbers)) == [0, 1, 2]

    monkeypatch.setattr(RunRecorder, "look", look_long)
    with cellmill.record(tmp_path) as recording:
        recording.flush()
        recording.flush()
    (run,) = cellmill.runs(tmp_path)
    assert (run.finished, run.succeeded, cellmill.open_record(run).state) == (True, 3, "whole")


def test_a_run_counts_from_its_begin(pool: Executor, tmp_path: Path) -> None:
    with cellmill.record(tmp_path) as recording, recording._look_lock:  # its thread does not come to it
        assert list(pool.map(abs, range(3))) == [0, 1, 2]
        assert ", 1 run, recording" in repr(recording)
    assert recording.count == len(cellmill.runs(tmp_path)) == 1


FIELDS = ("name", "cell", "began", "wall", "finished", "submitted", "succeeded", "failed", "moved", "figures")


def test_records_are_compared_as_runs_are(pool: Executor, tmp_path: Path) -> None:
    with cellmill.record(tmp_path):
        for _ in range(2):
            list(pool.map(tasks.double, range(500)))
    first, second = cellmill.runs(tmp_path)
    cellmill.open_record(first).rename("before the change")
    told = cellmill.compare(first.path, cellmill.open_record(second))
    assert "before the change" in told.sentence
    assert cellmill.compare(first, second).changes[0].before.count == 500


def test_single_calls_are_a_record_that_goes_on(pool: Executor, tmp_path: Path) -> None:
    def doubled(x: int) -> int:  # of its own: calls of one function by several tests are one run
        return 2 * x

    double = cellmill.parallel(doubled)
    cellmill.set_default_executor(pool)
    try:
        with cellmill.record(tmp_path) as recording:
            assert [double(x).result(SECONDS) for x in range(20)][-1] == 38
            (run,) = cellmill.runs(tmp_path)
            assert (run.succeeded, run.finished) == (20, False)
            assert cellmill.open_record(run).state == "goes on"
            assert "1 run" in repr(recording)
        record = cellmill.open_record(run.path)
        assert (record.state, len(record), record.run.succeeded) == ("stopped early", 20, 20)
    finally:
        cellmill.set_default_executor(None)


def test_single_calls_that_had_begun_are_recorded_from_the_next_one(tmp_path: Path) -> None:
    with Executor(2) as executor:
        double = cellmill.parallel(executor=executor)(tasks.double)
        assert [double(x).result(SECONDS) for x in range(30)][-1] == 58
        with cellmill.record(tmp_path):
            assert list(executor.map(tasks.double, range(5)))[-1] == 8
        assert len(cellmill.runs(tmp_path)) == 1  # nothing of the calls, which were over
        with cellmill.record(tmp_path):
            assert [double(x).result(SECONDS) for x in range(20)][-1] == 38
        record = cellmill.open_record(cellmill.runs(tmp_path)[0])
        with cellmill.record(tmp_path) as again:
            assert double(1).result(SECONDS) == 2
        assert (again.problem, len(cellmill.runs(tmp_path))) == ("", 3)
    assert (len(record), record.run.succeeded, record.missing) == (20, 50, 0)
    assert "30 tasks that ended before have no journeys" in " ".join(record.notes)


def test_a_map_that_goes_on_is_taken_in_with_what_is_kept_of_it(tmp_path: Path, gate: Gate) -> None:
    with Executor(2) as executor:
        results = executor.map(partial(tasks.hold, gate.folder), range(40), chunksize=1)
        gate.release(20)
        gate.wait_started(20)
        with cellmill.record(f"{tmp_path}/runs/"):
            gate.release(20)
            assert len(list(results)) == 40
        record = cellmill.open_record(cellmill.runs(tmp_path / "runs")[0])
    assert [row["position"] for row in sorted(record.journeys(), key=lambda row: row["position"])] == list(
        range(40)
    )
    assert record.notes == []


def test_inline_runs_have_counts_and_no_journeys(inline: Executor, tmp_path: Path) -> None:
    with cellmill.record(tmp_path):
        assert list(inline.map(tasks.double, range(9)))[-1] == 16
    (run,) = cellmill.runs(tmp_path)
    assert run.succeeded == 9
    assert "no journeys" in cellmill.open_record(run).notes[0]


def test_threads_are_recorded_too(tmp_path: Path) -> None:
    with Executor(2, backend="threads") as threads, cellmill.record(tmp_path):
        assert list(threads.map(tasks.double, range(100)))[-1] == 198
    (run,) = cellmill.runs(tmp_path)
    assert len(cellmill.open_record(run)) == 100


SETTING = """
import os, sys
os.environ["CELLMILL_RECORD"] = sys.argv[1]
from cellmill import Executor
def f(x): return x
with Executor(2) as ex:
    print(sum(ex.map(f, range(1000))))
"""


def test_the_environment_asks_for_records(script: Callable[..., str], tmp_path: Path) -> None:
    assert script(SETTING, str(tmp_path / "all")) == "499500\n"
    (run,) = cellmill.runs(tmp_path / "all")
    assert (run.name, run.succeeded, run.finished) == ("f", 1000, True)


KILLED = """
import sys, time
import cellmill
from cellmill import Executor
def f(x):
    time.sleep(1e-4)
    return x
ex = Executor(2)
cellmill.record(sys.argv[1])
for value in ex.map(f, range(300_000), chunksize=20):
    if value == 2000:
        print("under way", flush=True)
"""


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_killed_kernel_leaves_what_was_written(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "runs"
    with Program([sys.executable, "-c", KILLED, f"{folder}/"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        least = random.Random(seed).randrange(2000, 40_000)
        deadline = time.monotonic() + SECONDS
        while not (found := list(folder.glob("*"))) or found[0].stat().st_size < least:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    (run,) = cellmill.runs(folder)
    record = cellmill.open_record(run)
    assert record.state == "cut off"
    listed = repr(cellmill.runs(folder))
    assert ", cut off" in listed
    assert "to go" not in listed
    assert "ends before its run did" in str(cellmill.compare(run, run))
    assert least / 40 < len(record) <= run.succeeded  # counts are written a moment after journeys
    assert run.figures is not None
    assert run.figures.tasks == len(record)
    positions = [row["position"] for row in record.journeys()]
    assert len(set(positions)) == len(positions)


def test_the_command_line_lists_and_plays(
    pool: Executor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cellmill.record(tmp_path):
        list(pool.map(tasks.fails_at_tens, range(100), return_exceptions=True))
    assert cli.main(["runs", str(tmp_path)]) == 0
    assert "fails_at_tens" in capsys.readouterr().out
    (run,) = cellmill.runs(tmp_path)
    assert cli.main(["replay", "--terminal", "--speed", "1e6", str(run.path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "100 of 100, 10 failed, 0 running, 0 waiting" in last
    assert cli.main(["runs", str(tmp_path / "none")]) == 1
    assert cli.main(["replay", str(tmp_path)]) == 1
    assert "is a folder" in capsys.readouterr().err


def test_a_record_played_again_tells_lost_and_cancelled_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Executor(1) as executor, cellmill.record(tmp_path):
        list(executor.map(tasks.die, ["SIGKILL"], return_exceptions=True))
        executor.pause()
        results = executor.map(tasks.double, range(10))
        assert cellmill.cancel(cellmill.runs()[-1].id) == 10
        del results
    lost, cancelled = (cellmill.open_record(run) for run in cellmill.runs(tmp_path))
    for record, told in (
        (lost, f"[{'x' * 40}] 1 of 1, 1 failed (1 lost)"),
        (cancelled, f"[{'-' * 40}] 10 of 10, 10 cancelled"),
    ):
        play(record, 1e6, sys.stdout, lambda _: None)
        assert told in capsys.readouterr().out.splitlines()[-1]
    assert [frame for _, frame in frames_of(lost) if frame["kind"] == "snapshot"][-1]["counts"]["lost"] == 1


def test_a_terminal_plays_at_any_speed(
    pool: Executor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cellmill.record(tmp_path):
        list(pool.map(tasks.double, range(100)))
    record = cellmill.open_record(cellmill.runs(tmp_path)[0])
    slept: list[float] = []
    play(record, 1e-5, sys.stdout, slept.append)
    assert len(slept) == 20
    assert sum(slept) == pytest.approx(1e5 * _length(record), rel=0.01)


def _length(record: cellmill.Record) -> float:
    stamps = [(row["submitted"], row["finished"]) for row in record.journeys()]
    return (max(end for _, end in stamps) - min(start for start, _ in stamps)) / 1e9
