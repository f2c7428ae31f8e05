"""What the system does not give: descriptors, /proc. As many workers as can be had run, or the message says why."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.support.helpers import SECONDS

RUN = """
import resource, sys, threading
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
from cellmill import Executor

def meet(x):
    return x + 1

try:
    with Executor(8) as executor:
        values = [executor.submit(meet, i).result(60) for i in range(20)]
        starter = executor._backend.pool._starter
        if starter is not None:
            starter.join(60)
        values += executor.map(meet, range(20))
        print("values", values == 2 * list(range(1, 21)), "workers", len(executor.workers()))
except Exception as error:
    print(type(error).__name__, error)
"""


def run(limit: int, *before: str) -> Any:
    command = [*before, sys.executable, "-c", RUN, str(limit)]
    return subprocess.run(command, capture_output=True, text=True, timeout=4 * SECONDS, check=False)


def test_few_descriptors_are_enough_for_fewer_workers() -> None:
    done = run(40)
    assert "values True" in done.stdout, done
    count = int(done.stdout.split()[-1])
    assert 1 <= count < 8
    told = [line for line in done.stderr.splitlines() if "goes on with" in line]
    assert len(told) == 1, done.stderr
    assert f"{count} of 8 workers" in told[0]
    assert "40 files" in told[0]
    assert "ulimit -n" in told[0]


def test_the_least_is_one_worker() -> None:
    """From some limit on there is one, below it the error names the limit; nothing else happens, and nothing hangs."""
    ends = [run(limit) for limit in (26, 18)]
    for done in ends:
        assert "values True" in done.stdout or "ulimit -n" in done.stdout, done
    assert "values True" in ends[0].stdout
    assert "ulimit -n" in ends[1].stdout
    assert "emory" not in ends[1].stdout.replace("shared memory", "")


def test_a_bare_proc_is_named() -> None:
    hidden = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
    command = 'mount -t tmpfs none /proc && exec "$@"'
    if subprocess.run([*hidden, "mount -t tmpfs none /proc"], capture_output=True, check=False).returncode:
        hidden = ("unshare", "--mount", "sh", "-c")
        if subprocess.run(
            [*hidden, "mount -t tmpfs none /proc"], capture_output=True, check=False
        ).returncode:
            pytest.skip("no mounts of its own can be had here")
    done = run(0, *hidden, command, "sh")
    assert "BackendError" in done.stdout, done
    assert "/proc is not mounted" in done.stdout
    assert "Free memory" not in done.stdout
