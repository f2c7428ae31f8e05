"""The profile of real workers: switched on and off while tasks run, in Python and in native code, and over deaths."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cellmill
from cellmill.telemetry.profile import Bar
from tests.support.helpers import SECONDS


def inner_a(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def inner_b(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def work(gate: str) -> int:
    """Three quarters of the time in `inner_a`, until the gate is open.

    The look at the gate releases the GIL, and a sampler in the same process is let in there: it is a rare one.
    """
    total = 0
    while not os.path.exists(gate):
        for _ in range(25):
            total += inner_a(30_000) + inner_b(10_000)
    return total


def native(gate: str) -> int:
    """Calls of native code that keeps the GIL for longer than the time between two samples."""
    total = 0
    while not os.path.exists(gate):
        total += sum(range(5_000_000))
    return total


@pytest.fixture(scope="module", params=["local", "threads"])
def executor(request: pytest.FixtureRequest) -> Iterator[cellmill.Executor]:
    with cellmill.Executor(2, backend=request.param) as made:
        yield made


@pytest.fixture
def local() -> Iterator[cellmill.Executor]:
    with cellmill.Executor(2) as made:
        yield made


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def bars_when(profiler: cellmill.Profiler, condition: Callable[[dict[str, Bar]], object]) -> tuple[Bar, ...]:
    """The bars once the condition holds for them by name."""
    wait_until(lambda: condition({bar.name: bar for bar in profiler.bars()}))
    return profiler.bars()


def test_on_in_the_middle_of_a_task_and_off_again(executor: cellmill.Executor, tmp_path: Path) -> None:
    gate = tmp_path / "open"
    tasks = [executor.submit(work, str(gate)) for _ in range(2)]
    wait_until(lambda: executor.stats().running == 2)
    profiler = cellmill.profile(executor)
    assert not profiler.on
    with profiler:
        assert profiler.on
        bars = bars_when(profiler, lambda found: {"work", "inner_a", "inner_b"} <= found.keys())
        by_name = {bar.name: bar for bar in bars}
        whole = by_name["work"]
        assert (whole.depth, by_name["inner_a"].depth) == (0, 1)
        assert by_name["inner_a"].file == __file__
        called = sum(bar.total for bar in bars if bar.depth == 1)
        assert whole.total == pytest.approx(whole.own + called)
        assert profiler.seconds >= whole.total
    assert not profiler.on
    seconds = profiler.seconds
    gate.touch()
    for task in tasks:
        task.result()
    assert profiler.seconds == seconds  # all that was sampled had come, and nothing comes later
    assert "inner_a" in repr(profiler)
    assert "profile: off" in repr(profiler)


def threads_of(executor: cellmill.Executor) -> list[int]:
    pids = [worker.pid for worker in executor.workers()]
    return [len(os.listdir(f"/proc/{pid}/task")) if pid else 0 for pid in pids]  # 0: it starts


def test_off_leaves_no_thread(local: cellmill.Executor) -> None:
    local.run_on_workers(os.getpid)
    before = threads_of(local)
    profiler = cellmill.profile(local)
    profiler.start()
    wait_until(lambda: threads_of(local) != before)
    profiler.stop()
    wait_until(lambda: threads_of(local) == before)
    local.set_workers(3)
    profiler.start()  # a worker that comes later, too
    wait_until(lambda: threads_of(local) == [before[0] + 1] * 3)
    profiler.stop()


def test_native_code_that_keeps_the_gil_is_part_of_its_caller(
    executor: cellmill.Executor, tmp_path: Path
) -> None:
    gate = tmp_path / "open"
    task = executor.submit(native, str(gate))
    with cellmill.profile(executor) as profiler:
        bars = bars_when(profiler, lambda found: "native" in found and found["native"].own > 0.1)
    gate.touch()
    assert task.result() >= 0
    found = next(bar for bar in bars if bar.name == "native")
    assert (found.depth, found.parent) == (0, -1)


def test_a_function_that_is_native_code(executor: cellmill.Executor) -> None:
    with cellmill.profile(executor) as profiler:
        task = executor.submit(time.sleep, 0.5)
        bars = bars_when(profiler, lambda found: "sleep" in found)
    task.result()
    assert next(bar.file for bar in bars if bar.name == "sleep") == ""


def test_a_worker_that_dies_takes_only_its_own_samples_along(
    local: cellmill.Executor, tmp_path: Path
) -> None:
    gate = tmp_path / "open"
    tasks = [local.submit(work, str(gate)) for _ in range(2)]
    with cellmill.profile(local) as profiler:
        bars_when(profiler, lambda found: "inner_a" in found)
        before = profiler.seconds
        os.kill(local.workers()[0].pid, signal.SIGKILL)
        lost = [task for task in tasks if _lost(task, tasks, gate)]
        assert profiler.seconds >= before
        bars_when(profiler, lambda found: found["work"].total > before)
        again = local.submit(inner_a, 3_000_000)
        bars_when(profiler, lambda found: again.done() or found["work"].total)
    gate.touch()
    assert len(lost) == 1
    assert again.result() > 0
    assert "profile: off" in repr(profiler)


def _lost(task: cellmill.Future, tasks: list[cellmill.Future], gate: Path) -> bool:
    wait_until(lambda: any(each.done() for each in tasks))
    return task.done() and isinstance(task.exception(), cellmill.WorkerLostError)


def test_a_new_profile_begins_when_it_is_switched_on_again(local: cellmill.Executor) -> None:
    profiler = cellmill.profile(local)
    with profiler:
        local.submit(time.sleep, 0.3).result()
        bars_when(profiler, lambda found: "sleep" in found)
    with profiler:
        task = local.submit(inner_a, 5_000_000)
        bars = bars_when(profiler, lambda found: "inner_a" in found or task.done())
        task.result()
    assert "sleep" not in [bar.name for bar in bars]


def test_a_backend_that_cannot_says_so() -> None:
    with cellmill.Executor(backend="inline") as inline:
        profiler = cellmill.profile(inline)
        assert repr(profiler) == "no profile: workers of the inline backend cannot be sampled"
        with pytest.raises(cellmill.UsageError, match="has no workers that can be sampled"):
            profiler.start()


def test_the_slowest_tasks_are_kept_with_their_arguments(local: cellmill.Executor) -> None:
    """Exact for any number of tasks, elements of maps included."""
    run = local.map(pausing, [0.0] * 3000 + [0.05, 0.9, 0.3] + [0.0] * 3000)
    assert len(list(run)) == 6003
    slowest = local._backend.observer.slowest()
    assert len(slowest) == 10
    assert [slow.arguments for slow in slowest[:3]] == ["0.9", "0.3", "0.05"]
    assert all(slow.function == "pausing" and slow.element is not None for slow in slowest)
    assert [slow.seconds for slow in slowest] == sorted((slow.seconds for slow in slowest), reverse=True)
    assert slowest[0].seconds >= 0.9


def pausing(seconds: float) -> None:
    if seconds:
        time.sleep(seconds)
