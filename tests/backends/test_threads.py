"""Threads of the kernel: what is theirs alone. What all backends share is in the contract."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import io
import os
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

import cellmill
from cellmill import DependencyError, Executor, TaskTimeoutError, UsageError
from cellmill.worker import FLUSH_NS

SOON = 60.0


@pytest.fixture
def pool() -> Iterator[Executor]:
    with Executor(3, backend="threads") as executor:
        yield executor


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


class Thing:
    """Something that cannot be pickled, and can be watched."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


# -- by reference


def test_arguments_results_and_functions_are_the_objects_themselves(pool: Executor) -> None:
    thing = Thing()
    assert pool.submit(lambda x, *, y: (x, y), thing, y=thing).result(SOON) == (thing, thing)
    assert [x is thing for x in pool.map(lambda x: x, [thing] * 10)] == [True] * 10
    assert pool.submit(thing.lock.acquire, timeout=1).result(SOON)


def test_results_are_inputs_as_they_are(pool: Executor) -> None:
    first = pool.submit(Thing)
    second = pool.submit(lambda x, many: (x, many), first, {"k": [first, (1, first)]})
    thing, many = second.result(SOON)
    assert thing is first.result()
    assert many == {"k": [thing, (1, thing)]}


def test_containers_without_futures_are_not_copied(pool: Executor) -> None:
    given: list[Any] = [[1, 2], {"a": (3,)}]
    given.append(given)
    assert pool.submit(lambda x: x, given).result(SOON) is given


def test_results_come_while_their_chunk_still_runs(pool: Executor) -> None:
    thing, gate = Thing(), threading.Event()

    def element(n: int) -> Thing:
        if n == 40:  # the first ones travel in small chunks
            time.sleep(2 * FLUSH_NS / 1e9)
        elif n == 42:
            assert gate.wait(SOON)
        return thing

    results = pool.map(element, range(64), chunksize=64, timeout=SOON)
    assert [next(results) is thing for _ in range(41)] == [True] * 41
    gate.set()
    assert [x is thing for x in results] == [True] * 23


def test_a_redefined_function_is_the_new_one(pool: Executor) -> None:
    space: dict[str, Any] = {}
    for value in (1, 2):
        exec(f"def f(): return {value}", space)
        assert pool.submit(space["f"]).result(SOON) == value


def test_nothing_is_kept_of_calls_that_are_over(pool: Executor) -> None:
    seen: list[weakref.ref[Thing]] = []

    def call(function: Callable[[Thing], Any], **options: Any) -> Any:
        thing = Thing()
        seen.append(weakref.ref(thing))
        return pool.options(**options).submit(function, thing)

    def fail(thing: Thing) -> None:
        raise ValueError("no")

    gate = threading.Event()
    call(lambda thing: None).result(SOON)
    call(lambda thing: 1, retries=1).result(SOON)
    assert isinstance(call(fail).exception(SOON), ValueError)
    blockers = [pool.submit(gate.wait, SOON) for _ in range(3)]
    until(lambda: pool.stats().running == 3)
    waiting = call(lambda thing: None)
    assert waiting.cancel()
    gate.set()
    for blocker in blockers:
        blocker.result(SOON)
    failed = pool.submit(fail, Thing())
    dependent = call(lambda thing, _: None, after=[failed])
    assert isinstance(dependent.exception(SOON), (DependencyError, ValueError, TypeError))
    del waiting, failed, dependent, blocker, blockers
    until(lambda: not pool._backend.calls)  # type: ignore[attr-defined]
    until(lambda: gc.collect() >= 0 and not any(ref() is not None for ref in seen))


# -- Stop


def _spin(began: threading.Event) -> None:
    began.set()
    while True:
        pass


def test_a_running_task_is_interrupted_and_no_other(pool: Executor) -> None:
    for _ in range(5):
        began = threading.Event()
        task = pool.submit(_spin, began)
        assert began.wait(SOON)
        assert task.cancel(force=True)
        with pytest.raises(CancelledError):
            task.result(SOON)
        assert list(pool.map(abs, range(-50, 0))) == list(range(50, 0, -1))
    assert {worker.restarts for worker in pool.workers()} == {0}  # each heard


def test_an_interrupt_that_comes_late_hits_nobody() -> None:
    """Tasks are stopped at the moment at which they end; those after them in the same thread feel nothing."""
    hit: list[BaseException] = []

    def after() -> None:
        try:
            for _ in range(200):
                pass
        except BaseException as error:
            hit.append(error)
            raise

    with Executor(1, backend="threads") as pool:
        for n in range(100):
            task = pool.submit(sum, range(200 * n))
            others = [pool.submit(after) for _ in range(3)]
            until(lambda task=task: task.done() or task.running())
            task.cancel(force=True)
            for other in others:
                assert other.result(SOON) is None
    assert not hit


def test_a_finally_has_its_time(pool: Executor) -> None:
    began, cleaned = threading.Event(), threading.Event()

    def task() -> None:
        try:
            _spin(began)
        finally:
            time.sleep(0.05)
            cleaned.set()

    future = pool.submit(task)
    assert began.wait(SOON)
    future.cancel(force=True)
    with pytest.raises(CancelledError):
        future.result(SOON)
    assert cleaned.is_set()


def test_what_does_not_hear_is_given_up_once_told() -> None:
    gate = threading.Event()
    release = threading.Event()

    def deaf() -> str:
        gate.set()
        while not release.is_set():
            with contextlib.suppress(KeyboardInterrupt):
                release.wait(SOON)  # in C, which a thread cannot be called out of
        return "late"

    with warnings.catch_warnings(record=True) as caught, Executor(1, backend="threads") as pool:
        warnings.simplefilter("always")
        for how in ("cancel", "timeout"):
            gate.clear()
            future = pool.options(timeout=0.1 if how == "timeout" else None).submit(deaf)
            assert gate.wait(SOON)
            if how == "cancel":
                assert future.cancel(force=True)
            with pytest.raises(CancelledError if how == "cancel" else TaskTimeoutError):
                future.result(SOON)
            assert pool.submit(abs, -1).result(SOON) == 1
        assert pool.workers()[0].restarts == 2
        release.set()
        until(lambda: not [t for t in threading.enumerate() if t.name == "cellmill-worker-0"][1:])
    assert len([w for w in caught if "cannot be killed" in str(w.message)]) == 1


def test_a_time_limit_names_the_call(pool: Executor) -> None:
    with pytest.raises(TaskTimeoutError, match=r"_spin\(.*\) ran past its time limit of 0\.05 s"):
        pool.options(timeout=0.05).submit(_spin, threading.Event()).result(SOON)


def test_stopping_a_map_keeps_what_is_done(pool: Executor) -> None:
    began = threading.Event()

    def element(n: int) -> int:
        if n == 7:
            _spin(began)
        return n

    futures = [pool.submit(element, n) for n in range(12)]
    assert began.wait(SOON)
    until(lambda: pool.stats().done == 11)
    assert pool._backend.stop_cell() == 1  # type: ignore[attr-defined]
    outcomes = [future.exception(SOON) if n != 7 else None for n, future in enumerate(futures)]
    assert outcomes == [None] * 12
    with pytest.raises(CancelledError):
        futures[7].result(SOON)


# -- inside a task


def test_inside_a_task_executors_run_inline(pool: Executor) -> None:
    @cellmill.parallel
    def double(x: int) -> int:
        return 2 * x

    def inner() -> tuple[Any, ...]:
        before = threading.get_ident()
        mine = [pool.submit(threading.get_ident).result(), *pool.map(lambda _: threading.get_ident(), [1])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            backend = cellmill.default_executor().backend
            with Executor(2) as own:
                return set(mine) == {before}, backend, own.backend, double(3)

    assert pool.submit(inner).result(SOON) == (True, "inline", "inline", 6)
    assert not cellmill.executor.in_worker()


def test_per_worker_has_a_value_for_each_thread(pool: Executor) -> None:
    made: list[int] = []

    @cellmill.per_worker
    def value() -> Thing:
        made.append(threading.get_ident())
        return Thing()

    barrier = threading.Barrier(3)

    def task(_: int) -> tuple[int, Thing]:
        barrier.wait(SOON)
        assert value() is value()
        return threading.get_ident(), value()

    found = dict(future.result(SOON) for future in [pool.submit(task, i) for i in range(3)])
    assert sorted(made) == sorted(found)
    assert len(set(map(id, found.values()))) == 3


def test_context_variables_of_the_caller(pool: Executor) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(5)

    def task(_: Any = None) -> int:
        found = variable.get()
        variable.set(found + 1)  # seen by nobody else
        return found

    assert [pool.submit(task).result(SOON) for _ in range(3)] == [5, 5, 5]
    assert min(pool.map(task, range(20))) == 5  # elements that travel together share a copy


# -- the threads


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


# -- output


def test_output_is_told_by_task(pool: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    def speak(n: int) -> None:
        print("line", n)
        print("unfinished", n, end="", file=sys.stderr)

    futures = [pool.submit(speak, n) for n in range(5)]
    for future in futures:
        future.result(SOON)
    assert [cellmill.output(future) for future in futures] == [f"line {n}\nunfinished {n}" for n in range(5)]
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == [f"line {n}" for n in range(5)]
    assert sorted(err.splitlines()) == [f"unfinished {n}" for n in range(5)]


def test_output_while_the_task_runs_and_into_what_the_caller_put_in_place(pool: Executor) -> None:
    gate = threading.Event()
    taken = io.StringIO()

    def speak() -> None:
        print("already")
        gate.wait(SOON)

    with contextlib.redirect_stdout(taken):
        future = pool.submit(speak)
        until(lambda: taken.getvalue() == "already\n")
        gate.set()
        future.result(SOON)
    assert cellmill.output(future) == "already\n"


def test_the_streams_are_as_they_were() -> None:
    before = sys.stdout, sys.stderr
    with Executor(1, backend="threads") as pool:
        pool.submit(print, end="").result(SOON)
    assert (sys.stdout, sys.stderr) == before


# -- the process


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


# -- views


def test_journeys_and_inspection(pool: Executor) -> None:
    futures = [pool.submit(time.sleep, 0.001) for _ in range(20)]
    for future in futures:
        future.result(SOON)
    rows = list(pool.journey_rows())
    assert len(rows) == 20
    for row in rows:
        stamps = [row[stage] for stage in cellmill.schema.STAGES]
        assert all(stamps)
        assert stamps == sorted(stamps)
        assert row["function"] == "sleep"
    gate = threading.Event()
    blocked = [pool.submit(gate.wait, SOON) for _ in range(4)]
    until(lambda: pool.stats().running == 3)
    inspector = pool._backend.inspector  # type: ignore[attr-defined]
    assert inspector.arguments(blocked[3]._ticket, None) == f"{SOON}"
    gate.set()


def test_a_failed_call_can_be_made_again(pool: Executor) -> None:
    def fail(x: int, *, y: int = 0) -> None:
        raise ValueError(x)

    future = pool.submit(fail, 3, y=4)
    assert future.exception(SOON) is not None
    failure = pool._backend.inspector.latest_failure()  # type: ignore[attr-defined]
    assert failure.arguments == "3, y=4"
    assert failure.call() == (fail, [3] if isinstance(failure.call()[1], list) else (3,), {"y": 4})
