"""How fast the task path of HEAD is beside that of an earlier commit.

``python scripts/against.py COMMIT [--rounds N]`` compiles both commits in folders of their own and
measures both in turns, each time in a fresh process: tasks a second by submit and by map, and one round trip. Prints
the medians and how many times as fast HEAD is. With ``--least X`` the exit status is 1 where a ratio lies below.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("csched", "kernel_runtime", "widgets", "hatch_build.py", "pyproject.toml")
WORKERS = 2
MEASURE = f"""
import gc, json, statistics, sys, time
import cellmill

def noop(*_):
    return None

def seconds(work):
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

with cellmill.Executor({WORKERS}) as pool:
    def submits(count):
        for future in [pool.submit(noop) for _ in range(count)]:
            future.result()
    def maps(count):
        for _ in pool.map(noop, range(count)):
            pass
    submits(50_000), maps(100_000)
    found = {{"submit, tasks/s": 300_000 / seconds(lambda: submits(300_000)),
             "map, elements/s": 2_000_000 / seconds(lambda: maps(2_000_000))}}
    trips = []
    for _ in range(20_000):
        start = time.perf_counter()
        pool.submit(noop).result()
        trips.append(time.perf_counter() - start)
    found["round trips/s, median"] = 1 / statistics.median(trips)
print(json.dumps(found))
"""
"""Uses nothing but what `concurrent.futures` has, so that any commit with an executor can run it."""


def unpack(commit: str, folder: Path) -> Path:
    """The commit's sources, compiled, in ``folder``; raises `subprocess.CalledProcessError` for what git or gcc say."""
    archive = subprocess.run(
        ["git", "archive", commit, *PARTS], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    subprocess.run([sys.executable, "hatch_build.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def measure(tree: Path) -> dict[str, float]:
    """One turn in a process of its own."""
    paths = os.pathsep.join(str(tree / part) for part in ("kernel_runtime", "widgets"))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
        stdout=subprocess.PIPE,
        timeout=300,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("commit", help="what to compare with: any name that git knows")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each (default 7)")
    parser.add_argument("--least", type=float, default=0.0, help="fail where a ratio is below")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cellmill-against-") as scratch:
        try:
            trees = [
                unpack(name, Path(scratch, folder))
                for name, folder in ((given.commit, "before"), ("HEAD", "now"))
            ]
        except subprocess.CalledProcessError as error:
            print(f"{given.commit} cannot be built: {error}", file=sys.stderr)
            return 2
        turns: list[list[dict[str, float]]] = [[], []]
        for number in range(given.rounds):
            for found, tree in zip(turns, trees, strict=True):
                found.append(measure(tree))
            print(f"round {number + 1} of {given.rounds}", file=sys.stderr)
    print(f"{'':24} {given.commit:>14} {'HEAD':>14}   ratio")
    slower = False
    for key in turns[1][0]:
        before, now = (statistics.median(turn[key] for turn in found) for found in turns)
        slower |= now / before < given.least
        print(f"{key:24} {before:14,.0f} {now:14,.0f} {now / before:7.2f}")
    return int(slower)


if __name__ == "__main__":
    raise SystemExit(main())
