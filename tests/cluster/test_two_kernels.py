"""Two kernels on one Dask cluster that neither has started: what one of them stops and cuts off harms no other.

A minute by default; CELLMILL_TEST_SECONDS says how long.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import tasks
from tests.support.dasks import local_cluster
from tests.support.helpers import SECONDS, Gate, comes_down, start_script
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
pytest.importorskip("numpy")

LASTS = float(os.environ.get("CELLMILL_TEST_SECONDS", "60"))

QUIET = """
import os, sys, time
import cellmill
from cellmill import Executor

address, seconds, told = sys.argv[1], float(sys.argv[2]), sys.argv[3]
BYTES = 2_000_000


def make(fill):
    import numpy
    return numpy.full(BYTES, fill, numpy.uint8)


def change(array):
    array += 1
    return array


def sum_of(array):
    return int(array.sum(dtype="int64"))


@cellmill.per_worker
def made():
    return []


def once(name, seconds):
    with open(told, "a") as file:
        file.write(f"{name}\\n")
    made().append(name)
    time.sleep(seconds)
    assert "RUDE" not in os.environ, "the other's environment"
    return name


rounds = count = 0
with Executor(backend=address) as ex:
    end = time.monotonic() + seconds  # a machine that is busy takes its time up to here, and for each round
    while time.monotonic() < end or rounds < 3:
        names = [f"{rounds}-{i}" for i in range(60)]
        futures = [ex.submit(once, name, 0.02 * (i % 4 == 0)) for i, name in enumerate(names)]
        values = [ex.submit(change, ex.submit(make, i)) for i in range(4)]
        sums = [ex.submit(sum_of, value) for value in values]
        assert list(ex.map(abs, range(-300, 0))) == list(range(300, 0, -1))
        assert [future.result(120) for future in futures] == names
        assert [future.result(120) for future in sums] == [(i + 1) * BYTES for i in range(4)]
        assert int(values[3].result(120)[7]) == 4
        rounds, count = rounds + 1, count + len(names)
print(rounds, count)
"""

RUDE = """
import os, random, sys, time, warnings
from cellmill import Executor, TaskTimeoutError

address, seconds = sys.argv[1], float(sys.argv[2])
warnings.simplefilter("ignore")  # it is told what runs out
os.environ["RUDE"] = "1"


def deaf(seconds):
    time.sleep(seconds)  # in one call of native code


def hears(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)


chance, end = random.Random(7), time.monotonic() + seconds
stopped = limited = lives = 0
while time.monotonic() < end or min(stopped, limited) < 3:
    lives += 1
    with Executor(backend=address) as ex:
        for _ in range(8):
            held = [ex.submit(len, ex.submit(bytes, 2_000_000)) for _ in range(3)]
            run = [ex.submit(chance.choice([deaf, hears]), 1.5) for _ in range(3)]
            late = [ex.options(timeout=0.1).submit(chance.choice([deaf, hears]), 1.0) for _ in range(2)]
            rest = [ex.submit(abs, -i) for i in range(200)]
            time.sleep(chance.random() / 2)
            stopped += sum(future.cancel(force=True) for future in run)
            limited += sum(isinstance(future.exception(120), TaskTimeoutError) for future in late)
            if chance.random() < 0.5:
                assert [future.result(120) for future in rest] == list(range(200))
            else:
                [future.cancel(force=True) for future in rest]
            if time.monotonic() > end and min(stopped, limited) >= 3:
                break
        ex.shutdown(cancel_futures=True)
print(stopped, limited, lives)
"""


def _like(dask_worker: Any = None) -> dict[str, Any]:
    """What a worker's process is like."""
    return {
        "pid": os.getpid(),
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
    }


@pytest.mark.long
@pytest.mark.timeout(LASTS + 240)
def test_one_stops_and_the_other_loses_nothing(tmp_path: Path, gate: Gate) -> None:
    with (
        local_cluster(n_workers=3, threads_per_worker=2) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(_load)
        before, data = client.run(_like), client.scatter([10, 20, 30], hash=False)
        held = client.who_has()
        neighbour = client.submit(tasks.hold, gate.folder, 5)  # of the cluster's own, all the time
        gate.wait_started()
        for name in ("quiet", "rude"):
            (tmp_path / name).mkdir()
        told = tmp_path / "told"
        arguments = [client.scheduler.address, str(LASTS), str(told)]
        with (
            start_script(tmp_path / "quiet", QUIET, *arguments) as quiet,
            start_script(tmp_path / "rude", RUDE, *arguments) as rude,
        ):
            said = {which: which.communicate(timeout=LASTS + 200) for which in (quiet, rude)}
        assert quiet.returncode == 0, said[quiet][1]
        assert rude.returncode == 0, said[rude][1]
        rounds, count = map(int, said[quiet][0].split())
        stopped, limited, lives = map(int, said[rude][0].split())
        assert rounds > 2
        assert Counter(told.read_text().split()) == {
            f"{turn}-{i}": 1 for turn in range(rounds) for i in range(count // rounds)
        }  # each once
        assert stopped > 2
        assert limited > 2
        assert lives
        gate.release()
        assert neighbour.result(SECONDS) == 5
        del neighbour
        assert comes_down(lambda: len(set(client.who_has()) - set(held)), 0)
        until(lambda: not any(client.processing().values()))
        assert client.who_has() == held
        assert client.gather(data) == [10, 20, 30]
        after = client.run(_like)
        assert {(a, name) for a in before for name in before[a] if after[a][name] != before[a][name]} == set()


def _load() -> None:
    """Import what tasks will."""
    import cellmill.backends.cluster.remote.entry  # noqa: F401
