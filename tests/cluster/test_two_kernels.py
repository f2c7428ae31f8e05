"""Two kernels on one Dask cluster that neither has started. What one of them stops and cuts off, and its sudden end,
harm no other.

A minute by default; CELLMILL_TEST_SECONDS says how long.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.support import tasks
from tests.support.dasks import found_there, local_cluster, miss_callers_after
from tests.support.helpers import SECONDS, Gate, comes_down, start_script
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
pytest.importorskip("numpy")

LASTS = float(os.environ.get("CELLMILL_TEST_SECONDS", "60"))
LIFE = 15.0  # seconds, of the rude one

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
import os, random, signal, sys, threading, time, warnings
from cellmill import Executor, TaskTimeoutError

address, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
warnings.simplefilter("ignore")  # it is told what runs out
os.environ["RUDE"] = "1"


def deaf(seconds):
    time.sleep(seconds)  # in one call of native code


def hears(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)


chance, end = random.Random(seed), time.monotonic() + seconds
killed = seed % 3 == 2  # it does not take leave
if killed:
    timer = threading.Timer(1 + 15 * chance.random(), os.kill, [os.getpid(), signal.SIGKILL])
    timer.daemon = True
    timer.start()
while True:
    with Executor(backend=address, end_workers=chance.random() < 0.5) as ex:
        for _ in range(8):
            held = [ex.submit(len, ex.submit(bytes, 2_000_000)) for _ in range(3)]
            run = [ex.submit(chance.choice([deaf, hears]), 1.5) for _ in range(3)]
            late = [ex.options(timeout=0.1).submit(chance.choice([deaf, hears]), 1.0) for _ in range(2)]
            rest = [ex.submit(abs, -i) for i in range(200)]
            time.sleep(chance.random() / 2)
            stopped = sum(future.cancel(force=True) for future in run)
            limited = sum(isinstance(future.exception(120), TaskTimeoutError) for future in late)
            if chance.random() < 0.5:
                assert [future.result(120) for future in rest] == list(range(200))
            else:
                [future.cancel(force=True) for future in rest]
            print(stopped, limited, flush=True)
            if time.monotonic() > end and not killed:
                break
        ex.shutdown(cancel_futures=True)
    if not killed:
        break
"""


@pytest.mark.long
@pytest.mark.timeout(LASTS + 240)
def test_one_stops_and_the_other_loses_nothing(tmp_path: Path, gate: Gate) -> None:
    with (
        local_cluster(n_workers=3, threads_per_worker=2) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(miss_callers_after, 1.0)
        before, data = client.run(found_there), client.scatter([10, 20, 30], hash=False)
        held = client.who_has()
        neighbour = client.submit(
            tasks.hold, gate.folder, 5, 2 * LASTS + 300
        )  # of the cluster's own, all the time
        gate.wait_started()
        for name in ("quiet", "rude"):
            (tmp_path / name).mkdir()
        told = tmp_path / "told"
        address = client.scheduler.address
        with start_script(tmp_path / "quiet", QUIET, address, str(LASTS), str(told)) as quiet:
            stopped = limited = killed = lives = 0
            while quiet.poll() is None or min(stopped, limited, killed) < 3:
                with start_script(tmp_path / "rude", RUDE, address, str(LIFE), str(lives)) as rude:
                    lines, errors = rude.communicate(timeout=LASTS + 200)
                killed += rude.returncode == -signal.SIGKILL
                assert rude.returncode in (0, -signal.SIGKILL), errors
                for line in lines.splitlines():
                    stopped, limited = (
                        a + int(b) for a, b in zip((stopped, limited), line.split(), strict=True)
                    )
                lives += 1
            said = quiet.communicate(timeout=LASTS + 200)
        assert quiet.returncode == 0, said[1]
        rounds, count = map(int, said[0].split())
        assert rounds > 2
        assert Counter(told.read_text().split()) == {
            f"{turn}-{i}": 1 for turn in range(rounds) for i in range(count // rounds)
        }  # each once
        gate.release()
        assert neighbour.result(SECONDS) == 5
        del neighbour
        assert comes_down(lambda: len(set(client.who_has()) - set(held)), 0)
        until(lambda: not any(client.processing().values()))
        assert client.who_has() == held
        assert client.gather(data) == [10, 20, 30]
        until(lambda: client.run(found_there) == before)  # a killed one has been missed
