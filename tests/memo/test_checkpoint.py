"""`checkpoint=` of a map: what has come is in the file, and the same map goes on from there."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import cellmill
from cellmill import Executor
from tests.support.helpers import SECONDS, Program


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


@pytest.mark.parametrize("kept", ["checkpoint", "memo"])
def test_what_changes_while_a_map_runs(pool: Executor, tmp_path: Path, kept: str) -> None:
    """Elements see what the input's code changes, and nothing that is changed between the results."""
    factor, left, step = 1, 5, 0

    def times(x: int) -> int:
        return factor * x

    def up_to_a_change() -> Iterator[int]:
        nonlocal left
        for x in itertools.count():
            yield x
            left -= step
            if not left:
                return

    def changing() -> Iterator[int]:
        nonlocal factor
        for x in range(3):
            yield x
            factor = 7

    g = cellmill.parallel(executor=pool, **{kept: tmp_path / "kept"})(times)
    results = g.map(up_to_a_change())
    next(results)
    factor, step = 10, 1
    with pytest.warns(RuntimeWarning, match="times refers to, was changed"):
        numbers = [0, *results]
    assert list(g.map(numbers)) == [10 * x for x in numbers]
    factor = 1
    assert list(g.map(numbers)) == numbers == list(range(len(numbers)))
    assert list(g.map(changing())) == [0, 7, 14]
    assert list(g.map(range(3))) == [0, 7, 14]
    factor = 1
    assert list(g.map(range(3))) == [0, 1, 2]


KILLED = """
import os, signal, sys, cellmill
file, ran, stop_at = *sys.argv[1:3], int(sys.argv[3])
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
            if len(results) == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)
        assert results == [x * x for x in range(200)]
        print("whole", flush=True)
"""


def run_killed(folder: Path, draws: random.Random, least: int) -> int:
    """Kill a program in the middle of its map until it has ended once; how often it was killed.

    Each kill comes after ``least`` to 80 more results.
    No element whose result the program was given runs again.
    """
    program, ran = folder / "program.py", folder / "ran"
    program.write_text(KILLED)
    ran.touch()
    given = 0  # results, in order
    for kills in range(1000):
        stop_at, before = given + draws.randrange(least, 80), len(ran.read_text().split())
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with Program([sys.executable, program, folder / "kept", ran, str(stop_at)], **pipes) as process:
            out, errors = process.communicate(timeout=2 * SECONDS)
        lines = out.split()
        assert process.returncode == (0 if lines[-1] == "whole" else -signal.SIGKILL), errors
        again = [int(x) for x in ran.read_text().split()[before:]]
        assert min(again, default=200) >= given
        if process.returncode == 0:
            assert {int(x) for x in ran.read_text().split()} == set(range(200))
            assert {each.name for each in folder.glob("kept*")} == {
                "kept"
            }  # no part of it is beside the file
            return kills
        given = max(given, len(lines))
    raise AssertionError("it never ended")


def test_a_killed_kernel_loses_no_result_that_it_was_given(tmp_path: Path) -> None:
    assert run_killed(tmp_path, random.Random(1), least=40) >= 3


@pytest.mark.long
def test_fifty_killed_kernels(tmp_path: Path) -> None:
    draws, kills = random.Random(2), 0
    for round_ in range(50):
        folder = tmp_path / str(round_)
        folder.mkdir()
        kills += run_killed(folder, draws, least=1)
        if kills >= 50:
            return
    raise AssertionError(f"only {kills} kills")


def test_two_kernels_fill_one_file(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    command: list[Any] = [sys.executable, program, tmp_path / "kept", tmp_path / "ran", "0"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(2)]
    told = [process.communicate(timeout=2 * SECONDS) for process in running]
    assert [(out[-6:], errors) for out, errors in told] == [("whole\n", "")] * 2


def test_the_option_of_a_function_holds_for_its_maps_alone(ex: Executor, tmp_path: Path) -> None:
    made: Callable[..., Any] = cellmill.parallel(executor=ex, checkpoint=tmp_path / "kept")(abs)
    assert made(-3).result() == 3
    assert not (tmp_path / "kept").exists()
    assert list(made.map([-3])) == [3]
    assert (tmp_path / "kept").exists()
