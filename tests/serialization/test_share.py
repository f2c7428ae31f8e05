"""`share`: put once, loaded once by each worker, read in place, and gone when it is not needed any more."""

from __future__ import annotations

import functools
import gc
import os
import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, PayloadError
from cellmill.backends.scheduled.scheduler import ffi, with_gil
from tests.support import sharing, tasks
from tests.support.helpers import SECONDS, Gate
from tests.support.sharing import Heavy, Model

numpy = pytest.importorskip("numpy")
MB = 1 << 20


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return Model(tmp_path, numpy.arange(MB // 8, dtype=float))


@pytest.fixture
def light(tmp_path: Path) -> Model:
    """Its numbers need no numpy in new workers."""
    return Model(tmp_path, array("d", range(MB // 8)))


def used(executor: Executor) -> int:
    """Bytes of the kernel's memory and file that hold payloads."""
    backend: Any = executor._backend
    backend.scheduler.poll()
    stats = ffi.new("csched_stats_t *")
    with_gil.csched_stats(backend.scheduler.handle, stats)
    return int(stats.arena_used + stats.file_used)


def comes_to(executor: Executor, most: int) -> bool:
    """Whether memory is given back, now or soon: workers have to let go first."""
    pause, end = threading.Event(), time.monotonic() + SECONDS
    while used(executor) > most:
        if time.monotonic() > end:
            return False
        gc.collect()
        pause.wait(0.01)
    return True


def test_each_worker_loads_it_once(pool: Executor, model: Model) -> None:
    shared = cellmill.share(model)
    assert sharing.who(shared.value)[1] == id(model)
    found = {f.result(SECONDS) for f in [pool.submit(sharing.who, shared, i) for i in range(200)]}
    found |= set(pool.map(functools.partial(sharing.who, shared), range(200)))
    assert {kind for kind, _, _ in found} == {"Model"}
    assert len(found) == len({pid for _, _, pid in found})  # one object in each process
    assert sorted(model.loads()) == sorted({pid for _, _, pid in found})
    assert os.getpid() not in model.loads()


def test_wherever_it_stands(pool: Executor, model: Model) -> None:
    shared, other = cellmill.share(model), cellmill.share([1, 2])
    f = pool.submit(sharing.kinds, [shared, (1, shared)], {"a": {"b": other}}, key=shared)
    assert f.result(SECONDS) == ["Model", "int", "Model", "int", "int", "Model"]
    assert list(pool.map(sharing.at, repeat(shared), range(50))) == list(range(50))
    assert [pool.submit(pow, i, 2).result(SECONDS) for i in range(3)] == [0, 1, 4]

    def closure(x: int) -> float:
        return shared.at(x)  # type: ignore[no-any-return]

    assert pool.submit(closure, 5).result(SECONDS) == 5.0
    assert list(pool.map(closure, range(50))) == list(range(50))
    assert pool.submit(sharing.at, shared, pool.submit(abs, -7)).result(SECONDS) == 7.0
    assert len(model.loads()) <= 2


def test_arrays_are_read_in_place(pool: Executor, model: Model) -> None:
    with pool.share(model) as shared:
        assert used(pool) > MB
        assert not any(pool.submit(sharing.writeable, shared).result(SECONDS) for _ in range(4))
        assert f"Model, {MB:,}"[:9] in repr(shared)
        assert "in shared memory" in repr(shared)
    assert repr(shared) == "<cellmill.Shared, closed>"


def test_later_changes_are_not_seen(pool: Executor) -> None:
    value = [1]
    shared = pool.share(value)
    value.append(2)
    assert pool.submit(tasks.same, shared).result(SECONDS) == [1]
    assert cellmill.share(shared) is shared


def test_memory_stays_flat(fresh: Executor) -> None:
    """Two dozen shared, used in all ways, and dropped: by their last reference, by `close`, at the end of `with`."""

    def by_closure(array: Any) -> Callable[[int], int]:
        return lambda x: int(array[x])

    for i in range(24):
        shared = cellmill.share(numpy.full(MB // 8, i))
        if i % 3 == 0:
            assert fresh.submit(numpy.max, shared).result(SECONDS) == i
        elif i % 3 == 1:
            assert fresh.submit(by_closure(shared), 3).result(SECONDS) == i
            shared.close()
        else:
            with shared:
                assert set(fresh.map(by_closure(shared), range(20))) == {i}
        del shared
        assert used(fresh) < 10 * MB
    assert comes_to(fresh, MB // 2)


def test_tasks_that_were_submitted_have_it_still(fresh: Executor, light: Model, gate: Gate) -> None:
    holds = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    shared = cellmill.share(light)
    futures = [fresh.submit(sharing.at, shared, i) for i in range(20)]
    shared.close()
    with pytest.raises(PayloadError, match=r"at cannot be called: the shared object was closed"):
        fresh.submit(sharing.at, shared, 1)
    with pytest.raises(PayloadError, match="closed"):
        _ = shared.value
    gate.release(2)
    assert [f.result(SECONDS) for f in futures] == list(range(20))
    assert [f.result(SECONDS) for f in holds] == [None, None]
    assert comes_to(fresh, 0)


def test_a_map_goes_on_to_the_end_it_can_have(pool: Executor, model: Model) -> None:
    """Elements that were not sent when it was closed fail, each for itself."""
    shared = cellmill.share(model)

    def items() -> Iterator[tuple[Any, int]]:
        for i in range(60):
            if i == 40:
                shared.close()
            yield shared, i

    outcomes = list(pool.map(_at_pair, items(), return_exceptions=True, chunksize=5))
    good = [x for x in outcomes if not isinstance(x, BaseException)]
    assert good == list(range(len(good)))
    assert all(isinstance(x, PayloadError) for x in outcomes[len(good) :])
    assert len(outcomes) == 60


def _at_pair(pair: tuple[Model, int]) -> float:
    return pair[0].at(pair[1])


def test_a_closed_one_in_a_function(pool: Executor, model: Model) -> None:
    shared = cellmill.share(model)

    def closure(x: int) -> float:
        return shared.at(x)  # type: ignore[no-any-return]

    assert pool.submit(closure, 5).result(SECONDS) == 5.0
    shared.close()
    with pytest.raises(PayloadError, match=r"the function .*closure cannot be sent.* closed"):
        pool.submit(closure, 5)


def test_a_new_worker_fetches_it_anew(fresh: Executor, light: Model) -> None:
    shared = cellmill.share(light)
    _, _, pid = fresh.submit(sharing.who, shared).result(SECONDS)
    os.kill(pid, signal.SIGKILL)
    assert list(fresh.map(functools.partial(sharing.at, shared), range(100))) == list(range(100))
    fresh.restart()
    assert set(fresh.run_on_workers(os.getpid)).isdisjoint({pid})
    assert list(fresh.map(sharing.at, repeat(shared), range(100))) == list(range(100))
    assert len(light.loads()) == len(set(light.loads()))
    shared.close()
    assert comes_to(fresh, 0)


def test_a_task_that_dies_with_it(fresh: Executor, light: Model) -> None:
    shared = cellmill.share(light)
    with pytest.raises(cellmill.WorkerLostError, match=r"<shared Model>"):
        fresh.submit(tasks.die, "SIGKILL", shared).result(SECONDS)
    assert fresh.submit(sharing.at, shared, 3).result(SECONDS) == 3.0
    del shared
    assert comes_to(fresh, 0)


def test_two_executors(pool: Executor, light: Model) -> None:
    shared = cellmill.share(light)
    with Executor(1) as other, Executor(backend="inline") as here, Executor(1, backend="threads") as threads:
        for executor in (pool, other, here, threads, pool):
            assert executor.submit(sharing.at, shared, 4).result(SECONDS) == 4.0
        assert here.submit(sharing.who, [shared]).result()[0] == "list"
        assert threads.submit(sharing.who, shared).result(SECONDS)[1] == id(light)
        assert here.submit(sharing.who, shared).result()[1] == id(light)
    assert pool.submit(sharing.at, shared, 4).result(SECONDS) == 4.0
    with pytest.raises(RuntimeError, match="shutdown"):
        other.share(light)


def test_shared_objects_refer_to_each_other(fresh: Executor, light: Model) -> None:
    inner = cellmill.share(light)
    outer = cellmill.share({"model": inner, "scale": 2})
    assert fresh.submit(sharing.kinds, outer).result(SECONDS) == ["Model", "int"]
    assert fresh.submit(sharing.kinds, outer, inner).result(SECONDS) == ["Model", "int", "Model"]
    del inner, outer
    assert comes_to(fresh, 0)


def test_what_cannot_be_pickled(pool: Executor, tmp_path: Path) -> None:
    shared = cellmill.share({"model": Model(tmp_path, tasks.lock())})
    for _ in range(2):
        words = r"the shared dict cannot be sent to workers: in it, \['model'\].weights is a lock"
        with pytest.raises(PayloadError, match=words):
            pool.submit(tasks.same, shared)
    with pytest.raises(PayloadError, match="weights is a lock"):
        pool.share(Model(tmp_path, tasks.lock()))
    with pytest.raises(PayloadError, match="future"):
        pool.share([pool.submit(abs, 1)])


def test_what_does_not_come_back(pool: Executor, workers: None, tmp_path: Path) -> None:
    """Tasks fail, workers stay, and each tries once."""
    shared = cellmill.share(Heavy(tmp_path))
    for _ in range(4):
        with pytest.raises(
            PayloadError, match="shared Heavy cannot be unpickled in a worker: OSError: no such"
        ):
            pool.submit(tasks.same, shared).result(SECONDS)
    outcomes = list(pool.map(sharing.who, [shared] * 10, return_exceptions=True))
    assert [type(x) for x in outcomes] == [PayloadError] * 10
    assert len((tmp_path / "loads").read_text()) <= 2


def test_it_is_not_pickled_by_itself(pool: Executor) -> None:
    import pickle

    shared = cellmill.share([1])
    with pytest.raises(PayloadError, match=r"use its \.value"):
        pickle.dumps(shared)
    with pytest.raises(PayloadError, match="arguments of calls"):
        pool.run_on_workers(lambda: shared)


def test_a_failed_call_is_made_again(pool: Executor, model: Model) -> None:
    shared = cellmill.share(model)
    with pytest.raises(IndexError):
        pool.submit(sharing.at, shared, MB).result(SECONDS)
    failure: Any = pool._backend.failures.latest()  # type: ignore[attr-defined]
    assert failure.arguments == f"<shared Model>, {MB}"
    function, args, _ = failure.call()
    assert args[0] is model
    with pytest.raises(IndexError):
        function(*args)


def test_in_the_kernel_it_stands_for_the_object() -> None:
    shared = cellmill.share(numpy.arange(4))
    assert (shared.shape, len(shared), shared[1], list(shared)) == ((4,), 4, 1, [0, 1, 2, 3])
    assert (shared + 1).tolist() == (1 + shared).tolist() == [1, 2, 3, 4]
    assert numpy.asarray(shared) is shared.value
    assert cellmill.share(abs)(-1) == 1
    assert 2 in cellmill.share({2})
    assert not hasattr(shared, "_repr_html_")


def test_per_worker_factories(pool: Executor, light: Model) -> None:
    shared = cellmill.share(light)

    @cellmill.per_worker
    def engine() -> list[float]:
        return [shared.at(3)]

    def use(_: int) -> float:
        return engine()[0]  # type: ignore[no-any-return]

    def use_too(_: int) -> float:
        return engine()[0] + 1  # type: ignore[no-any-return]

    assert set(pool.map(use, range(20))) == {3.0}
    assert set(pool.map(use_too, range(20))) == {4.0}
    with Executor(1) as other:
        assert other.submit(use, 0).result(SECONDS) == 3.0


def test_more_than_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with Executor(1, memory=MB // 2) as executor, executor.share(model) as shared:
        assert "in a file" in repr(shared)
        assert list(executor.map(sharing.at, repeat(shared), range(20))) == list(range(20))
        shared.close()
        assert comes_to(executor, 0)
    assert not list(folder.iterdir())


def test_a_program_that_forks(script: Callable[..., str]) -> None:
    """A class of ``__main__``, a global variable that becomes another object; children leave the pool alone."""
    out = script(
        """
        import gc, os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads
        import cellmill
        class Table:
            def __init__(self, n): self.n = n
        def n(x=0): return table.n, type(table).__name__
        ex = cellmill.Executor(1)
        table = cellmill.share(Table(1))
        print(ex.submit(n).result(), *set(ex.map(n, range(9))), flush=True)
        table = cellmill.share(Table(2))
        print(ex.submit(n).result(), *set(ex.map(n, range(9))), flush=True)
        pid = os.fork()
        if pid == 0:
            with cellmill.Executor(1) as own:
                print(own.submit(n).result(), flush=True)
            table.close()
            del table
            gc.collect()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print(set(ex.map(n, range(9))))
        ex.shutdown()
        """
    )
    one, two = "(1, 'Table')", "(2, 'Table')"
    assert out.splitlines() == [f"{one} {one}", f"{two} {two}", two, f"{{{two}}}"]


def test_operators_on_both_sides() -> None:
    """What is shared here computes as the object does, on whichever side of the operator it is."""
    shared = cellmill.share(3)
    assert (shared - 10, 10 - shared) == (-7, 7)
    assert (shared**2, 2**shared) == (9, 8)
    assert (shared // 2, 10 // shared, 7 % shared) == (1, 3, 1)
    assert (12 / shared, 1 << shared) == (4.0, 8)
    shared.close()
