"""Figures, runs, and what can be changed while tasks run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import pytest

import cellmill
from cellmill import Executor, UsageError, run_registry
from cellmill.run_registry import Run
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down, ends
from tests.support.told import nothing_told


def test_stats_add_up(fresh: Executor) -> None:
    fresh.run_on_workers(int)  # both are there
    list(fresh.map(tasks.double, range(1000)))
    list(fresh.map(tasks.half_of_even, range(100), return_exceptions=True))
    for i in range(10):
        fresh.submit(tasks.double, i).result()
    fresh.submit(tasks.fail).exception()
    list(fresh.options(batch=True).map(lambda xs: xs, range(50)))
    stats = fresh.stats()
    assert stats.submitted == stats.total == stats.done == 1161
    assert (stats.succeeded, stats.failed, stats.cancelled) == (1110, 51, 0)
    assert (stats.waiting, stats.queued, stats.running) == (0, 0, 0)
    assert stats.workers == 2


def test_stats_of_what_runs(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    queued = [fresh.submit(tasks.double, i) for i in range(30)]
    waiting = [fresh.submit(tasks.double, held[0]) for _ in range(3)]
    stats = fresh.stats()
    assert (stats.running, stats.queued, stats.waiting, stats.submitted) == (2, 30, 3, 35)
    assert stats.done == 0
    gate.release(2)
    for future in (*held, *queued, *waiting):
        future.exception()
    assert fresh.stats().done == 35
    assert fresh.stats().time_ns > stats.time_ns


def test_each_run_counts_what_it_runs(fresh: Executor, gate: Gate) -> None:
    held = fresh.map(tasks.hold, [gate.folder] * 2, chunksize=1)
    gate.wait_started(2)
    other = fresh.map(tasks.double, range(100), chunksize=10)
    holds, doubles = [run for run in run_registry.active_runs() if run._backend is fresh._backend]
    assert (holds.running(), doubles.running()) == (2, 0)
    assert (holds.total, doubles.total) == (2, 100)
    gate.release(2)
    assert len(list(held)) == 2
    assert sum(other) == 99 * 100
    assert (holds.running(), doubles.running()) == (0, 0)


def test_stats_inline() -> None:
    with Executor(backend="inline") as executor:
        list(executor.map(tasks.half_of_even, range(10), return_exceptions=True))
        stats = executor.stats()
    assert (stats.submitted, stats.succeeded, stats.failed, stats.workers) == (10, 5, 5, 1)


def test_workers(fresh: Executor, gate: Gate) -> None:
    pids = fresh.run_on_workers(os.getpid)
    held = fresh.submit(tasks.hold, gate.folder)
    gate.wait_started()
    found = fresh.workers()
    assert [w.pid for w in found] == pids
    assert sorted(w.state for w in found) == ["busy", "idle"]
    gate.release()
    held.result()
    for _ in range(50):
        fresh.submit(tasks.double, 1).result()
    assert sum(w.tasks_done for w in fresh.workers()) == 51


def test_names_and_repr(pool: Executor, inline: Executor) -> None:
    assert (pool.backend, pool.max_workers, inline.backend, inline.max_workers) == ("local", 2, "inline", 1)
    assert repr(pool) == "<cellmill.Executor local, 2 workers>"
    with Executor(1) as executor:
        pass
    assert repr(executor) == "<cellmill.Executor local, closed>"


def test_pause_and_resume(fresh: Executor) -> None:
    fresh.run_on_workers(int)
    fresh.pause()
    futures = [fresh.submit(tasks.double, i) for i in range(20)]
    with pytest.raises(TimeoutError):
        futures[0].result(0.2)
    assert fresh.stats().done == 0
    fresh.resume()
    assert [f.result(SECONDS) for f in futures] == [2 * i for i in range(20)]


def test_more_workers_and_fewer(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(4)]
    gate.wait_started(2)
    fresh.set_workers(4)
    gate.wait_started(2)
    assert fresh.max_workers == 4
    pids = [w.pid for w in fresh.workers()]
    fresh.set_workers(1)
    gate.release(4)
    assert [h.result(SECONDS) for h in held] == [0, 1, 2, 3]
    assert sum(not ends(pid, 0.0) for pid in pids) >= 1
    assert sum(ends(pid, 2.0) for pid in pids) == 3
    assert [f.result(SECONDS) for f in [fresh.submit(tasks.double, i) for i in range(50)]] == list(
        range(0, 100, 2)
    )
    assert len(fresh.workers()) == fresh.max_workers == 1


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True])
def test_wrong_number_of_workers(pool: Executor, count: object) -> None:
    with pytest.raises(cellmill.UsageError, match="number of workers"):
        pool.set_workers(count)  # type: ignore[arg-type]
    assert pool.max_workers == 2


def test_inline_cannot_grow(inline: Executor) -> None:
    with pytest.raises(cellmill.UsageError):
        inline.set_workers(2)
    with pytest.raises(cellmill.UsageError):
        inline.pause()
    inline.resume()
    inline.restart()


def test_restart(fresh: Executor, gate: Gate) -> None:
    before = set(fresh.run_on_workers(os.getpid))
    held = fresh.submit(tasks.hold, gate.folder, "finished first")
    gate.wait_started()
    fresh.restart()
    after = {fresh.submit(tasks.pid).result(SECONDS) for _ in range(10)}
    assert not after & before
    gate.release()
    assert held.result(SECONDS) == "finished first"
    assert all(ends(pid) for pid in before)


def test_policies(fresh: Executor) -> None:
    assert fresh.policy == "least-loaded"
    for name in ("round-robin", "random", "work-stealing", "least-loaded"):
        fresh.policy = name
        assert fresh.policy == name
        assert list(fresh.map(tasks.double, range(100))) == [2 * i for i in range(100)]
    with pytest.raises(cellmill.UsageError, match="round-robin"):
        fresh.policy = "fastest"


def test_run_on_workers(fresh: Executor) -> None:
    assert sorted(fresh.run_on_workers(os.getpid)) == sorted(w.pid for w in fresh.workers())
    with pytest.raises(LookupError, match="as asked"):
        fresh.run_on_workers(tasks.fail)
    assert fresh.submit(tasks.double, 1).result() == 2


def test_stop_cancels_what_has_not_begun(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started(2)
    queued = [fresh.submit(tasks.double, i) for i in range(20)]
    mapped = fresh.map(tasks.double, range(100))
    assert fresh.stop() == 120
    assert all(f.cancelled() for f in queued)
    gate.release(2)
    assert [h.result(SECONDS) for h in held] == [0, 1]
    with pytest.raises(CancelledError):
        next(mapped)
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2


# -- runs


@pytest.fixture
def started() -> Iterator[list[Run]]:
    found: list[Run] = []
    undo = run_registry.on_run_started(found.append)
    yield found
    undo()


def test_run_of_a_map(ex: Executor, started: list[Run]) -> None:
    results = list(ex.map(tasks.half_of_even, range(100), return_exceptions=True))
    (run,) = started
    assert len(results) == run.expected == 100
    assert run.name == "half_of_even"
    counts = run.counts()
    assert (counts.submitted, counts.succeeded, counts.failed, counts.done) == (100, 50, 50, 100)
    assert run.finished
    assert run not in run_registry.active_runs()


def test_run_of_a_generator(ex: Executor, started: list[Run]) -> None:
    assert len(list(ex.map(tasks.double, (i for i in range(10))))) == 10
    assert started[0].expected is None
    assert started[0].finished


def test_run_of_an_empty_map(ex: Executor, started: list[Run]) -> None:
    assert list(ex.map(tasks.double, [])) == []
    assert started[0].expected == 0
    assert started[0].finished


def test_run_is_cancelled(fresh: Executor, gate: Gate, started: list[Run]) -> None:
    results = fresh.map(tasks.hold, [gate.folder] * 50, chunksize=1, return_exceptions=True)
    gate.wait_started(2)
    (run,) = started
    assert run in run_registry.active_runs()
    assert run.cancel() == 48
    gate.release(2)
    found = list(results)
    assert found.count(None) == 2
    assert sum(isinstance(r, CancelledError) for r in found) == 48
    assert run.counts().cancelled == 48
    assert run.finished
    assert run.cancel() == 0


def test_runs_of_single_calls_by_cell(pool: Executor, started: list[Run]) -> None:
    run_registry.bump_epoch()  # tests share the pool: in one cell all calls of a function are one run
    double = cellmill.parallel(executor=pool)(tasks.double)
    for _ in range(5):
        double(1).result()
    assert [r.counts().submitted for r in started] == [5]
    assert not started[0].finished
    run_registry.bump_epoch()
    assert started[0].finished
    double(1).result()
    assert [r.counts().submitted for r in started] == [5, 1]
    run_registry.bump_epoch()


def test_callback_of_runs_that_fails_is_dropped(ex: Executor) -> None:
    calls = []

    def bad(run: Run) -> None:
        calls.append(run)
        raise KeyError("widget")

    undo = run_registry.on_run_started(bad)
    with pytest.warns(RuntimeWarning, match="dropped"):
        list(ex.map(tasks.double, [1]))
    with nothing_told():
        list(ex.map(tasks.double, [1]))
    assert len(calls) == 1
    undo()


def test_more_runs_than_one_can_count(pool: Executor, started: list[Run]) -> None:
    for i in range(300):
        assert list(pool.map(tasks.double, [i])) == [2 * i]
    assert all(run.finished for run in started)
    assert len(run_registry.active_runs()) < 10


def test_figures_from_many_threads(pool: Executor) -> None:
    stop = threading.Event()
    problems: list[BaseException] = []

    def look(read: Callable[[], object]) -> None:
        while not stop.is_set():
            try:
                read()
            except BaseException as error:
                problems.append(error)
                return

    reads = (
        pool.stats,
        pool.workers,
        run_registry.active_runs,
        lambda: [r.counts() for r in run_registry.active_runs()],
    )
    threads = [threading.Thread(target=look, args=(read,)) for read in reads]
    for thread in threads:
        thread.start()
    for _ in range(3):
        assert sum(pool.map(tasks.double, range(2000))) == 2 * sum(range(2000))
    stop.set()
    for thread in threads:
        thread.join(SECONDS)
    assert not problems


@pytest.mark.parametrize("ordered", [True, False])
def test_a_run_of_many_elements_stops_at_once(
    fresh: Executor, gate: Gate, ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running tasks are stopped before the elements that have not begun are reported; each of those ends, too."""
    runs_seen: list[Run] = []
    undo = run_registry.on_run_started(runs_seen.append)
    items = [gate.folder, *[f"{gate.folder}/none"] * 30_000]
    results = fresh.map(tasks.hold, items, chunksize=1, ordered=ordered, return_exceptions=True)
    found: list[object] = []
    reader = threading.Thread(target=lambda: found.extend(results))
    reader.start()
    gate.wait_started()
    undo()
    (run,) = runs_seen
    backend = fresh._backend
    stop, dropped = backend.stopper.stop_run, []  # type: ignore[attr-defined]

    def stop_run(key: int, after: int = 0) -> int:
        dropped.append(run.counts().cancelled)
        return int(stop(key, after))

    monkeypatch.setattr(backend.stopper, "stop_run", stop_run)  # type: ignore[attr-defined]
    failed = run.counts().failed  # there is no gate in those places
    stopped = run.stop()
    reader.join(SECONDS)
    assert not reader.is_alive()
    assert dropped == [0]
    assert len(found) == len(items)
    cancelled = sum(type(error) is CancelledError for error in found)
    assert cancelled >= stopped > 25_000
    assert failed + cancelled <= len(items)
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2


# -- by name


def test_pause_and_resume_by_name(default: Executor) -> None:
    cellmill.pause()
    assert default.paused
    future = default.submit(tasks.double, 4)
    cellmill.resume()
    assert future.result(SECONDS) == 8


def test_cancel_by_name(default: Executor, gate: Gate) -> None:
    held = default.submit(tasks.hold, gate.folder)
    gate.wait_started()
    assert cellmill.cancel(held) == 1
    with pytest.raises(CancelledError):
        held.result(SECONDS)
    assert cellmill.cancel(held) == 0

    cellmill.pause()
    results = default.map(tasks.double, range(20), chunksize=1)
    (run,) = [run for run in run_registry.active_runs() if run._backend is default._backend]
    with pytest.raises(UsageError, match=f"no run {run.id + 1000} goes on; these do: .*{run.id}"):
        cellmill.cancel(run.id + 1000)
    assert cellmill.cancel(run.id) == 20
    late = default.submit(tasks.double, 1)
    assert cellmill.cancel() == 1
    assert late.cancelled()
    cellmill.resume()
    with pytest.raises(CancelledError):
        list(results)


@pytest.mark.parametrize("return_exceptions", [False, True])
def test_a_cancelled_map_takes_no_more_of_its_input(default: Executor, return_exceptions: bool) -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(10_000):
            if i == 5:  # all is done that was sent: there is nothing to cancel but what comes
                (run,) = [run for run in run_registry.active_runs() if run._backend is default._backend]
                canceller = threading.Thread(target=cellmill.cancel, args=(run,))
                canceller.start()
                canceller.join(SECONDS)
            taken.append(i)
            yield i

    results = default.map(tasks.double, numbers(), return_exceptions=return_exceptions)
    found: list[int] = []
    with pytest.raises(CancelledError):
        found.extend(x for x in results if not isinstance(x, CancelledError))
    assert taken[:6] == [0, 1, 2, 3, 4, 5]
    assert len(taken) < 5000  # the block that it was at, at most
    assert found == sorted(found)  # what was on its way may be cancelled, too
    assert set(found) <= {0, 2, 4, 6, 8}
    # what was on its way ends by itself
    assert comes_down(lambda: sum(run._backend is default._backend for run in run_registry.active_runs()), 0)
    assert default.submit(tasks.double, 4).result(SECONDS) == 8


@pytest.mark.parametrize("what", ["all", True, 1.5])
def test_cancel_of_nothing_sensible(what: object) -> None:
    with pytest.raises(UsageError, match="a run or its number, or a future"):
        cellmill.cancel(what)  # type: ignore[arg-type]
