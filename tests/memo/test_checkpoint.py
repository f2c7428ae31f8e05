"""`checkpoint=` of a map: what has come is in the file, and the same map goes on from there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import cellmill
from cellmill import Executor
from tests.support.helpers import SECONDS


def test_a_map_goes_on_from_its_file(ex: Executor, tmp_path: Path) -> None:
    file, ran = tmp_path / "kept", tmp_path / "ran"
    ran.touch()

    def f(x: int, by: int = 2) -> int:
        with ran.open("a") as out:
            out.write(f"{x} ")
        return x * by

    g = cellmill.parallel(executor=ex)(f)
    assert list(g.map([1, 2], checkpoint=file)) == [2, 4]
    assert list(g.map([1, 2, 3], checkpoint=file)) == [2, 4, 6]
    assert list(ex.map(f, [1, 2, 3], checkpoint=file)) == [2, 4, 6]
    assert list(g.starmap([(1, 5), (2, 5)], checkpoint=file)) == [5, 10]
    assert sorted(ran.read_text().split()) == sorted(["1", "2", "3", "1", "2"])
    assert list(g.map([2, 1], checkpoint=file)) == [4, 2]  # other elements in these places


def test_equal_elements_are_calls_of_their_own(ex: Executor, tmp_path: Path) -> None:
    def draw(_: int) -> float:
        return float(numpy.random.default_rng().random())

    g = cellmill.parallel(executor=ex, checkpoint=tmp_path / "kept")(draw)
    first = list(g.map([0] * 20))
    assert len(set(first)) == 20
    assert list(g.map([0] * 20)) == first


def test_a_captured_generator_counts_by_its_state(ex: Executor, tmp_path: Path) -> None:
    rng = numpy.random.default_rng(1)
    g = cellmill.parallel(executor=ex, checkpoint=tmp_path / "kept")(lambda x: rng.random() + x)
    first = list(g.map(range(5)))
    rng.random()
    assert list(g.map(range(5))) != first  # as the plain loop would draw other numbers
    rng = numpy.random.default_rng(1)
    assert list(g.map(range(5))) == first


KILLED = """
import os, sys, cellmill
file, ran = sys.argv[1:]
def f(x):
    with open(ran, "a") as out:
        out.write(f"{x}\\n")
    return x * x
if __name__ == "__main__":
    with cellmill.Executor(2) as ex:
        results = []
        for value in ex.map(f, range(200), checkpoint=file, chunksize=1):
            results.append(value)
            print(len(results), flush=True)
        assert results == [x * x for x in range(200)]
        print("whole", flush=True)
"""


def run_killed(folder: Path, draws: random.Random) -> int:
    """Kill a program in the middle of its map until it has ended once; how often it was killed.

    No element whose result the program was given runs again.
    """
    program, ran = folder / "program.py", folder / "ran"
    program.write_text(KILLED)
    ran.touch()
    given = 0  # results, in order
    for kills in range(1000):
        stop_at, before = given + draws.randrange(1, 80), len(ran.read_text().split())
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen([sys.executable, program, folder / "kept", ran], **pipes) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line == f"{stop_at}\n":
                    os.kill(process.pid, signal.SIGKILL)
            whole = lines[-1:] == ["whole\n"]
            code = process.wait(SECONDS)
            assert whole or code == -signal.SIGKILL, process.stderr.read()
        again = [int(x) for x in ran.read_text().split()[before:]]
        assert min(again, default=200) >= given
        if whole:
            assert {int(x) for x in ran.read_text().split()} == set(range(200))
            return kills
        given = max(given, len(lines))
    raise AssertionError("it never ended")


def test_a_killed_kernel_loses_no_result_that_it_was_given(tmp_path: Path) -> None:
    assert run_killed(tmp_path, random.Random(1)) >= 3


@pytest.mark.long
def test_fifty_killed_kernels(tmp_path: Path) -> None:
    draws, kills = random.Random(2), 0
    while kills < 50:
        folder = tmp_path / str(kills)
        folder.mkdir()
        kills += run_killed(folder, draws)


def test_two_kernels_fill_one_file(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    command: list[Any] = [sys.executable, program, tmp_path / "kept", tmp_path / "ran"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert all(process.communicate(timeout=2 * SECONDS)[0].endswith("whole\n") for process in running)


def test_the_option_of_a_function_holds_for_its_maps_alone(ex: Executor, tmp_path: Path) -> None:
    made: Callable[..., Any] = cellmill.parallel(executor=ex, checkpoint=tmp_path / "kept")(abs)
    assert made(-3).result() == 3
    assert not (tmp_path / "kept").exists()
    assert list(made.map([-3])) == [3]
    assert (tmp_path / "kept").exists()
