"""What is made of a run elsewhere: traces, tables and spans have every task with its own stamps."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

import cellmill
from cellmill import BackendError, Executor, UsageError
from cellmill.magics.lines import UsageError as LineError
from cellmill.magics.trace import run_trace
from cellmill.records import thinning, trace
from tests.support import tasks
from tests.support.helpers import SECONDS
from tests.support.waiting import until


@pytest.fixture(scope="module")
def record(pool: Executor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[cellmill.Record]:
    """A map of 600 elements, 60 of which fail."""
    folder = tmp_path_factory.mktemp("runs")
    with cellmill.record(folder):
        list(pool.map(tasks.fails_at_tens, range(600), return_exceptions=True))
    return cellmill.open_record(cellmill.runs(folder)[0])


def read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return found


def test_a_run_of_another_executor_takes_no_rows(fresh: Executor) -> None:
    """Each executor numbers its runs: both of these are the first ones."""
    mine = fresh.options(name="mine")
    assert mine.submit(tasks.double, 1).result(SECONDS) == 2
    with Executor(1) as other:
        assert other.options(name="others").submit(tasks.double, 2).result(SECONDS) == 4
        assert mine.submit(tasks.double, 3).result(SECONDS) == 6
        run = next(each for each in reversed(cellmill.runs()) if each.name == "mine")
        record = cellmill.open_record(run)
    assert (len(record), record.notes) == (
        2,
        [note for note in record.notes if "may still get calls" in note],
    )


def test_what_is_tried_again_is_one_task(pool: Executor, tmp_path: Path) -> None:
    tried = pool.options(retries=1)
    list(tried.map(tasks.fails_at_tens, range(20), chunksize=5, return_exceptions=True))
    run = cellmill.runs()[-1]
    assert len(cellmill.open_record(run)) == 22
    assert cellmill.save_trace(tmp_path / "run.json", run).tasks == run.submitted == 20


def test_a_trace_has_every_task_on_its_worker(record: cellmill.Record, tmp_path: Path) -> None:
    saved = cellmill.save_trace(tmp_path / "run.json", record)
    assert (saved.tasks, saved.note) == (600, "")
    assert saved.path.stat().st_mode & 0o777 == 0o600
    events = read(saved.path)
    slices = [event for event in events if event["ph"] == "X" and event["name"] == "fails_at_tens"]
    rows = list(record.journeys())
    assert [each["args"]["position"] for each in slices] == [row["position"] for row in rows]
    for each, row in zip(slices, rows, strict=True):
        assert each["dur"] == pytest.approx((row["finished"] - row["started"]) / 1e3, abs=0.001)
        assert each["tid"] == row["worker"] + 1
    assert sum(each["cat"] == "failed" for each in slices) == 60
    workers = {f"worker {row['worker']}" for row in rows}
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} >= {*workers, "calls"}
    waiting = [event["args"]["waiting"] for event in events if event["name"] == "tasks"]
    assert max(waiting) > 0 == waiting[-1]


def test_arrows_lead_from_calls_to_workers_and_back(record: cellmill.Record, tmp_path: Path) -> None:
    events = read(cellmill.save_trace(tmp_path / "run.json", record).path)
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    chunks = len({row["task"] for row in record.journeys()})
    assert starts.keys() == ends.keys()
    assert len(starts) == 2 * chunks
    assert all(starts[number]["ts"] <= ends[number]["ts"] for number in starts)
    assert all({starts[number]["pid"], ends[number]["pid"]} == {1, 2} for number in starts)
    begins = {(each["pid"], each["tid"], each["ts"]) for each in events if each["ph"] == "X"}
    assert all(
        (each["pid"], each["tid"], each["ts"]) in begins for each in [*starts.values(), *ends.values()]
    )


def test_a_large_trace_is_thinned_and_says_so(
    record: cellmill.Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "MOST_TASKS", 100)
    saved = cellmill.save_trace(tmp_path / "run.json", record)
    assert saved.tasks <= 100
    assert "Of 600 tasks" in saved.note
    assert "Of 600 tasks" in repr(saved)
    assert saved.note.endswith("Counters are of all.")
    assert "Of 600 tasks" in json.loads(saved.path.read_text())["otherData"]["left out"]
    rows = thinning.chosen(record, 100)
    longest = sorted(record.tuples(), key=lambda row: row[11] - row[12])[:25]  # started, finished
    assert set(longest) <= set(rows)
    assert sum(row[5] == 2 for row in rows) >= 25


def test_cancelled_ones_and_attempts_are_not_taken_for_failed_ones(fresh: Executor) -> None:
    fresh.pause()
    for future in [fresh.options(name="several").submit(tasks.double, n) for n in range(60)]:
        future.cancel()
    fresh.resume()
    several = fresh.options(name="several", retries=1)
    made = [several.submit(tasks.fails_at_tens, n) for n in (1, 2, 3, 10, 20)]
    assert sum(future.exception(SECONDS) is not None for future in made) == 2
    run = next(each for each in reversed(cellmill.runs()) if each.name == "several")
    until(lambda: len(cellmill.open_record(run)) == 67)
    found = cellmill.open_record(run)
    rows = thinning.chosen(found, 12)
    assert sum(row[5] == 2 for row in rows) == 2
    assert thinning.sentence(found, 12).startswith("Of 67 attempts at 65 tasks 12 are in it")


def test_a_disk_that_is_full_leaves_the_older_trace(
    record: cellmill.Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    path.write_text("before")

    def full(*_: Any) -> Iterator[Any]:
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(trace, "_counters", full)
    with pytest.raises(OSError, match="No space"):
        cellmill.save_trace(path, record)
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]
    assert path.read_text() == "before"


def test_the_magic(record: cellmill.Record, tmp_path: Path) -> None:
    saved = run_trace(f"save {tmp_path}/run.json {record.path}")
    assert "ui.perfetto.dev" in repr(saved)
    for wrong in ("", "run.json", "save", f"save {tmp_path}/run.json 987654", "save a b c"):
        with pytest.raises(LineError):
            run_trace(wrong)


def test_tables_have_the_same_rows(record: cellmill.Record, tmp_path: Path) -> None:
    frame = cellmill.journeys(record)
    rows = list(record.journeys())
    for name in rows[0]:
        assert [None if value is pandas.NA else value for value in frame[name].tolist()] == [
            row[name] for row in rows
        ]
    with cellmill.save_journeys(tmp_path / "run.csv", record).open() as file:
        told = list(csv.DictReader(file))
    assert told == [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in rows
    ]
    again = pandas.read_parquet(cellmill.save_journeys(tmp_path / "run.parquet", record))
    assert again["started"].tolist() == frame["started"].tolist()
    assert again["status"].tolist() == frame["status"].tolist()
    with pytest.raises(UsageError, match="neither"):
        cellmill.save_journeys(tmp_path / "run.xlsx", record)


def test_of_a_run_only_its_own_tasks(pool: Executor) -> None:
    for number in (1, 2, 3):
        list(pool.map(tasks.double, range(10 * number)))
    frames = [cellmill.journeys(run) for run in cellmill.runs()[-3:]]
    assert [len(frame) for frame in frames] == [10, 20, 30]  # their numbers in the scheduler are the same


def test_spans_are_tasks_below_their_run(record: cellmill.Record) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    told = cellmill.export_spans(record, provider=provider)
    *spans, run = kept.get_finished_spans()
    assert (told.tasks, told.note, len(spans)) == (600, "", 600)
    assert {span.parent.span_id for span in spans if span.parent is not None} == {run.context.span_id}
    assert sum(not span.status.is_ok for span in spans) == 60
    shift = record.head["wall_clock_ns"] - record.began_ns
    assert [span.start_time for span in spans] == [row["started"] + shift for row in record.journeys()]
    note = cellmill.export_spans(record, provider=provider, most=50).note
    assert "Of 600 tasks" in note
    assert "Counters" not in note  # spans have none
    with pytest.raises(UsageError, match="no tracer provider"):
        cellmill.export_spans(record)


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("pandas", lambda record, path: cellmill.journeys(record)),
        ("pyarrow", lambda record, path: cellmill.save_journeys(path / "x.parquet", record)),
        ("opentelemetry.sdk.trace", lambda record, path: cellmill.export_spans(record)),
    ],
)
def test_what_is_not_installed_is_named(
    record: cellmill.Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, call: Any
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendError, match=r"pip install 'cellmill\[export\]'"):
        call(record, tmp_path)
