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
from tests.support.dasks import all_there, local_cluster
from tests.support.helpers import SECONDS, Gate, comes_down, start_script
from tests.support.staying import BYTES, Traffic, make, sum_of
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
numpy = pytest.importorskip("numpy")


@pytest.fixture
def client(processes: Any) -> Any:
    return all_there(processes)


@pytest.fixture
def ex(client: Any) -> Iterator[Executor]:
    """On the cluster by its client, with both workers; afterwards nothing is left there."""
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


def test_what_is_not_asked_for_comes_at_the_end(client: Any, ex: Executor) -> None:
    """And that of another executor of the same client stays."""
    theirs = ex.submit(make, 4)
    with Executor(backend=client) as other:
        kept, dropped = other.submit(make, 5), other.submit(make, 6)
        dropped.exception(SECONDS)
        del dropped
    assert (kept.result()[1] == 5).all()
    assert comes_down(lambda: len(values(client)), 1)
    assert (theirs.result(SECONDS)[1] == 4).all()
    del theirs
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
    with Executor(1, backend="dask", proxies="workers", proxy_above="1kB") as ex, Traffic(ex) as passed:
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
