"""Ray's autoscaler, in its simulation of several nodes on one machine, starts nodes for workers that wait for room."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.rays import head_node, left_of

pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
SECONDS = 120.0
PORT = 6379  # where the simulation's nodes look for their head
HEAD = "f" * 56 + "00000000"  # the id of that, as the simulation has it
COMMANDS = "initialization setup head_setup worker_setup head_start_ray worker_start_ray"
WORKER = {"resources": {"CPU": 1, "object_store_memory": 100_000_000}, "node_config": {}}
CONFIG: dict[str, Any] = {
    "cluster_name": "simulated",
    "max_workers": 3,
    "upscaling_speed": 1.0,
    "idle_timeout_minutes": 0.1,
    "provider": {
        "type": "fake_multinode",
        "head_node_id": HEAD,
        "use_node_id_as_ip": True,  # all are on this machine
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    },
    "available_node_types": {
        "head": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
        "worker": {**WORKER, "min_workers": 0, "max_workers": 3},
    },
    "head_node_type": "head",
    "auth": {},
    "docker": {},
    "file_mounts": {},
    "cluster_synced_files": [],
    **{f"{name}_commands": [] for name in COMMANDS.split()},
}


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Ray of a head that runs nothing."""
    with socket.socket() as end:
        if end.connect_ex(("127.0.0.1", PORT)) == 0:
            pytest.skip(f"something else is at port {PORT}, which the simulation needs")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    (tmp_path / "nodes.json").write_text(json.dumps(CONFIG))
    options = f"--port={PORT}", "--num-cpus=0", f"--autoscaling-config={tmp_path / 'nodes.json'}"
    with head_node(tmp_path, PORT, *options, RAY_FAKE_CLUSTER="1", AUTOSCALER_UPDATE_INTERVAL_S="1"):
        yield f"ray:127.0.0.1:{PORT}"
        nodes = {each.pid for each in psutil.process_iter() if is_node(each)}
    assert not left_of(nodes, SECONDS)  # they look for their head for a while


def is_node(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        return any("raylet" in word for word in words[:1]) and any(f":{PORT}" in word for word in words)
    return False


def test_nodes_come_for_workers_that_wait(address: str) -> None:
    with Executor(2, backend=address) as ex:
        assert list(ex.map(tasks.double, range(100))) == [2 * i for i in range(100)]
        deadline = time.monotonic() + SECONDS
        while [worker.state for worker in ex.workers()] != ["idle"] * 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        nodes = set(ex.run_on_workers(_node))
        assert len(nodes) == 2  # each has one CPU


def _node() -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())
