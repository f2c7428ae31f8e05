"""Records as files: private, whole up to where they were cut off, named, and clear about what they are not."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.records import folders, form, machine, recorder
from tests.support import tasks

TASKS = 3000


@pytest.fixture(scope="module")
def kept(pool: Executor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of one map."""
    folder = tmp_path_factory.mktemp("records") / "runs"
    with cellmill.record(f"{folder}/"):
        assert sum(pool.map(tasks.double, range(TASKS))) == TASKS * (TASKS - 1)
    (found,) = folder.iterdir()
    return found


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    made = tmp_path / "runs" / kept.name
    made.parent.mkdir()
    made.write_bytes(kept.read_bytes())
    return made


def test_it_is_private(kept: Path) -> None:
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_it_tells_machine_and_clock(kept: Path) -> None:
    head = cellmill.open_record(kept).head
    assert head["boot"] == machine.boot() != ""
    assert (head["clock"], head["pid"], head["backend"]) == ("CLOCK_MONOTONIC", os.getpid(), "local")


def test_a_record_cut_off_anywhere_is_readable_up_to_the_cut(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "is_alive", lambda head: False)  # it was written by this process
    data, whole = copy.read_bytes(), cellmill.open_record(copy)
    first = len(form.MAGIC) + 2
    head = first + 12 + int.from_bytes(data[first + 4 : first + 8], "little")  # where the first frame ends
    seen = []
    for end in sorted({*range(first, len(data), max(1, len(data) // 60)), *range(len(data) - 40, len(data))}):
        copy.write_bytes(data[:end])
        if end < head:
            with pytest.raises(UsageError, match="cut off before anything was written"):
                cellmill.open_record(copy)
            continue
        found = cellmill.open_record(copy)
        assert found.state == "cut off"
        assert "cut off" in found.notes[0]
        assert found.rows == whole.rows[: len(found.rows)]
        seen.append(len(found))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, TASKS)


def test_a_byte_that_was_changed_ends_what_is_read(copy: Path) -> None:
    data = bytearray(copy.read_bytes())
    data[len(data) // 2] ^= 1
    copy.write_bytes(data)
    assert len(cellmill.open_record(copy)) < TASKS


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"years", "no record of a run"),
        (b"cellmill record 99\n", "another version"),
        (b"cellmill record 1\n", "before anything was written"),
    ],
)
def test_what_is_no_record_is_said(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "other.cellmill"
    with pytest.raises(UsageError, match="there is no file"):
        cellmill.open_record(path)
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says):
        cellmill.open_record(path)


def test_one_of_the_version_before_is_read(pool: Executor, tmp_path: Path) -> None:
    """Its rows are those of single tasks: elements of a chunk were not told together."""
    call = cellmill.parallel(executor=pool)(tasks.double)
    with cellmill.record(f"{tmp_path}/"):
        assert [call(n).result() for n in range(50)] == [2 * n for n in range(50)]
    (path,) = tmp_path.iterdir()
    rows, data = cellmill.open_record(path).rows, path.read_bytes()
    assert data.startswith(b"cellmill record 2\n")
    path.write_bytes(data.replace(b"record 2", b"record 1", 1))
    assert cellmill.open_record(path).rows == rows
    assert len(rows) == 50 * 96


def test_one_of_another_version_is_left_out_of_a_list_and_said(copy: Path) -> None:
    (copy.parent / "later.cellmill").write_bytes(b"cellmill record 99\n")
    with pytest.warns(UserWarning, match="another version"):
        (run,) = cellmill.runs(copy.parent)
    assert run.path == copy


def test_one_of_another_machine_is_said(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cellmill.open_record(copy).notes == []
    monkeypatch.setattr(machine, "boot", lambda: "another")
    (note,) = cellmill.open_record(copy).notes
    assert "clock of that machine" in note


def test_it_can_be_named_also_when_it_was_cut_off(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cellmill.open_record(copy).rename("baseline")
    assert cellmill.open_record(copy).label == "baseline"
    assert cellmill.runs(copy.parent)[0].label == "baseline"
    monkeypatch.setattr(machine, "is_alive", lambda head: False)
    copy.write_bytes(copy.read_bytes()[:-5])
    cellmill.open_record(copy).rename("second")
    assert cellmill.open_record(copy).label == "second"
    for wrong in ("", "two\nlines", "x" * 201):
        with pytest.raises(UsageError, match="name is a line"):
            cellmill.open_record(copy).rename(wrong)


def test_a_file_in_the_place_of_a_folder_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "thesis.tex"
    path.write_text("years")
    with pytest.raises(UsageError, match="no folder"):
        recorder.start(path)
    assert path.read_text() == "years"
    with pytest.raises(UsageError, match="there is no folder"):
        cellmill.runs(tmp_path / "none")
    with pytest.raises(
        UsageError, match=r'thesis\.tex is a file: cellmill\.record\(".*thesis\.tex/"\), with /'
    ):
        cellmill.runs(path)


def test_a_full_disk_ends_the_record_and_not_the_run(
    pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = form.FrameWriter._write

    def full(self: form.FrameWriter, data: bytes) -> None:
        if self.size + len(data) > 4000:
            os.write(self._fd, data[:10])  # a part of it still fits
            os.ftruncate(self._fd, self.size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(self, data)

    monkeypatch.setattr(form.FrameWriter, "_write", full)
    with cellmill.record(tmp_path) as recording, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert len(list(pool.map(tasks.double, range(TASKS)))) == TASKS
        recording.flush()
    assert "ends here: " in str(said[0].message)
    assert "No space left" in recording.problem
    (run,) = cellmill.runs(tmp_path)
    assert run.name == "double"


def test_the_usual_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(folders.SETTING, str(tmp_path / "set"))
    assert folders.usual() == tmp_path / "set"
    monkeypatch.delenv(folders.SETTING)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert folders.usual() == tmp_path / "cellmill" / "runs"
