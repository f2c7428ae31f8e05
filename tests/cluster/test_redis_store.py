"""Large values past the scheduler through a real Redis server, where there is one."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cellmill import Executor, WorkerLostError
from cellmill.backends.cluster.engines.raybridge.head import free_ports
from tests.support.helpers import SECONDS

pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
pytest.importorskip("proxystore", reason="pip install 'cellmill[proxies]'")
redis = pytest.importorskip("redis", reason="pip install redis")
pytestmark = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="no redis-server; on Debian: apt-get install redis-server"
)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of a server of this test alone."""
    [number] = free_ports(1)
    command = [
        "redis-server",
        "--port",
        str(number),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(tmp_path),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", number), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
        yield number
    finally:
        server.kill()
        server.wait()


def kill_myself(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_values_go_through_it_and_none_is_left(port: int) -> None:
    store = redis.Redis(port=port)
    array = np.arange(500_000.0)
    with Executor(2, backend="dask", proxies=f"redis://127.0.0.1:{port}") as executor:
        negative = executor.submit(np.negative, array)
        assert executor.submit(np.sum, negative).result(SECONDS) == -array.sum()
        assert len(store.keys()) > 0
        shared = executor.share(array)
        assert executor.submit(np.take, shared, 7).result(SECONDS) == 7.0
        with pytest.raises(WorkerLostError):
            executor.submit(kill_myself, array).result(SECONDS)
        assert np.array_equal(negative.result(SECONDS), -array)
    assert store.keys() == []
