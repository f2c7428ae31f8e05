"""Large results on a Dask cluster that Cellmill did not start: they stay on the worker that made them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellmill import DependencyError, Executor, PayloadError, WorkerLostError
from cellmill.backends.cluster.engines.dask_values import HeldByDask
from tests.support import tasks
from tests.support.dasks import local_cluster
from tests.support.helpers import SECONDS, Gate, comes_down, start_script
from tests.support.staying import BYTES, Traffic, change, join, last_of, make, make_again, sum_of
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
numpy = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        local_cluster(n_workers=2, threads_per_worker=1) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def ex(client: Any) -> Iterator[Executor]:
    """On the cluster by its client, with both workers; afterwards nothing is left there."""
    client.wait_for_workers(2, timeout=SECONDS)
    theirs = client.scatter([1, 2], hash=False)
    before = set(client.who_has())
    with Executor(backend=client) as executor:
        until(lambda: executor.stats().workers == 2)
        yield executor
    assert comes_down(lambda: len(set(client.who_has()) - before), 0)
    assert client.gather(theirs) == [1, 2]
    assert not [key for keys in client.processing().values() for key in keys]


def values(client: Any) -> dict[str, Any]:
    """The values that stay on workers, by their keys."""
    return {key: who for key, who in client.who_has().items() if "cellmill-value" in str(key)}


def test_values_stay_where_they_are_made(client: Any, ex: Executor) -> None:
    """Twenty are made and used; what passes the kernel is a small part of one."""
    with Traffic(ex) as passed:
        made = [ex.submit(make, i) for i in range(20)]
        used = [ex.submit(sum_of, value) for value in made]
        found = [future.result(SECONDS) for future in used]
    assert [total for total, _, _ in found] == [i * BYTES for i in range(20)]
    assert passed.bytes < BYTES // 2
    assert sum(there == here for _, there, here in found) >= 15  # mostly where they are
    assert len(values(client)) == 20
    del made, used
    assert comes_down(lambda: len(values(client)), 0)


def test_the_value_is_fetched_when_it_is_asked_for(client: Any, ex: Executor) -> None:
    future = ex.submit(make, 7)
    assert future.exception(SECONDS) is None
    assert "finished" in repr(future)
    with Traffic(ex) as passed:
        pid, array = future.result()
    assert (array == 7).all()
    assert pid != os.getpid()
    assert passed.bytes < BYTES // 100  # not in a pack; an empty reply may come late
    array[:] = 8  # it is the caller's own
    assert future.result()[1] is array


def test_small_results_and_those_of_maps_travel(client: Any, ex: Executor) -> None:
    assert ex.submit(make, 1, 500_000).result(SECONDS)[1].nbytes == 500_000
    assert [int(array[0]) for _, array in ex.map(make, range(4))] == [0, 1, 2, 3]
    assert not values(client)


def test_what_was_made_before_the_call_is_used_where_it_is(client: Any, ex: Executor) -> None:
    """The producers are over when the consumers are called, as from one cell to the next."""
    made = [ex.submit(make, i) for i in range(10)]
    for future in made:
        future.exception(SECONDS)
    with Traffic(ex) as passed:
        found = [ex.submit(sum_of, [value][0]).result(SECONDS) for value in made]
    assert [total for total, _, _ in found] == [i * BYTES for i in range(10)]
    assert all(there == here for _, there, here in found)  # one at a time: the holder is free
    assert passed.bytes < BYTES // 2
    assert list(ex.map(last_of, made)) == list(range(10))
    made[3].result()[1][:] = 99  # it was changed here: tasks see that
    assert ex.submit(last_of, made[3]).result(SECONDS) == 99


def test_a_chain_and_a_diamond(client: Any, ex: Executor) -> None:
    with Traffic(ex) as passed:
        first = ex.submit(make, 1)
        chain = ex.submit(change, ex.submit(change, first))
        left, right = ex.submit(change, chain), ex.submit(change, chain)
        whole = ex.submit(join, left, right, first)
        assert whole.result(SECONDS) == (4 + 4 + 1) * BYTES
    assert passed.bytes < BYTES // 2


def test_each_task_has_a_value_of_its_own(client: Any, ex: Executor) -> None:
    """What a task changes, neither another one nor the caller sees; nor what the maker changes later."""
    made = [ex.submit(make_again, i) for i in range(6)]  # one array in each worker, filled anew
    changed = [ex.submit(change, value) for value in made]
    assert [int(future.result(SECONDS)[1][0]) for future in changed] == [i + 1 for i in range(6)]
    assert [int(future.result(SECONDS)[1][0]) for future in made] == list(range(6))


def test_a_consumer_elsewhere(client: Any, ex: Executor, gate: Gate) -> None:
    """The holder is busy: the value goes to the other worker, without the kernel."""
    made = ex.submit(make, 3)
    made.exception(SECONDS)
    (holder,) = values(client).values()
    held = [ex.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started(2)
    gate.release()  # one of them
    until(lambda: any(future.done() for future in held))
    with Traffic(ex) as passed:
        found = {ex.submit(sum_of, made).result(SECONDS)[0] for _ in range(3)}
    assert found == {3 * BYTES}
    assert passed.bytes < BYTES // 2
    gate.release()
    assert sorted(future.result(SECONDS) for future in held) == [0, 1]
    assert holder


def test_what_is_cancelled_leaves_nothing(client: Any, ex: Executor, gate: Gate) -> None:
    made = ex.submit(make, 3)
    made.exception(SECONDS)
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    waiting = [ex.submit(sum_of, made) for _ in range(5)] + [ex.submit(make, i) for i in range(5)]
    assert all(future.cancel() for future in waiting)
    del made, waiting
    gate.release(2)
    for future in held:
        future.result(SECONDS)
    assert comes_down(lambda: len(values(client)), 0)


def test_what_is_not_asked_for_comes_at_the_end(client: Any) -> None:
    with Executor(backend=client) as ex:
        kept, dropped = ex.submit(make, 5), ex.submit(make, 6)
        dropped.exception(SECONDS)
        del dropped
    assert (kept.result()[1] == 5).all()
    assert comes_down(lambda: len(values(client)), 0)


def test_by_address(client: Any) -> None:
    with Executor(backend=client.scheduler.address) as ex:
        assert ex.submit(sum_of, ex.submit(make, 2)).result(SECONDS)[0] == 2 * BYTES
        kept = ex.submit(make, 3)
        kept.exception(SECONDS)
        assert values(client)
    assert kept.result()[1][0] == 3
    assert comes_down(lambda: len(values(client)), 0)


def test_nothing_stays_when_the_kernel_dies(client: Any, tmp_path: Path) -> None:
    code = """
        import sys
        from cellmill import Executor
        from tests.support.staying import make
        ex = Executor(backend=sys.argv[1])
        kept = [ex.submit(make, i) for i in range(3)]
        print([future.exception(60) for future in kept], flush=True)
        sys.stdin.read()
    """
    with start_script(
        tmp_path,
        code,
        client.scheduler.address,
        stdin=-1,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    ) as kernel:
        assert kernel.stdout is not None
        assert kernel.stdout.readline() == "[None, None, None]\n"
        assert len(values(client)) == 3
        kernel.kill()
    assert comes_down(lambda: len(values(client)), 0)


def test_a_lost_value_is_named(client: Any) -> None:
    """Its worker is killed between maker and user."""
    with Executor(backend=client) as ex:
        made = ex.submit(make, 4)
        made.exception(SECONDS)
        (holders,) = values(client).values()
        (address,) = holders
        os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
        until(lambda: not values(client))
        words = rf"the value of make \(task #\d+\), 2 MB, is lost: it was on the worker {address}"
        with pytest.raises(DependencyError, match=f"the task did not run: {words}") as failed:
            ex.submit(sum_of, made).result(SECONDS)
        assert isinstance(failed.value.__cause__, WorkerLostError)
        for _ in range(2):
            with pytest.raises(WorkerLostError, match=words):
                made.result(SECONDS)
        assert isinstance(made.exception(), WorkerLostError)
        with pytest.raises(DependencyError, match="is lost"):
            ex.submit(sum_of, made).result(SECONDS)
        assert ex.submit(sum_of, ex.submit(make, 5)).result(SECONDS)[0] == 5 * BYTES
    client.wait_for_workers(2, timeout=SECONDS)


def test_values_of_a_cluster_that_is_gone() -> None:
    """They cannot be had; it is said, and the end does not wait for each of them."""
    with local_cluster(n_workers=1) as gone:
        ex = Executor(backend=gone.scheduler_address)
        made = [ex.submit(make, i) for i in range(5)]
        for future in made:
            future.exception(SECONDS)
    begun = time.monotonic()
    with pytest.raises(PayloadError, match="could not be read from the workers"):
        made[0].result(SECONDS)
    ex.shutdown()
    assert time.monotonic() - begun < SECONDS


def test_it_can_be_switched_off_and_asked_for(client: Any) -> None:
    with Executor(backend=client, proxies=False) as ex, Traffic(ex) as passed:
        assert ex.submit(sum_of, ex.submit(make, 2)).result(SECONDS)[0] == 2 * BYTES
    assert passed.bytes > BYTES
    with Executor(2, backend="dask", proxies="workers", proxy_above="1kB") as ex, Traffic(ex) as passed:
        assert ex.submit(sum_of, ex.submit(make, 2)).result(SECONDS)[0] == 2 * BYTES
        assert passed.bytes < BYTES // 2
        begun = time.monotonic()
    assert time.monotonic() - begun < SECONDS


def test_the_bound_of_result_holds_while_a_value_is_fetched(
    client: Any, ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun goes on: a later call has it."""
    made = ex.submit(make, 6)
    made.exception(SECONDS)
    held, gather = threading.Event(), HeldByDask.get

    def slow(self: HeldByDask, key: Any) -> Any:
        assert held.wait(SECONDS)
        return gather(self, key)

    monkeypatch.setattr(HeldByDask, "get", slow)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        made.result(0.2)
    assert time.monotonic() - begun < SECONDS / 2
    held.set()
    assert (made.result(SECONDS)[1] == 6).all()
    assert made.result(0)[1] is made.result()[1]
