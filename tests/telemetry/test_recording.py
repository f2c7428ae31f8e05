"""Recorded runs: what was sent is in the file, privately, whole up to where it was cut off."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import cellmill
from cellmill import Executor, UsageError, cli, set_default_executor
from cellmill.telemetry import schema
from cellmill.telemetry.journal import MAGIC, JournalFull, JournalWriter, read_journal
from cellmill.views import recording
from tests.support.helpers import run_script
from tests.telemetry.work_told import add, fail

SECONDS = 60
GRAPH: Any = {
    "cellmill": schema.VERSION,
    "kind": "graph-states",
    "structure": 3,
    "states": b"\x03\x04",
    "seconds": b"\0" * 8,
}
HELLO: schema.Hello = {"cellmill": schema.VERSION, "kind": "hello", "release": "1"}


@pytest.fixture
def executor() -> Iterator[Executor]:
    with Executor(2) as made:
        set_default_executor(made)
        yield made
        set_default_executor(None)


def write(path: Path, *frames: Any) -> Path:
    writer = JournalWriter(path, {"release": "1"}, 1 << 20)
    for number, frame in enumerate(frames):
        writer.add(number / 10, frame)
    writer.close()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "run.cellmill", HELLO, GRAPH)
    head, hello, graph = read_journal(path)
    assert head[0]["schema"] == schema.VERSION
    assert hello[0]["frame"] == HELLO
    assert graph[0]["at"] == 0.1
    assert graph[0]["frame"] == {"cellmill": schema.VERSION, "kind": "graph-states", "structure": 3}
    assert graph[1] == [b"\x03\x04", b"\0" * 8]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["run.cellmill"]


def test_a_file_cut_off_anywhere_holds_what_came_before(tmp_path: Path) -> None:
    path = write(tmp_path / "run.cellmill", HELLO, GRAPH, HELLO)
    data = path.read_bytes()
    counts = []
    for end in range(len(MAGIC), len(data) + 1):
        path.write_bytes(data[:end])
        counts.append(len(list(read_journal(path))))
    assert counts == sorted(counts)
    assert (counts[0], counts[-1], counts[-2]) == (0, 4, 3)


def test_no_other_file_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "thesis.tex"
    path.write_text("years")
    with pytest.raises(UsageError, match="no recording"):
        cellmill.record(path)
    assert path.read_text() == "years"
    write(tmp_path / "run.cellmill", HELLO)
    write(tmp_path / "run.cellmill", HELLO, HELLO)
    assert len(list(read_journal(tmp_path / "run.cellmill"))) == 3


def test_what_is_no_journal_or_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "run.cellmill"
    with pytest.raises(UsageError, match="no file"):
        list(read_journal(path))
    path.write_bytes(b"\x00" * 100)
    with pytest.raises(UsageError, match="no recording"):
        list(read_journal(path))
    head = json.dumps({"journal": 99}).encode()
    path.write_bytes(MAGIC + struct.pack("<II", len(head), 0) + head)
    with pytest.raises(UsageError, match="another version"):
        list(read_journal(path))


def test_it_stays_within_its_limit(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "run.cellmill", {}, 2000)
    while writer.written < 1900:
        writer.add(0, HELLO)
    with pytest.raises(JournalFull):
        writer.add(0, {**HELLO, "release": "1" * 100})
    writer.close()
    assert writer.frames > 5
    assert (tmp_path / "run.cellmill").stat().st_size <= 2000
    assert len(list(read_journal(tmp_path / "run.cellmill"))) == writer.frames + 1


def test_a_run_outside_of_a_notebook(executor: Executor, tmp_path: Path) -> None:
    path = tmp_path / "run.cellmill"
    with cellmill.record(path) as recorded:
        future = executor.submit(add, executor.submit(add, 1))
        assert future.result(SECONDS) == 3
        assert "recording" in repr(recorded)
    frames = [head["frame"] for head, _ in read_journal(path) if "frame" in head]
    assert recorded.frames == len(frames)
    assert frames[0]["kind"] == "hello"
    assert {"snapshot", "workers", "graph"} <= {frame["kind"] for frame in frames}
    last = [frame for frame in frames if frame["kind"] == "snapshot"][-1]
    assert last["counts"]["done"] == 2  # the end is in it, however short the run
    graph = [frame for frame in frames if frame["kind"] == "graph"][-1]
    assert graph["tasks"] == 2
    tasks = [frame for frame in frames if frame["kind"] == "task-list"][-1]
    assert (tasks["request"], tasks["matched"]) == (
        0,
        2,
    )  # what the table shows when it opens, which no command asked for
    assert [head["at"] for head, _ in read_journal(path) if "at" in head] == sorted(
        head["at"] for head, _ in read_journal(path) if "at" in head
    )


UNSTOPPED = """
import sys, cellmill
from cellmill.views import pace
pace.INTERVAL = 600  # its thread does not look by then
cellmill.record(sys.argv[1])
if __name__ == "__main__":
    assert list(cellmill.parallel(abs).map(range(7))) == list(range(7))
"""


def test_the_end_of_a_program_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "run.cellmill"
    run_script(tmp_path, UNSTOPPED, str(path))
    frames = [head["frame"] for head, _ in read_journal(path) if "frame" in head]
    last = [frame for frame in frames if frame["kind"] == "snapshot"][-1]
    assert last["counts"]["done"] == 7


def test_one_recording_at_a_time(executor: Executor, tmp_path: Path) -> None:
    first = cellmill.record(tmp_path / "first")
    second = cellmill.record(tmp_path / "second")
    assert "ended" in repr(first)
    assert recording.stop_recording() == [second]
    with pytest.raises(UsageError, match="nothing"):
        recording.stop_recording()
    with pytest.raises(UsageError, match="limit"):
        cellmill.record(tmp_path / "third", limit=10)


def test_a_full_recording_says_so_and_ends(executor: Executor, tmp_path: Path) -> None:
    recorded = cellmill.record(tmp_path / "run", limit=1 << 16)
    large = {**GRAPH, "states": bytes(1 << 17)}
    with pytest.warns(RuntimeWarning, match="ends here"):
        recorded._take(cast(schema.Frame, large))
    assert "limit" in recorded.problem
    recorded.stop()
    assert (tmp_path / "run").stat().st_size <= 1 << 16


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a & <b>.cellmill", HELLO, GRAPH)
    assert cli.main(["replay", str(path)]) == 0
    page = tmp_path / "a & <b>.cellmill.html"
    assert page.as_uri() in capsys.readouterr().out
    text = page.read_text()
    assert "<title>a &amp; &lt;b&gt;.cellmill" in text
    assert text.count("</script>") == 2
    assert page.stat().st_mode & 0o777 == 0o600
    assert cli.main(["replay", str(path), "--html", str(tmp_path / "x.html")]) == 0
    assert cli.main(["replay", str(tmp_path / "none")]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_single_tasks_are_in_it_once_each(executor: Executor, tmp_path: Path) -> None:
    """With their journeys, and what they failed with and printed, since the kernel cannot be asked later."""
    path = tmp_path / "run.cellmill"
    with cellmill.record(path):
        list(executor.map(add, range(50)))
        assert executor.submit(fail, "on purpose").exception(SECONDS) is not None
    records = [
        record
        for head, _ in read_journal(path)
        if head.get("frame", {}).get("kind") == "task-records"
        for record in head["frame"]["records"]
    ]
    last = {(r["row"]["task"], r["row"]["element"], r["row"]["attempt"]): r for r in records}
    # One that was told before its result was taken, which is its last stamp, is told again.
    early = [record for record in records if record["attempt"]["stamps"][-1] < 0]
    assert len(last) == len(records) - len(early) == 51
    assert len({record["position"] for record in last.values()}) == 51
    assert all(sum(stamp >= 0 for stamp in record["attempt"]["stamps"]) == 8 for record in last.values())
    (failed,) = [record for record in last.values() if record["row"]["state"] == "failed"]
    assert (failed["error"], failed["message"]) == ("ValueError", "on purpose")
    assert "in fail" in failed["traceback"]
    assert "about to fail" in failed["output"]
    assert "on purpose" in failed["arguments"]
