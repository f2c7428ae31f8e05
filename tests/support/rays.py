"""Rays for tests: one of Cellmill's own (its processes, its address, its end), and one that it did not start."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellmill import Executor
from cellmill.process_context.process_tree import descendants

LEFT_OUT = Path(__file__).with_name("left_out")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class OwnRay:
    """An executor of two workers on a Ray of its own. Others join that Ray with ``backend`` as their backend."""

    executor: Executor
    bridge: int  # process id
    backend: str

    @property
    def actors(self) -> set[int]:
        """Process ids of the actors on this Ray, of all executors."""
        return {pid for pid, line in processes(self.bridge).items() if "PackActor" in line}


@contextlib.contextmanager
def own_ray() -> Iterator[OwnRay]:
    """When it is closed none of its processes is left, and nothing of its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # so that a second driver can join
        patch.setenv("PYTHONPATH", str(LEFT_OUT), prepend=os.pathsep)
        before = bridges()
        executor = Executor(2, backend="ray")
        (bridge,) = bridges() - before
        started = processes(bridge)
        folder = next(
            Path(part.partition("=")[2].partition("/session")[0]).parent
            for line in started.values()
            for part in line.split()
            if part.startswith("--raylet_socket_name=")
        )
        assert folder.stat().st_mode & 0o777 == 0o700
        yield OwnRay(executor, bridge, f"ray:{_address_of(started)}")
        everything = {bridge, *processes(bridge)}
        assert any("raylet" in line for line in started.values())
        executor.shutdown(cancel_futures=True)
        assert not left_of(everything, 5)
        assert not folder.exists()


@contextlib.contextmanager
def head_node(folder: Path, port: int, *options: str, **environment: str) -> Iterator[None]:
    """A Ray that Cellmill did not start: its first node, with these options, once something answers at the port."""
    paths = os.pathsep.join(
        [str(LEFT_OUT), str(ROOT), str(ROOT / "kernel_runtime"), os.environ.get("PYTHONPATH", "")]
    )
    ray = str(Path(sys.executable).with_name("ray"))
    command = [ray, "start", "--head", "--block", "--disable-usage-stats", "--include-dashboard=false"]
    with (folder / "log").open("wb") as log:
        head = subprocess.Popen(
            [*command, "--object-store-memory=200000000", *options],
            env={**os.environ, "PYTHONPATH": paths, "RAY_AUTH_MODE": "disabled", **environment},
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=folder,
        )
    try:
        deadline = time.monotonic() + 120
        while not _answers(port):
            assert head.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        yield
    finally:
        for pid in (*descendants(head.pid), head.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        head.wait(30)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def processes(below: int) -> dict[int, str]:
    """What runs below a process, with what it calls itself."""
    found = {}
    for pid in descendants(below):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if line:
            found[pid] = line
    return found


def bridges() -> set[int]:
    """Process ids of the drivers of Ray that this process has."""
    return {pid for pid, line in processes(os.getpid()).items() if "raybridge" in line}


def left_of(pids: set[int], seconds: float) -> set[int]:
    """Those of them that still run after so long; returns as soon as there are none."""
    deadline = time.monotonic() + seconds
    while left := {pid for pid in pids if _runs(pid)}:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return left


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _address_of(started: dict[int, str]) -> str:
    """HOST:PORT of the server that a driver connects to."""
    for line in started.values():
        for part in line.split():
            if part.startswith(("--gcs-address=", "--gcs_address=")):
                return part.partition("=")[2]
    raise AssertionError(f"no address among {started}")
