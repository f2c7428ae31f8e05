"""The zygote dies, or cannot fork: workers finish what they hold, and the pool goes on."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.local import zygote_client
from cellmill.backends.local.backend import LocalBackend
from cellmill.backends.local.pool import Pool
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down, ends, start_script


@pytest.fixture(scope="module", autouse=True)
def later_tests(pool: Executor) -> Iterator[None]:
    """The workers of the pool that many tests share have a zygote again, which knows how they end.

    The many zygotes of these tests load nothing that tests before them have asked for.
    """
    zygote_client.shared().modules.clear()
    yield
    pool.restart()


def kill_zygote() -> int:
    """Its process id, when it is dead."""
    zygote = zygote_client.shared()
    os.kill(zygote.process.pid, signal.SIGKILL)
    return zygote.process.pid


def test_workers_finish_what_they_hold(fresh: Executor, gate: Gate) -> None:
    pids = set(fresh.run_on_workers(os.getpid))
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    queued = [fresh.submit(tasks.pid, i) for i in range(50)]
    gate.wait_started(2)
    dead = kill_zygote()
    assert ends(dead)
    gate.release(2)
    assert [h.result(SECONDS) for h in held] == [0, 1]
    assert {f.result(SECONDS) for f in queued} <= pids
    assert set(fresh.run_on_workers(os.getpid)) == pids


def test_a_new_zygote_takes_over(fresh: Executor) -> None:
    pids = fresh.run_on_workers(os.getpid)
    dead = kill_zygote()
    error = fresh.submit(tasks.die, "SIGKILL", 5).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert (error.function, error.arguments) == ("die", "'SIGKILL', 5")
    assert (error.signal, error.exitcode, error.peak_rss) == (None, None, None)
    assert "how is not known" in str(error)
    fresh.set_workers(3)
    now = fresh.run_on_workers(os.getpid)
    assert len(set(now)) == 3
    assert len(set(now) & set(pids)) == 1  # the other one died
    assert zygote_client.shared().process.pid != dead
    error = fresh.submit(tasks.die, "SIGSEGV").exception(SECONDS)  # of whichever zygote the worker is
    assert isinstance(error, cellmill.WorkerLostError)
    assert list(fresh.map(tasks.double, range(100))) == list(range(0, 200, 2))


def test_orphans_are_ended_with_what_they_started(fresh: Executor) -> None:
    fresh.set_workers(1)

    def start() -> tuple[int, int]:
        import subprocess

        return os.getpid(), subprocess.Popen(["sleep", "1000"]).pid

    worker, child = fresh.submit(start).result(SECONDS)
    assert ends(kill_zygote())
    late = fresh.options(timeout=0.2).submit(tasks.spin, 60)
    assert isinstance(late.exception(SECONDS), cellmill.TaskTimeoutError)
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2
    if worker != fresh.submit(os.getpid).result(SECONDS):
        assert ends(worker)
        assert ends(child)


def test_killed_while_it_forks() -> None:
    """Each time while forks are asked for: sooner or later in every step of one."""
    for _ in range(3):
        executor = Executor(4)
        zygote_client.shared()
        kill_zygote()
        assert list(executor.map(tasks.double, range(20))) == list(range(0, 40, 2))
        assert len(set(executor.run_on_workers(os.getpid))) == 4
        executor.shutdown()


def test_preloaded_modules_are_preloaded_again() -> None:
    with Executor(1, preload=["colorsys"]) as executor:
        kill_zygote()
        executor.submit(tasks.die, "SIGKILL").exception(SECONDS)
        assert executor.submit(_is_loaded, "colorsys").result(SECONDS)


def _is_loaded(name: str) -> bool:
    import sys

    return name in sys.modules


def test_nothing_leaks_when_zygotes_die(fresh: Executor) -> None:
    def once() -> None:
        fresh.run_on_workers(os.getpid)
        assert ends(kill_zygote())
        for worker in fresh.workers():
            os.kill(worker.pid, signal.SIGKILL)
            assert ends(worker.pid)
        assert list(fresh.map(tasks.double, range(20))) == list(range(0, 40, 2))
        fresh.run_on_workers(os.getpid)

    once()
    before = _open_descriptors(), threading.active_count()
    for _ in range(2):
        once()
    assert comes_down(_open_descriptors, before[0])
    assert comes_down(threading.active_count, before[1])


def _open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_outlives_a_kernel_whose_zygote_died_before(tmp_path: Path) -> None:
    code = """
        import os, signal, subprocess
        from cellmill import Executor
        from cellmill.backends.local import zygote_client

        def start():
            own = subprocess.Popen(["sleep", "1000"]).pid
            apart = subprocess.Popen(["sleep", "1000"], start_new_session=True).pid
            return os.getpid(), own, apart

        if __name__ == "__main__":
            with Executor(2) as executor:
                pids = [pid for made in executor.run_on_workers(start) for pid in made]
                zygote = zygote_client.shared().process
                zygote.kill()
                zygote.wait()
                print(*pids, flush=True)
                signal.pause()
    """
    with start_script(tmp_path, code) as process:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], SECONDS)[0]
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 6
        process.kill()
        assert all(ends(pid) for pid in pids)


FORK_REFUSED = """
    import os, resource, sys, warnings
    if os.getuid() == 0:  # the superuser has no such limit
        may_read = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
        os.execvp("setpriv", ["setpriv", "--reuid=54321", *may_read, sys.executable, *sys.argv])
    from cellmill import BackendError, Executor, WorkerLostError
    from cellmill.backends.local import zygote_client

    def double(x):
        return 2 * x

    def die():
        os._exit(3)

    def limit(count):
        pid = zygote_client.shared().process.pid
        return resource.prlimit(pid, resource.RLIMIT_NPROC, (count, hard))

    if __name__ == "__main__":
        soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        with Executor(2) as executor, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert len(executor.run_on_workers(os.getpid)) == 2
            limit(1)
            executor.set_workers(3)
            starter = executor._backend.pool._starter
            starter and starter.join(30)
            assert list(executor.map(double, range(50))) == list(range(0, 100, 2))
            print(caught[0].message)
            limit(soft)
            executor.set_workers(3)
            assert len(set(executor.run_on_workers(os.getpid))) == 3
            limit(1)
            errors = [executor.submit(die).exception(30) for _ in range(3)]
            later = executor.submit(double, 1).exception(30)
            assert all(isinstance(e, WorkerLostError) for e in [*errors, later]), (errors, later)
            assert isinstance(later.__cause__, BackendError)
            print(later)
"""


@pytest.mark.skipif(os.getuid() == 0 and not shutil.which("setpriv"), reason="the superuser may always fork")
def test_fork_is_refused(script: Callable[..., str]) -> None:
    out = script(FORK_REFUSED).splitlines()
    assert out[0].startswith("cellmill goes on with 2 of 3 workers: no worker process could be made (")
    assert "ulimit -u" in out[0]
    assert "no worker process could be made" in out[1]


def test_no_descriptor_is_left_for_workers(fresh: Executor) -> None:
    """The pool goes on with those it has, wherever in the making of one the last descriptor went."""
    fresh.run_on_workers(os.getpid)
    gc.collect()
    before = _open_descriptors()
    for spare in range(0, 9, 2):
        with _descriptors(spare):
            with pytest.warns(RuntimeWarning, match="of 40 workers: .*Too many open files"):
                _grow(fresh, 40)
            assert fresh.submit(tasks.double, 4).result(SECONDS) == 8
        fresh.set_workers(2)
        assert list(fresh.map(tasks.double, range(50))) == list(range(0, 100, 2))
        retired = [w.pid for w in fresh.workers()]
        assert sum(not ends(pid, 0) for pid in retired) >= 2
    _wait_until_two(fresh)
    assert _comes_down_to(before)


def test_no_descriptor_is_left_for_an_executor(pool: Executor) -> None:
    pool.run_on_workers(os.getpid)
    gc.collect()
    before = _open_descriptors()
    for spare in range(5):
        gc.collect()  # what earlier executors held shall not be had in between
        with _descriptors(spare), pytest.raises((cellmill.BackendError, cellmill.WorkerLostError)) as caught:
            Executor(40).submit(tasks.double, 1).result(SECONDS)
        assert "Too many open files" in str(caught.value)
        assert "open files" in str(caught.value)
        del caught
    assert _comes_down_to(before)


def _comes_down_to(before: int) -> bool:
    """Whether no more descriptors are open than before, once the last process and thread are through."""
    deadline = time.monotonic() + SECONDS
    while _open_descriptors() > before and time.monotonic() < deadline:
        gc.collect()
        threading.Event().wait(0.02)
    return _open_descriptors() <= before


@contextlib.contextmanager
def _descriptors(spare: int) -> Iterator[None]:
    """So many more may be opened: the rest up to a limit is filled."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + spare, limits[1]))
    filled = []
    try:
        with contextlib.suppress(OSError):
            while True:
                filled.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
        for fd in filled[len(filled) - spare :]:
            os.close(fd)
        del filled[len(filled) - spare :]
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for fd in filled:
            os.close(fd)


def _pool(executor: Executor) -> Pool:
    backend = executor._backend
    assert isinstance(backend, LocalBackend)
    return backend.pool


def _grow(executor: Executor, count: int) -> None:
    """Return when as many workers were started as could be."""
    executor.set_workers(count)
    starter = _pool(executor)._starter
    if starter is not None:
        starter.join(SECONDS)


def _wait_until_two(executor: Executor) -> None:
    for member in list(_pool(executor).members.values()):
        if member.retiring:
            assert member.gone.wait(SECONDS)
    assert len(executor.run_on_workers(os.getpid)) == 2


def test_a_stopped_zygote_is_replaced(fresh: Executor) -> None:
    """In seconds; until then workers go on, and deaths that it has not told of are told."""
    pids = fresh.run_on_workers(os.getpid)
    stopped = zygote_client.shared().process.pid
    os.kill(stopped, signal.SIGSTOP)
    started = time.monotonic()
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2
    error = fresh.submit(tasks.die, "SIGKILL").exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.function == "die"
    assert time.monotonic() - started < zygote_client.ANSWER_SECONDS / 2
    assert ends(stopped)
    assert len(set(fresh.run_on_workers(os.getpid))) == 2
    assert len(set(fresh.run_on_workers(os.getpid)) & set(pids)) == 1
    assert zygote_client.shared().process.pid != stopped
    assert list(fresh.map(tasks.double, range(100))) == list(range(0, 200, 2))


def test_workers_of_a_new_one_hash_strings_as_before(fresh: Executor) -> None:
    before = set(fresh.run_on_workers(lambda: hash("a word")))
    dead = kill_zygote()
    fresh.submit(tasks.die, "SIGKILL").exception(SECONDS)
    fresh.submit(tasks.double, 1).result(SECONDS)
    assert zygote_client.shared().process.pid != dead
    fresh.restart()
    assert set(fresh.run_on_workers(lambda: hash("a word"))) == before
    assert len(before) == 1
