"""A folder of records within a bound: the oldest go, but for those with a name and those that are written."""

from __future__ import annotations

from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.records import recorder
from cellmill.records.trimming import trim
from tests.support import tasks


def sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in sorted(folder.glob("*.cellmill"))]


def record(pool: Executor, folder: Path, runs: int, limit: int | str | None = None) -> None:
    recording = cellmill.record(f"{folder}/", limit=limit)
    assert isinstance(recording, cellmill.RunRecorder)
    with recording:
        for _ in range(runs):
            list(pool.map(tasks.double, range(2000), chunksize=1))


def test_the_oldest_go_and_named_ones_stay(pool: Executor, tmp_path: Path) -> None:
    record(pool, tmp_path, 5)
    first, second, *others = cellmill.runs(tmp_path)
    cellmill.open_record(first).rename("the baseline")
    kept = sum(sizes(tmp_path)) - 1
    assert trim(tmp_path, kept) == 1
    assert [run.path for run in cellmill.runs(tmp_path)] == [first.path, *(run.path for run in others)]
    assert second.path is not None
    assert not second.path.exists()
    assert trim(tmp_path, 1) == 3
    assert [run.label for run in cellmill.runs(tmp_path)] == ["the baseline"]


def test_a_recording_stays_within_its_limit_and_says_so(pool: Executor, tmp_path: Path) -> None:
    record(pool, tmp_path / "one", 1)
    (size,) = sizes(tmp_path / "one")
    with pytest.warns(RuntimeWarning, match=r"the oldest records in .* go, as there are more than"):
        record(pool, tmp_path / "some", 6, limit=3 * size)
    assert 1 <= len(sizes(tmp_path / "some")) <= 4
    assert sum(sizes(tmp_path / "some")) <= 3.5 * size


def test_what_is_still_written_and_other_versions_stay(pool: Executor, tmp_path: Path) -> None:
    record(pool, tmp_path, 3)
    going, foreign, whole = sorted(tmp_path.glob("*.cellmill"))
    data = going.read_bytes()
    going.write_bytes(data[: data.index(b"}") + 1])  # its first frame alone; this process lives
    foreign.write_bytes(b"cellmill record 99\n" + bytes(100))
    assert trim(tmp_path, 1) == 1
    assert [path.exists() for path in (going, foreign, whole)] == [True, True, False]


def test_the_usual_folder_has_a_limit_and_a_named_one_has_none(
    pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("CELLMILL_RECORD", raising=False)
    with recorder.start(None) as usual:
        assert usual.limit == recorder.USUAL_LIMIT
    with recorder.start(tmp_path / "mine") as named:
        assert named.limit is None
    monkeypatch.setenv("CELLMILL_RECORD", str(tmp_path / "set"))
    with recorder.start(None) as by_setting:
        assert by_setting.limit is None
    with pytest.raises(UsageError, match="limit must be a number of bytes"):
        cellmill.record(f"{tmp_path}/", limit="much")
