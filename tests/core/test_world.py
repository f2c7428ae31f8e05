"""What tasks see of the kernel's surroundings."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from cellmill import Executor
from tests.core import tasks


def test_current_directory(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool.submit(os.getcwd).result() == os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert pool.submit(os.getcwd).result() == str(tmp_path)
    assert set(pool.map(lambda _: os.getcwd(), range(20), chunksize=1)) == {str(tmp_path)}
    assert pool.run_on_workers(os.getcwd) == [str(tmp_path)] * 2


def test_environment(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLMILL_TEST", "one")
    assert pool.submit(os.getenv, "CELLMILL_TEST").result() == "one"
    monkeypatch.setenv("CELLMILL_TEST", "two")
    assert set(pool.map(os.getenv, ["CELLMILL_TEST"] * 20)) == {"two"}
    monkeypatch.delenv("CELLMILL_TEST")
    assert pool.submit(os.getenv, "CELLMILL_TEST").result() is None


def test_changes_between_calls_in_a_row(pool: Executor, tmp_path: Path) -> None:
    """Each task sees the change made right before it was submitted, or one that came later."""
    folders = [tmp_path / str(i) for i in range(50)]
    for folder in folders:
        folder.mkdir()
    before = os.getcwd()
    try:
        directories = []
        for folder in folders:
            os.chdir(folder)
            directories.append(pool.submit(os.getcwd))
    finally:
        os.chdir(before)
    variables = []
    try:
        for i in range(200):
            os.environ["CELLMILL_TEST"] = str(i)
            variables.append(pool.submit(os.getenv, "CELLMILL_TEST"))
        assert all(int(f.result()) >= i for i, f in enumerate(variables))
    finally:
        os.environ.pop("CELLMILL_TEST", None)
    seen = [f.result() for f in directories]
    assert all(at == before or folders.index(Path(at)) >= i for i, at in enumerate(seen))


def test_path(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cellmill_found_later.py").write_text("VALUE = 7\n")
    expression = "__import__('cellmill_found_later').VALUE"
    assert isinstance(pool.submit(eval, expression).exception(), ModuleNotFoundError)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert pool.submit(eval, expression).result() == 7


def test_new_workers_see_it_too(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CELLMILL_TEST", "early")
    with Executor(1) as executor:
        assert executor.submit(os.getcwd).result() == str(tmp_path)
        assert executor.submit(os.getenv, "CELLMILL_TEST").result() == "early"


def test_every_executor_hears_of_it(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Executor(2) as other:
        other.run_on_workers(int)
        pool.run_on_workers(int)
        monkeypatch.chdir(tmp_path)
        assert pool.submit(os.getcwd).result() == str(tmp_path)
        assert other.submit(os.getcwd).result() == str(tmp_path)


def test_directory_that_is_gone(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert pool.submit(tasks.double, 1).result() == 2
    finally:
        os.chdir(tmp_path)


def test_numeric_libraries_keep_to_one_thread(pool: Executor) -> None:
    assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == os.environ.get("OMP_NUM_THREADS", "1")


def test_random_streams_differ(fresh: Executor) -> None:
    def draw() -> tuple[float, ...]:
        return tuple(random.random() for _ in range(4))

    first, second = fresh.run_on_workers(draw)
    assert first != second
    with Executor(2) as other:
        assert len({first, second, *other.run_on_workers(draw)}) == 4


def test_numpy_random_streams_differ() -> None:
    numpy = pytest.importorskip("numpy")

    def draw() -> bytes:
        return bytes(numpy.random.random(4).tobytes())

    with Executor(2, preload=["numpy"]) as executor:
        first, second = executor.run_on_workers(draw)
    assert first != second


def test_workers_have_no_terminal_and_are_apart_from_the_kernel(pool: Executor) -> None:
    kernel = os.getsid(0)

    def look() -> tuple[str, bool, bool]:
        return sys.stdin.read(), os.getpgid(0) == os.getpid(), os.getsid(0) != kernel

    assert pool.submit(look).result() == ("", True, True)
