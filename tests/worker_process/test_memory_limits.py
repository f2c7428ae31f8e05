"""What memory does not hold: files for it, errors when there is no room at all, and nothing that stays behind."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.scheduled.scheduler import ffi, with_gil
from tests.support import tasks
from tests.support.helpers import Gate, run_script

numpy = pytest.importorskip("numpy")
MB = 1 << 20
TINY = 4 * MB


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """Two workers, four megabytes of memory for the payloads of each process, and a folder for their files."""
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with Executor(2, memory=TINY) as executor:
        yield executor
        gc.collect()
        assert_given_back(executor)
    assert not list(folder.iterdir())


def figures(executor: Executor) -> Any:
    """The scheduler's csched_stats_t."""
    found = ffi.new("csched_stats_t *")
    with_gil.csched_stats(executor._backend.scheduler.handle, found)  # type: ignore[attr-defined]
    return found


def bytes_on_disk(folder: Path) -> int:
    """Of unnamed files in this folder that this process has open, the workers' among them."""
    found = {}
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{folder}/"):
                status = os.stat(f"/proc/self/fd/{descriptor}")
                found[status.st_ino] = status.st_size
    return sum(found.values())


def assert_given_back(executor: Executor) -> None:
    """Workers take back what is theirs between tasks: all of it, soon."""
    for _ in range(2000):
        executor.submit(tasks.double, 1).result()
        executor._backend.scheduler.wait(1)  # type: ignore[attr-defined]
        if not bytes_on_disk(Path(os.environ["TMPDIR"])):
            break
    assert bytes_on_disk(Path(os.environ["TMPDIR"])) == 0
    assert figures(executor).arena_used < MB
    assert figures(executor).file_used == 0


# -- larger than memory


def test_an_argument_and_a_result_larger_than_memory(tiny: Executor) -> None:
    array = numpy.arange(3 * TINY // 8)
    doubled = tiny.submit(tasks.double, array).result(60)
    assert numpy.array_equal(doubled, 2 * array)
    again = list(tiny.map(tasks.double, [array, array + 1]))
    assert numpy.array_equal(again[1], 2 * array + 2)
    doubled[0] = 5
    assert doubled[:2].tolist() == [5, 2]


def test_results_larger_than_memory_feed_dependents(tiny: Executor) -> None:
    array = tiny.submit(numpy.arange, 2 * TINY // 8)
    for _ in range(6):
        array = tiny.submit(numpy.add, array, 1)
    sums = [tiny.submit(numpy.sum, array) for _ in range(4)]
    size = 2 * TINY // 8
    assert [int(s.result(60)) for s in sums] == [size * (size - 1) // 2 + 6 * size] * 4
    del array


def test_many_inputs_of_one_task_larger_than_memory(tiny: Executor) -> None:
    """Each is small and travels in line; together they need a block that memory does not hold."""
    parts = [tiny.submit(bytes, 8000) for _ in range(1000)]
    assert tiny.submit(tasks.total_length, parts).result(60) == 8_000_000


# -- full while nothing ends


def test_all_payloads_belong_to_waiting_tasks(tiny: Executor, gate: Gate) -> None:
    first = tiny.submit(tasks.hold, gate.folder, 1.0)
    gate.wait_started()
    futures = [tiny.submit(numpy.add, numpy.full(MB // 8, i), first) for i in range(30)]
    assert figures(tiny).file_used > 20 * MB
    gate.release()
    assert [int(f.result(60)[0]) for f in futures] == [i + 1 for i in range(30)]
    del futures


def test_results_that_are_kept_fill_memory(tiny: Executor) -> None:
    kept = [tiny.submit(numpy.full, MB // 8, i).result(60) for i in range(40)]
    assert [int(a[-1]) for a in kept] == list(range(40))
    assert all((a == i).all() for i, a in enumerate(kept))
    del kept


def test_results_that_wait_for_a_task_behind_them(tiny: Executor, gate: Gate) -> None:
    """Their only reader waits for another task: the tasks that make them must not wait for it."""
    held_back = tiny.submit(tasks.hold, gate.folder, 0)
    arrays = [tiny.submit(numpy.full, MB // 8, 1) for _ in range(20)]
    reader = tiny.submit(tasks.total_size, arrays, held_back)
    for array in arrays:
        assert array.result(60).nbytes == MB
    gate.release()
    assert reader.result(60) == 20 * (MB // 8)
    del arrays, array


def test_a_paused_pool_takes_more_than_memory_holds(tiny: Executor) -> None:
    tiny.pause()
    futures = [tiny.submit(numpy.sum, numpy.full(MB // 8, i)) for i in range(12)]
    tiny.resume()
    assert [int(f.result(60)) for f in futures] == [i * (MB // 8) for i in range(12)]


def test_cancelled_tasks_give_their_room_back(tiny: Executor, gate: Gate) -> None:
    running = [tiny.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    futures = [tiny.submit(numpy.sum, numpy.ones(MB // 8)) for _ in range(12)]
    assert all(f.cancel() for f in futures)
    gate.release(2)
    assert [f.result(60) for f in running] == [None, None]


def test_a_worker_that_dies_takes_its_file_along(tiny: Executor) -> None:
    kept = tiny.submit(tasks.array_and_pid, 2 * TINY).result(60)
    with pytest.raises(cellmill.WorkerLostError):
        tiny.submit(tasks.die_unless, -1).result(60)
    futures = [tiny.submit(tasks.array_and_pid, 2 * TINY) for _ in range(4)]
    assert all(f.result(60)[0].nbytes == 2 * TINY for f in futures)
    assert (kept[0] == kept[1]).all()  # it outlives its worker, if that was the one
    del kept, futures


# -- no room at all


def test_more_than_there_is(pool: Executor, tmp_path: Path) -> None:
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "1":
        pytest.skip("this machine promises any amount of memory")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    huge = numpy.broadcast_to(numpy.zeros(1), 10 * memory // 8)
    for call in (
        lambda: pool.submit(len, huge),
        lambda: pool.submit(numpy.broadcast_to, numpy.zeros(1), 10 * memory // 8).result(60),
        lambda: list(pool.map(len, [huge])),
    ):
        with pytest.raises(cellmill.PayloadError, match="not enough memory to pickle it"):
            call()
    assert pool.submit(tasks.double, 1).result() == 2


def test_more_than_a_file_may_hold(pool: Executor, tmp_path: Path) -> None:
    """Nothing is copied or written before the error: the array is in an empty file."""
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 42)
    array = numpy.asarray(numpy.memmap(tmp_path / "sparse", dtype="u1", mode="r"))
    with pytest.raises(cellmill.PayloadError, match="larger than what can be sent at once"):
        pool.submit(len, array)
    assert pool.submit(tasks.double, 1).result() == 2


def test_memory_and_disk_full(tmp_path: Path) -> None:
    """A limit on the size of files simulates a full disk."""
    out, err = run_script(
        tmp_path,
        """
        import resource, time, cellmill
        from cellmill import Executor, PayloadError
        MB = 1 << 20
        def give(n):
            return bytes(n)
        def failure(call):
            try:
                return call()
            except PayloadError as error:
                return str(error)
        if __name__ == "__main__":
            resource.setrlimit(resource.RLIMIT_FSIZE, (8 * MB, 8 * MB))
            with Executor(2, memory=4 * MB) as ex:
                print(failure(lambda: ex.submit(len, bytes(20 * MB))))
                print(failure(lambda: ex.submit(give, 20 * MB).result()))
                print(failure(lambda: [len(x) for x in ex.map(give, [20 * MB], chunksize=1)]))
                began = time.process_time()
                print([type(x).__name__ for x in ex.map(len, [b"", bytes(20 * MB)], return_exceptions=True)])
                print("waits asleep", time.process_time() - began < 1.5)
                print(len(ex.submit(give, 5 * MB).result()), ex.submit(len, bytes(5 * MB)).result())
        """,
    )
    assert not err, err
    lines = out.splitlines()
    assert lines[0].startswith("no room for a payload of 20,971,")
    assert lines[1].startswith("no room for a result of 20,971,")
    assert lines[2].startswith("no room for a result of 20,971,")
    assert lines[3:] == ["['int', 'PayloadError']", "waits asleep True", f"{5 * MB} {5 * MB}"]


# -- functions that change


def test_a_closure_that_changes_leaves_nothing_behind(pool: Executor) -> None:
    data = numpy.zeros(MB // 8)

    def first() -> float:
        return float(data[0])

    for i in range(60):
        data = numpy.full(MB // 8, i)
        assert pool.submit(first).result() == i
        if i == 20:
            used = figures(pool).arena_used
    assert figures(pool).arena_used <= used + 4 * MB


def test_a_function_defined_anew_again_and_again(pool: Executor) -> None:
    def define(i: int) -> Any:
        data = numpy.full(MB // 8, i)
        return lambda: float(data[0])

    before = figures(pool).arena_used
    for i in range(110):
        assert pool.submit(define(i)).result() == i
    assert figures(pool).arena_used - before < 80 * MB


def test_tasks_keep_the_version_they_were_submitted_with(pool: Executor, gate: Gate) -> None:
    data = numpy.zeros(MB // 8)
    held_back = pool.submit(tasks.hold, gate.folder)

    def first(_: object) -> float:
        return float(data[0])

    futures = []
    for i in range(20):
        data = numpy.full(MB // 8, i)
        futures.append(pool.submit(first, held_back))
    gate.release()
    assert [f.result() for f in futures] == list(range(20))


def test_a_version_that_comes_back(pool: Executor) -> None:
    versions = [numpy.full(MB // 8, i) for i in range(12)]
    data = versions[0]

    def first() -> float:
        return float(data[0])

    for i in [*range(12), *range(12), 0, 0, 5, 0]:
        data = versions[i]
        assert pool.submit(first).result() == i


def test_what_user_code_keeps_of_a_dropped_function(fresh: Executor) -> None:
    """Its arrays are in shared memory, which must not be used for anything else while they are read."""

    def define(i: int) -> Any:
        data = numpy.full(MB // 8, i)

        def keep() -> bool:
            import builtins

            kept = builtins.__dict__.setdefault("_cellmill_test_kept", [])
            kept.append((i, data))
            return all((array[::512] == number).all() for number, array in kept)  # of each page one

        return keep

    fresh.set_workers(1)
    assert all(fresh.submit(define(i)).result() for i in range(100))
