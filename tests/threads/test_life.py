"""Threads come and go, and leave the process alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings

import pytest

import cellmill
from cellmill import Executor, UsageError
from tests.threads.helpers import SOON, until


def test_initializer_run_on_workers_and_restart() -> None:
    local = threading.local()

    def prepare(value: int) -> None:
        local.value = value

    with Executor(2, backend="threads", initializer=prepare, initargs=(7,)) as pool:
        assert pool.run_on_workers(lambda: local.value) == [7, 7]
        before = set(pool.run_on_workers(threading.get_native_id))
        pool.restart()
        until(lambda: not before & set(pool.run_on_workers(threading.get_native_id)))
        pool.set_workers(4)
        until(lambda: pool.stats().workers == 4)
        pool.set_workers(1)
        until(lambda: len(pool.workers()) == 1)
        with pytest.raises(ZeroDivisionError):
            pool.run_on_workers(lambda: 1 // 0)


def test_a_failing_initializer_breaks_the_executor() -> None:
    pool = Executor(1, backend="threads", initializer=lambda: 1 // 0)
    with pool, pytest.raises(cellmill.WorkerLostError, match="initializer"):
        pool.submit(abs, 1).result(SOON)


def test_threads_are_worn_out_after_so_many_tasks() -> None:
    with Executor(1, backend="threads", max_tasks_per_child=2) as pool:
        idents = [pool.submit(threading.get_native_id).result(SOON) for _ in range(6)]
        assert len(set(idents)) == 3


def test_what_threads_cannot_do_is_said() -> None:
    with pytest.raises(UsageError, match="threads share the memory"):
        Executor(1, backend="threads", memory_per_worker="1GB")
    with pytest.raises(UsageError, match="no_such_module"):
        Executor(1, backend="threads", preload=["no_such_module"])


def test_system_exit_is_an_error_of_the_task(pool: Executor) -> None:
    assert isinstance(pool.submit(sys.exit, 3).exception(SOON), SystemExit)
    assert pool.submit(abs, -1).result(SOON) == 1


def test_errors_bring_their_traceback_and_no_frames(pool: Executor) -> None:
    def fail() -> None:
        raise KeyError("which")

    error = pool.submit(fail).exception(SOON)
    assert isinstance(error, KeyError)
    assert 'raise KeyError("which")' in str(error.__cause__)
    assert error.__traceback__ is None


def test_a_task_that_never_returns_does_not_keep_the_kernel() -> None:
    code = (
        "import cellmill, threading, ctypes\n"
        "ex = cellmill.Executor(1, backend='threads')\n"
        "began = threading.Event()\n"
        "def native():\n"
        "    began.set()\n"
        "    ctypes.CDLL(None).sleep(600)\n"
        "f = ex.submit(native)\n"
        "began.wait(20)\n"
        "f.cancel(force=True)\n"
        "try:\n"
        "    f.result(20)\n"
        "except BaseException as error:\n"
        "    print(type(error).__name__)\n"
        "ex.shutdown()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "CancelledError\n"), done.stderr
    assert "cannot be killed" in done.stderr


def test_a_forked_child_leaves_the_threads_alone(pool: Executor) -> None:
    def forks() -> int:
        child = os.fork()
        if not child:
            print("not told twice")
            os._exit(3 if cellmill.executor.in_worker() else 4)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert pool.submit(forks).result(SOON) == 3
        child = os.fork()
        if not child:
            try:
                pool.submit(abs, -1)
            except cellmill.CellmillError:
                os._exit(0)
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.submit(abs, -1).result(SOON) == 1
