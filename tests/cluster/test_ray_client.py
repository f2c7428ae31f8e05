"""A Ray cluster reached from outside, by Ray's client: everything goes through its server."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait

import numpy as np
import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.cluster.engines.raybridge.head import free_ports
from tests.support import tasks
from tests.support.rays import head_node

pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
pytest.importorskip("grpc", reason="pip install 'ray[client]'")
pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
SECONDS = 120.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Ray that Cellmill did not start, and the port of its client's server."""
    main, client = free_ports(2)
    options = f"--port={main}", f"--ray-client-server-port={client}", "--num-cpus=2"
    with head_node(tmp_path_factory.mktemp("ray"), client, *options):
        yield f"ray://127.0.0.1:{client}"


@pytest.fixture
def ex(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with Executor(backend=address) as executor:
        yield executor


def test_tasks_maps_and_large_values(ex: Executor) -> None:
    assert ex.submit(tasks.double, 4).result(SECONDS) == 8
    assert list(ex.map(tasks.double, range(10_000))) == [2 * i for i in range(10_000)]
    array = np.arange(1_000_000.0)
    assert np.array_equal(ex.submit(np.negative, array).result(SECONDS), -array)
    with pytest.raises(LookupError):
        ex.submit(tasks.fail).result(SECONDS)


def _thread(_: int) -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def test_packs_of_an_actor_run_in_one_thread(ex: Executor) -> None:
    """Ray's client takes a thread for each call that waits; `per_worker` has a value for each that runs packs."""
    threads = {future.result(SECONDS) for future in [ex.submit(_thread, i) for i in range(1000)]}
    assert len(threads) == len({pid for pid, _ in threads})


def test_a_word_beside_the_packs_and_the_end_of_workers(ex: Executor) -> None:
    running = [ex.submit(time.sleep, 600) for _ in range(2)]
    deadline = time.monotonic() + SECONDS
    while not all(future.running() for future in running):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert all(future.cancel(force=True) for future in running)
    assert not wait(running, SECONDS).not_done
    lost = ex.submit(tasks.die, "exit")
    with pytest.raises(cellmill.WorkerLostError):
        lost.result(SECONDS)
    with pytest.raises(cellmill.TaskTimeoutError):
        ex.options(timeout=0.5).submit(time.sleep, 600).result(SECONDS)
    assert ex.submit(tasks.double, 1).result(SECONDS) == 2
