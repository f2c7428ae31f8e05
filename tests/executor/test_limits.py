"""Limits of time and memory, workers that are replaced after a while, and tasks that are stopped by force."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections import Counter
from concurrent.futures import CancelledError, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.local import memory, stopping
from cellmill.backends.local.backend import LocalBackend
from cellmill.process_context import machine
from cellmill.task import Retry, memory_of
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down, ends, prepend_to_path
from tests.support.waiting import until


def local(executor: Executor) -> LocalBackend:
    backend = executor._backend
    assert isinstance(backend, LocalBackend)
    return backend


# -- cancel(force=True)


def test_a_running_task_is_stopped(fresh: Executor, gate: Gate) -> None:
    before = fresh.run_on_workers(os.getpid)
    future = fresh.submit(tasks.hold, gate.folder)
    gate.wait_started()
    assert not future.cancel()
    assert future.cancel(force=True)
    with pytest.raises(CancelledError):
        future.result(SECONDS)
    assert future.cancelled()
    assert future.cancel(force=True)
    assert fresh.run_on_workers(os.getpid) == before
    stats = fresh.stats()
    assert (stats.submitted, stats.cancelled, stats.failed, stats.stopping) == (1, 1, 0, 0)


@pytest.mark.parametrize("backend", ["local", "threads"])
def test_a_module_is_loaded_to_its_end(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is left half loaded would be broken for the tasks that follow."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", SECONDS)  # however busy this machine is
    prepend_to_path(monkeypatch, tmp_path)
    begun = tmp_path / "begun"
    lines = (
        f"from tests.support import tasks\nwith open({str(begun)!r}, 'a') as times:\n    times.write('x')\n"
    )
    (tmp_path / "loaded_slowly.py").write_text(f"{lines}tasks.spin(0.2)\nwhole = True\n")

    def load() -> bool:
        import loaded_slowly  # type: ignore[import-not-found]

        return bool(loaded_slowly.whole)

    with Executor(1, backend=backend) as executor:
        future = executor.submit(load)
        until(begun.exists)
        future.cancel(force=True)
        assert not wait([future], SECONDS).not_done
        assert executor.submit(load).result(SECONDS)
    sys.modules.pop("loaded_slowly", None)
    assert begun.read_text() == "x"


def test_force_where_it_is_not_needed(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    queued = fresh.submit(tasks.double, 1)
    assert queued.cancel(force=True)
    assert queued.cancelled()
    gate.release(2)
    assert [f.result(SECONDS) for f in held] == [None, None]
    assert not held[0].cancel(force=True)


def test_a_stop_at_the_end_of_a_task_hits_no_other(fresh: Executor) -> None:
    for round in range(150):
        first = fresh.submit(tasks.spin, 0.0002 * (round % 10))
        others = [fresh.submit(tasks.double, i) for i in range(20)]
        first.cancel(force=True)
        assert [f.result(SECONDS) for f in others] == list(range(0, 40, 2))
        wait([first], SECONDS)
        assert first.cancelled() or first.result() == "ran"


# -- timeout=


def test_the_error_says_what_and_how_long(fresh: Executor) -> None:
    before = fresh.run_on_workers(os.getpid)
    error = fresh.options(timeout=0.25).submit(tasks.spin, 60).exception(SECONDS)
    assert isinstance(error, cellmill.TaskTimeoutError)
    for words in ("spin(60)", "0.25 s", "Raise timeout="):
        assert words in str(error)
    assert fresh.run_on_workers(os.getpid) == before  # it heard, and its worker lives on


def test_what_the_task_started_ends_too(fresh: Executor, tmp_path: Path) -> None:
    path = str(tmp_path / "pid")

    def outside() -> Any:
        import subprocess

        return subprocess.run(["sh", "-c", f"sleep 600 & echo $! > {path}; wait"], check=False)

    error = fresh.options(timeout=1.5).submit(outside).exception(SECONDS)
    assert isinstance(error, cellmill.TaskTimeoutError)
    assert ends(int(Path(path).read_text()))


# -- memory_per_worker=


def test_a_task_that_takes_too_much_memory() -> None:
    with Executor(1, memory_per_worker="150MB") as executor:
        error = executor.submit(tasks.hoard, 200, 600).exception(SECONDS)
        assert isinstance(error, cellmill.WorkerLostError)
        for words in ("hoard(200", "more than memory_per_worker, 150 MB", "peak memory"):
            assert words in str(error)
        assert error.peak_rss is not None
        assert error.peak_rss > 150e6
        assert executor.submit(tasks.hoard, 1, 0).result(SECONDS) == 1 << 20


def test_an_idle_worker_that_keeps_too_much_is_replaced() -> None:
    def keep() -> int:
        tasks.kept = b"x" * (200 << 20)  # type: ignore[attr-defined]
        return os.getpid()

    with Executor(1, memory_per_worker="2GB") as executor:
        pid = executor.submit(keep).result(SECONDS)
        local(executor).memory_per_worker = 150 << 20
        assert ends(pid)
        assert executor.submit(tasks.double, 1).result(SECONDS) == 2


def test_own_memory_is_without_what_is_shared() -> None:
    assert machine.own_bytes(os.getpid()) > 1 << 20
    left, total = machine.left_and_total()
    assert 0 < left < total


def test_scarce_memory_is_said_in_the_cell(
    fresh: Executor, gate: Gate, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh.submit(tasks.hold, gate.folder)
    gate.wait_started()
    members = local(
        fresh
    ).pool.members  # a worker may be at its first task before the zygote's word of it has come
    assert comes_down(lambda: sum(not member.pid for member in list(members.values())), 0)
    monkeypatch.setattr(memory, "SCARCE", 1.0)
    assert memory._warn_if_scarce([local(fresh)])
    said = capsys.readouterr().err
    assert "memory is nearly used up" in said
    assert "memory_per_worker" in said


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2e9), ("1.5 MiB", 1.5 * 2**20), (4096, 4096), ("7", 7), (None, 0)]
)
def test_sizes(text: Any, size: float) -> None:
    assert memory_of("memory_per_worker", text) == size


@pytest.mark.parametrize("text", ["", "2 XB", "GB", 0, -1, True, [], "-1GB"])
def test_senseless_sizes(text: Any) -> None:
    with pytest.raises(cellmill.UsageError, match='such as "2GB"'):
        Executor(1, memory_per_worker=text)


# -- max_tasks_per_child=


@pytest.mark.parametrize("count", [1, 7])
def test_workers_are_replaced_after_so_many_tasks(count: int) -> None:
    with Executor(2, max_tasks_per_child=count) as executor:
        pids = [f.result(SECONDS) for f in [executor.submit(tasks.pid) for _ in range(10)]]
        assert all(pids.count(pid) <= count for pid in set(pids))
        assert len(set(pids)) >= 10 / count
        assert executor.workers()[0].restarts == 0
        assert list(executor.map(tasks.double, range(10))) == list(range(0, 20, 2))


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_senseless_counts(count: Any) -> None:
    with pytest.raises(cellmill.UsageError, match="max_tasks_per_child"):
        Executor(1, max_tasks_per_child=count)


def test_many_kinds_of_options_at_once(fresh: Executor) -> None:
    """More than are kept in the form that C reads: each task has its own."""
    views = [fresh.options(timeout=30.0 + i, retries=i % 3, priority=i % 100) for i in range(200)]
    futures = [view.submit(pow, i, 2) for i, view in enumerate(views)]
    assert [future.result(60) for future in futures] == [i * i for i in range(200)]
    hasty = fresh.options(timeout=0.2, retries=1).submit(time.sleep, 60)
    with pytest.raises(cellmill.TaskTimeoutError, match=r"0\.2"):
        hasty.result(60)
    rows = [row for row in fresh.journey_rows() if row["function"].endswith("sleep")]
    assert [row["status"] for row in rows] == ["retried", "timeout"]


# -- of elements

LIMIT = 1.0  # seconds: long for an element that does nothing, on any machine


def late(x: int) -> int:
    """Some take for ever, or until they are stopped."""
    if x % 100 == 7:
        time.sleep(60)
    if x == 30:
        raise ValueError(x)
    return -x


def deaf(x: int) -> int:
    """One hears no interrupt."""
    if x == 70:
        ctypes.PyDLL(None).sleep(60)  # with the GIL held
    return -x


def test_a_limit_holds_for_each_element(fresh: Executor) -> None:
    """The slow ones are tried again and fail, the others do not run again; chunks are as long as without a limit."""
    fresh.run_on_workers(partial(late, 0))  # what it takes to import this does not count
    limited = fresh.options(timeout=LIMIT, retries=Retry(1, when=cellmill.TaskTimeoutError))
    results = list(limited.map(late, range(200), chunksize=100, return_exceptions=True))
    slow = [results[7], results[107]]
    assert all(isinstance(result, cellmill.TaskTimeoutError) for result in slow)
    assert "late(107)" in str(slow[1])
    assert "limit of 1 s" in str(slow[1])
    assert isinstance(results[30], ValueError)
    assert [r for r in results if isinstance(r, int)] == [-x for x in range(200) if x not in (7, 30, 107)]
    rows = list(fresh.journey_rows())
    assert Counter(row["status"] for row in rows) == {"done": 197, "failed": 1, "retried": 2, "timeout": 2}
    assert len({row["task"] for row in rows}) < 20
    assert fresh.stats().failed == 3


def test_an_element_that_hears_nothing_goes_with_its_worker(fresh: Executor) -> None:
    """And no other element with it."""
    fresh.run_on_workers(partial(deaf, 0))
    limited = fresh.options(timeout=LIMIT)
    results = list(limited.map(deaf, range(100), chunksize=100, return_exceptions=True))
    assert isinstance(results.pop(70), cellmill.TaskTimeoutError)
    assert results == [-x for x in range(100) if x != 70]
    assert list(fresh.map(deaf, range(3))) == [0, -1, -2]
