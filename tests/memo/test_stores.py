"""Where results are kept: bounds, what is damaged, what others could have written."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cellmill import UsageError
from cellmill.memo.checkpoints import CheckpointStore
from cellmill.memo.stores import FileStore, Held, MemoryStore, Store

InFile = Callable[[], FileStore]


def kept(store: Store, digest: bytes) -> bytes | None:
    return store.get([digest]).get(digest)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "results"


@pytest.fixture(params=["results", "checkpoint"])
def in_file(path: Path, request: pytest.FixtureRequest) -> InFile:
    """Open the file."""
    return lambda: FileStore(path, None) if request.param == "results" else CheckpointStore(path)


def test_all_kinds_hold_results_by_function(path: Path) -> None:
    for store in MemoryStore(), FileStore(path, None), CheckpointStore(path.parent / "checkpoint"):
        store.put(b"1", "f", b"one")
        store.put(b"2", "g", b"two!")
        store.put(b"1", "f", b"uno")
        assert (kept(store, b"1"), kept(store, b"3")) == (b"uno", None)
        assert (store.held(), store.held("g")) == (Held(2, 7), Held(1, 4))
        assert store.functions() == ["f", "g"]
        assert store.clear("f") == 1
        assert (kept(store, b"1"), kept(store, b"2")) == (None, b"two!")
        assert store.clear() == 1
        assert store.held() == (0, 0)


def test_what_was_not_used_for_longest_goes_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("cellmill.memo.stores.time.time", lambda: clock[0])
    for store in MemoryStore(250), FileStore(path, 250):
        for key in b"a", b"b":
            clock[0] += 100
            store.put(key, "f", bytes(100))
        store.write()
        clock[0] += 100
        assert kept(store, b"a") is not None
        clock[0] += 100
        store.put(b"c", "f", bytes(100))
        store.write()
        store.trim()
        assert [kept(store, key) is not None for key in (b"a", b"b", b"c")] == [True, False, True]


def test_the_file_is_the_users_alone_and_another_store_reads_it(path: Path, in_file: InFile) -> None:
    store = in_file()
    store.put(b"1", "f", b"one")
    store.write()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    other = in_file()
    assert kept(other, b"1") == b"one"
    other.put(b"2", "f", b"two")
    other.write()
    assert kept(store, b"2") == b"two"


def test_many_threads_and_two_stores_share_a_file(path: Path, in_file: InFile) -> None:
    stores = [in_file(), in_file()]

    def fill(number: int) -> None:
        for i in range(100):
            stores[number % 2].put(b"%d %d" % (number, i), "f", b"%d" % i)

    threads = [threading.Thread(target=fill, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stores[1].write()
    assert stores[0].held() == stores[1].held() == (400, sum(len(str(i)) for i in range(100)) * 4)


def test_a_result_that_was_cut_off_counts_as_missing(path: Path, in_file: InFile) -> None:
    store = in_file()
    store.put(b"1", "f", b"whole")
    with sqlite3.connect(path) as base:
        table = "results" if type(store) is FileStore else "blocks"
        base.execute(f"UPDATE {table} SET data=substr(data, 1, 3)")
    assert kept(store, b"1") is None
    store.put(b"1", "f", b"whole")
    assert kept(store, b"1") == b"whole"


def test_a_file_of_another_version_and_one_that_is_none_are_refused(
    path: Path, tmp_path: Path, in_file: InFile
) -> None:
    in_file()
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version=99")
    with pytest.raises(UsageError, match="another version of Cellmill"):
        in_file()
    none = tmp_path / "notes.txt"
    none.write_text("no database " * 100)
    with pytest.raises(UsageError, match=r"results cannot be kept in .*notes\.txt"):
        CheckpointStore(none)
    assert none.read_text() == "no database " * 100
    with pytest.raises(UsageError, match="results cannot be kept in"):
        CheckpointStore(none / "below")


def test_a_folder_that_others_can_write_is_not_read(path: Path, in_file: InFile) -> None:
    path.parent.mkdir(mode=0o700)
    path.parent.chmod(0o777)
    with pytest.raises(UsageError, match="can be written by every user"):
        in_file()


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_not_read(path: Path, in_file: InFile) -> None:
    in_file()
    os.chown(path, 12345, 12345)
    with pytest.raises(UsageError, match="belongs to another user"):
        in_file()


def test_a_file_that_was_removed_is_made_anew(path: Path, in_file: InFile) -> None:
    store = in_file()
    store.put(b"1", "f", b"one")
    for file in path.parent.iterdir():
        file.unlink()
    assert (store.held(), store.held("f"), store.functions(), store.clear()) == ((0, 0), (0, 0), [], 0)
    assert not path.exists()  # who asks makes none
    assert kept(store, b"1") is None
    store.put(b"2", "f", b"two")
    store.write()
    assert kept(in_file(), b"2") == b"two"


def test_a_closed_file_is_whole_by_itself_and_opened_again(path: Path, in_file: InFile) -> None:
    store = in_file()
    store.put(b"1", "f", b"one")
    store.close()
    assert [*path.parent.iterdir()] == [path]
    shutil.copy(path, path.with_name("copied"))
    assert type(store)(path.with_name("copied"), *[None] * (type(store) is FileStore)).held() == Held(1, 3)
    store.put(b"2", "f", b"two")
    store.write()
    assert (kept(store, b"1"), kept(in_file(), b"2")) == (b"one", b"two")
    store.close()
    path.unlink(missing_ok=True)
    assert kept(store, b"1") is None


def test_a_full_disk_is_said_once_and_loses_nothing(
    path: Path, in_file: InFile, recwarn: pytest.WarningsRecorder
) -> None:
    store = in_file()
    store.put(b"1", "f", b"one")
    (pages,) = store._base.execute("PRAGMA page_count").fetchone()
    store._base.execute(f"PRAGMA max_page_count={pages}")
    for size in 1_000_000, 2_000_000:
        store.put(b"large", "f", bytes(size))
        store.write()
    (said,) = recwarn
    assert re.match(r"results are not kept in .* any more: .*full", str(said.message))
    assert kept(store, b"1") == b"one"
