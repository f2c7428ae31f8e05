"""CPython's own tests of executors, with `cellmill.Executor` in the place of the executor type.

They are shipped with Python 3.13 (and 3.12 where its tests are installed) and skipped by name elsewhere. What names
its executor in a script is given ours; what looks into `ProcessPoolExecutor` itself, its queues, its
multiprocessing context and that one crash breaks the pool, is not asked of us.
"""

from __future__ import annotations

import importlib
import re
import sys
import threading
import types
import unittest
from concurrent import futures
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import ends

SUITE = "test.test_concurrent_futures"
try:
    executor_tests, wait_tests, as_completed_tests, shutdown_tests, init_tests, pool_tests = (
        importlib.import_module(f"{SUITE}.{name}")
        for name in (
            "executor",
            "test_wait",
            "test_as_completed",
            "test_shutdown",
            "test_init",
            "test_process_pool",
        )
    )
    script_helper = importlib.import_module("test.support.script_helper")
except ImportError:
    pytest.skip(
        f"{SUITE} (its executor, wait, as_completed and shutdown cases) does not come with Python "
        f"{sys.version_info.major}.{sys.version_info.minor} as installed here",
        allow_module_level=True,
    )


class CellmillMixin:
    """Replaces the mixins of the suite's util.py: five workers for each test."""

    executor_type = Executor
    worker_count = 5

    def setUp(self) -> None:
        super().setUp()  # type: ignore[misc]
        self.executor = self.executor_type(max_workers=self.worker_count)

    def tearDown(self) -> None:
        self.executor.shutdown(wait=True)
        del self.executor
        super().tearDown()  # type: ignore[misc]


class TestExecutor(CellmillMixin, executor_tests.ExecutorTest, unittest.TestCase):
    # those of the process pool's cases that ask nothing of multiprocessing
    test_map_chunksize = pool_tests.ProcessPoolExecutorTest.test_map_chunksize
    _test_traceback = pool_tests.ProcessPoolExecutorTest._test_traceback

    def test_traceback(self) -> None:
        """As its namesake there: what comes from the worker is of a class of our own, derived from theirs."""
        with pytest.raises(RuntimeError) as caught:
            self.executor.submit(self._test_traceback).result()
        assert caught.value.args == (123,)
        cause = caught.value.__cause__
        assert isinstance(cause, futures.process._RemoteTraceback)
        assert "raise RuntimeError(123) # some comment" in str(cause)


class TestWait(CellmillMixin, wait_tests.WaitTests, unittest.TestCase):
    def test_pending_calls_race(self) -> None:
        """Issue 14406, as for threads, with tasks that a gate in the kernel need not open."""
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            fs = {self.executor.submit(int) for _ in range(100)}
            futures.wait(fs, return_when=futures.ALL_COMPLETED)
        finally:
            sys.setswitchinterval(interval)


class TestAsCompleted(CellmillMixin, as_completed_tests.AsCompletedTests, unittest.TestCase):
    pass


def with_our_executor(test: Any) -> Any:
    """The same test; its scripts, written for the standard library, import our executor."""

    def assert_python_ok(option: str, code: str, *rest: str) -> Any:
        code, count = re.subn(r"from concurrent\.futures import \w+", "from cellmill import Executor", code)
        assert count == 1
        code = code.replace("ThreadPoolExecutor(", "Executor(")
        # the suite starts scripts in isolated mode, which does not hear of PYTHONPATH
        return script_helper.assert_python_ok(
            option, f"import sys; sys.path[:] = {sys.path!r}\n{code}", *rest
        )

    function = types.FunctionType(
        test.__code__,
        {**test.__globals__, "assert_python_ok": assert_python_ok},
        test.__name__,
        test.__defaults__,
        test.__closure__,
    )
    function.__doc__ = test.__doc__
    return function


class TestShutdown(CellmillMixin, shutdown_tests.ExecutorShutdownTest, unittest.TestCase):
    test_interpreter_shutdown = with_our_executor(
        shutdown_tests.ExecutorShutdownTest.test_interpreter_shutdown
    )
    test_submit_after_interpreter_shutdown = with_our_executor(
        shutdown_tests.ExecutorShutdownTest.test_submit_after_interpreter_shutdown
    )
    test_hang_gh83386 = with_our_executor(shutdown_tests.ExecutorShutdownTest.test_hang_gh83386)
    test_cancel_futures_wait_false = with_our_executor(
        shutdown_tests.ThreadPoolShutdownTest.test_cancel_futures_wait_false
    )

    # From here on the process pool's cases; its processes are ours by their ids.

    def pids(self, executor: Executor) -> list[int]:
        executor.run_on_workers(int)
        return [worker.pid for worker in executor.workers()]

    def test_processes_terminate(self) -> None:
        for _ in range(3):
            self.executor.submit(int)
        pids = self.pids(self.executor)
        assert len(pids) == self.worker_count
        self.executor.shutdown()
        assert all(ends(pid) for pid in pids)

    def test_context_manager_shutdown(self) -> None:
        with Executor(max_workers=5) as e:
            pids = self.pids(e)
            assert list(e.map(abs, range(-5, 5))) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]
        assert all(ends(pid) for pid in pids)

    def test_del_shutdown(self) -> None:
        executor = Executor(max_workers=5)
        pids = self.pids(executor)
        res = executor.map(abs, range(-5, 5))
        del executor
        assert all(ends(pid) for pid in pids)
        assert all(r == abs(v) for r, v in zip(res, range(-5, 5), strict=True))

    def test_shutdown_no_wait(self) -> None:
        executor = Executor(max_workers=5)
        pids = self.pids(executor)
        res = executor.map(abs, range(-5, 5))
        executor.shutdown(wait=False)
        assert all(ends(pid) for pid in pids)
        assert all(r == abs(v) for r, v in zip(res, range(-5, 5), strict=True))


class TestInitializer(unittest.TestCase):
    """Written anew: the suite's mixins make the executor with a multiprocessing context."""

    def test_initializer(self) -> None:
        with Executor(2, initializer=init_tests.init, initargs=("initialized",)) as executor:
            found = [executor.submit(init_tests.get_init_status) for _ in range(2)]
            assert [f.result() for f in found] == ["initialized"] * 2

    def test_failing_initializer(self) -> None:
        executor = Executor(2, initializer=init_tests.init_fail)
        with pytest.raises(futures.BrokenExecutor):
            executor.submit(init_tests.get_init_status).result()
        with pytest.raises(futures.BrokenExecutor):
            executor.submit(init_tests.get_init_status)
        executor.shutdown()


def test_no_thread_is_left() -> None:
    """What the suite checks after each of its tests, here after all."""
    assert not [t for t in threading.enumerate() if t.name in ("cellmill-shutdown", "cellmill-starter")]
