"""Large replies of Dask's workers: straight from these where the kernel reaches them, else by the scheduler."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import Executor
from tests.support.dasks import all_there, lent
from tests.support.helpers import SECONDS
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
numpy = pytest.importorskip("numpy")

SIZES = [10, 70_000, 300_000, 1_000_000, 5_000_000]


@pytest.fixture
def client(processes: Any) -> Any:
    return all_there(processes)


def _next(array: Any) -> Any:
    return array + 1


def _many(size: int) -> Any:
    return [numpy.full(size, i, numpy.uint8) for i in range(3)], "beside", numpy.arange(size)


def _emptied(made: Any) -> int:
    parts, _, _ = made
    total = sum(int(part.sum()) for part in parts)
    for part in parts:
        part[:] = 0
    return total


def _gathered(client: Any) -> int:
    """Return how often clients had results fetched by the scheduler."""
    return sum(event["action"] == "gather" for _, event in client.get_events("all") if "action" in event)


def _direct(ex: Executor) -> Any:
    return ex._backend.engine._direct  # type: ignore[attr-defined]


def _check(ex: Executor) -> None:
    arrays = [numpy.full(size, 3, numpy.uint8) for size in SIZES for _ in range(4)]
    for future, array in zip([ex.submit(_next, array) for array in arrays], arrays, strict=True):
        found = future.result(SECONDS)
        assert (found == array + 1).all()
        assert found.flags.aligned
        found += 1  # it is the caller's own
    parts, beside, numbers = ex.submit(_many, 400_000).result(SECONDS)
    assert [(part.size, part.min(), part.max()) for part in parts] == [(400_000, i, i) for i in range(3)]
    assert beside == "beside"
    assert (numbers == numpy.arange(400_000)).all()
    assert all(array.flags.aligned and array.flags.writeable for array in (*parts, numbers))


def _learn(ex: Executor, workers: int) -> None:
    """Until all workers are reached."""

    def reached() -> bool:
        _check(ex)
        return sum(_direct(ex)._reached.values()) >= workers

    until(reached)


def test_large_replies_come_straight_from_workers(client: Any) -> None:
    with Executor(backend=client) as ex:
        _learn(ex, 2)
        before = _gathered(client)
        _check(ex)
        assert _gathered(client) == before
        assert ex.submit(divmod, 7, 2).result(SECONDS) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            ex.submit(divmod, 7, 0).result(SECONDS)


def test_a_worker_that_is_killed_and_its_successor(client: Any) -> None:
    with Executor(backend=client) as ex:
        _learn(ex, 2)
        address, pid = next(iter(client.run(os.getpid).items()))
        os.kill(pid, signal.SIGKILL)
        _check(ex)
        until(lambda: address not in client.scheduler_info(n_workers=-1)["workers"])
        all_there(client)
        _learn(ex, 3)
        _check(ex)


class OutOfReach:
    """In place of a client's connections to workers."""

    def __call__(self, address: str) -> Any:
        raise ConnectionRefusedError(address)

    async def connect(self, address: str) -> Any:
        raise ConnectionRefusedError(address)

    def __getattr__(self, name: str) -> None:
        return None


@contextlib.contextmanager
def _another_client(client: Any, **options: Any) -> Iterator[Any]:
    with distributed.Client(client.cluster.scheduler_address, set_as_default=False, **options) as another:
        yield another


def test_workers_out_of_reach(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with _another_client(client) as another, monkeypatch.context() as changes:
        changes.setattr(another, "rpc", OutOfReach())
        with Executor(backend=another) as ex:
            _check(ex)
            _check(ex)
            assert set(_direct(ex)._reached.values()) == {False}
            for address in _direct(ex)._reached:  # as if they had been reached
                _direct(ex)._reached[address] = True
            before = _gathered(client)
            _check(ex)
            assert _gathered(client) > before


def test_an_owner_who_wants_no_connections_to_workers(client: Any) -> None:
    with _another_client(client, direct_to_workers=False) as another, Executor(backend=another) as ex:
        _check(ex)
        _check(ex)
        assert not _direct(ex)._reached


def test_workers_in_the_kernels_process() -> None:
    with lent(n_workers=2, threads_per_worker=2, processes=False) as client, Executor(backend=client) as ex:
        _check(ex)
        made = ex.submit(_many, 1_000_000)
        used = [ex.submit(_emptied, made) for _ in range(4)]
        assert [future.result(SECONDS) for future in used] == [3_000_000] * 4  # each had its own
        parts, _, numbers = made.result(SECONDS)
        numbers[:] = 0
        assert ex.submit(_emptied, made).result(SECONDS) == 3_000_000
        assert [int(part[-1]) for part in parts] == [0, 1, 2]
        _check(ex)
