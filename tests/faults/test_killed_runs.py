"""A program that records its runs, memoises calls and keeps a checkpoint is killed at random moments, until it has
ended with the right values: what it left is readable each time.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cellmill
from tests.support.helpers import SECONDS, Program

PROGRAM = """
import pathlib, sys, time
import cellmill
folder = pathlib.Path(sys.argv[1])
def square(x):
    time.sleep(0.002)
    return x * x
def cube(x):
    time.sleep(0.002)
    return x ** 3
if __name__ == "__main__":
    print("begun", flush=True)
    cellmill.record(f"{folder}/runs/")
    with cellmill.Executor(2) as ex:
        kept = cellmill.parallel(memo=folder / "memo", executor=ex)(cube)
        squares = list(ex.map(square, range(300), checkpoint=folder / "kept", chunksize=1))
        cubes = list(kept.map(range(100))) + [kept(x).result() for x in range(100, 130)]
    print(sum(squares), sum(cubes), flush=True)
"""
RIGHT = f"{sum(x * x for x in range(300))} {sum(x**3 for x in range(130))}"


def run(program: Path, folder: Path, seconds: float) -> tuple[str, float]:
    """Run the program for so long at most after it has begun; what it printed then, and how long it took."""
    command = [sys.executable, program, folder]
    with Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n", process.stderr.read()
        began = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        took = time.monotonic() - began
        said, errors = process.communicate(timeout=SECONDS)
        assert errors == ""
        return said, took


def look(folder: Path) -> int:
    """Open all that a killed program left; how many records that were."""
    if not (folder / "runs").exists():
        return 0
    found = cellmill.runs(folder / "runs")
    for each in found:
        record = cellmill.open_record(each)
        assert record.state in ("cut off", "whole")
    for path in (folder / "kept", *folder.glob("memo/*.sqlite")):
        if path.exists():
            with contextlib.closing(sqlite3.connect(path)) as base:
                assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return len(found)


def kill_until(kills: int, tmp_path: Path, seed: int) -> None:
    draws = random.Random(seed)
    program, done, rounds, records = tmp_path / "program.py", 0, 0, 0
    program.write_text(PROGRAM)
    whole = 1.5  # seconds that it takes, more or less
    while done < kills:
        folder = tmp_path / str(rounds)
        folder.mkdir()
        said = ""
        while not said:
            said, took = run(program, folder, draws.uniform(0, whole))
            records += look(folder)
            done += not said
            whole *= 1.0 if said else 1.2  # a slow machine gets there
        assert said.strip() == RIGHT
        whole = 0.5 * (whole + max(took, 0.5))  # the machine is faster now, or what was left is less
        rounds += 1
    assert records >= kills


def test_a_few_kills(tmp_path: Path) -> None:
    kill_until(2, tmp_path, seed=1)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_two_hundred_kills(tmp_path: Path) -> None:
    kill_until(200, tmp_path, seed=2)
