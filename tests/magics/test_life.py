"""Kernels that end in every way, with tasks that do not want to: a second later nothing of ours is there."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.helpers import SECONDS, ends, shared_maps
from tests.support.notebook import Notebook


def second_of_grace() -> float:
    """The bar; a machine that has more to do than it has CPUs gets longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


START = """
import json, os, signal, subprocess, time
import cellmill
from cellmill.worker_process.zygote import descendants

@cellmill.parallel
def deaf(i):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; sleep 600; sleep 600"])
    while True:
        time.sleep(600)

fs = [deaf(i) for i in range(cellmill.default_executor().max_workers)]
while not all(f.running() for f in fs) or len(descendants(os.getpid())) < 1 + 4 * len(fs):
    pass
print(json.dumps(descendants(os.getpid())))
"""

FORK = """
import warnings
warnings.simplefilter("ignore")
import multiprocessing
def wait():
    time.sleep(600)
other = multiprocessing.get_context("fork").Process(target=wait)
other.start()
print(other.pid)
"""

DOUBLE = """
import cellmill
@cellmill.parallel
def double(x):
    return 2 * x
assert double(1).result() == 2
"""


@pytest.fixture
def own_kernel() -> Iterator[Notebook]:
    before = signal.signal(
        signal.SIGHUP, signal.SIG_DFL
    )  # under nohup a kernel would inherit that it is ignored
    try:
        made = Notebook()
    finally:
        signal.signal(signal.SIGHUP, before)
    yield made
    made.client.stop_channels()
    made.manager.shutdown_kernel(now=True)


def begin(notebook: Notebook) -> tuple[list[int], set[int]]:
    """Processes below the kernel, all ours, and the memory they share."""
    notebook.run("%load_ext cellmill").ok()
    below = json.loads(notebook.run(START).ok().stdout.splitlines()[-1])
    return below, {inode for pid in below for _, inode, _ in shared_maps(pid)}


def all_gone(below: list[int], memory: set[int], others: tuple[int, ...] = ()) -> None:
    assert memory
    for pid in below:
        assert ends(pid, second_of_grace()), f"{pid} outlives its kernel"
    for pid in others:
        assert not {inode for _, inode, _ in shared_maps(pid)} & memory


@pytest.mark.parametrize(
    "end", ["os._exit(1)", "import ctypes; ctypes.string_at(0)", "SIGKILL", "SIGHUP", "SIGTERM"]
)
def test_a_kernel_that_dies(own_kernel: Notebook, end: str) -> None:
    below, memory = begin(own_kernel)
    forked = int(own_kernel.run(FORK).ok().stdout)
    try:
        if end.startswith("SIG"):
            os.kill(own_kernel.manager.provisioner.pid, signal.Signals[end])
        else:
            own_kernel.start(end)
        all_gone(below, memory, (forked,))
    finally:
        os.kill(forked, signal.SIGKILL)


def test_exit(own_kernel: Notebook) -> None:
    """An orderly end cancels what the notebook's own executor has not begun, and does not wait for the deaf."""
    below, memory = begin(own_kernel)
    own_kernel.start("exit")
    assert ends(own_kernel.manager.provisioner.pid, SECONDS)  # what a kernel does at its end takes its time
    all_gone(below, memory)


def test_restart_and_again(own_kernel: Notebook) -> None:
    below, memory = begin(own_kernel)
    own_kernel.restart()
    all_gone(below, memory)
    again, memory = begin(own_kernel)
    assert not set(below) & set(again)
    own_kernel.manager.restart_kernel(now=True)
    all_gone(again, memory)


def test_two_kernels_at_once(own_kernel: Notebook) -> None:
    """They share nothing: the death of one leaves the other's tasks alone."""
    other = Notebook()
    try:
        other.run(DOUBLE).ok()
        below, memory = begin(own_kernel)
        slow = other.start("print(sum(double.map(range(20_000))))")
        os.kill(own_kernel.manager.provisioner.pid, signal.SIGKILL)
        all_gone(below, memory)
        assert other.finish(slow).ok().stdout == f"{2 * sum(range(20_000))}\n"
    finally:
        other.close()
