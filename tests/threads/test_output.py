"""What tasks in threads print."""

from __future__ import annotations

import contextlib
import io
import sys
import threading

import pytest

import cellmill
from cellmill import Executor
from tests.threads.helpers import SOON, until


def test_output_is_told_by_task(pool: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    def speak(n: int) -> None:
        print("line", n)
        print("unfinished", n, end="", file=sys.stderr)

    futures = [pool.submit(speak, n) for n in range(5)]
    for future in futures:
        future.result(SOON)
    assert [cellmill.output(future) for future in futures] == [f"line {n}\nunfinished {n}" for n in range(5)]
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == [f"line {n}" for n in range(5)]
    assert sorted(err.splitlines()) == [f"unfinished {n}" for n in range(5)]


def test_output_while_the_task_runs_and_into_what_the_caller_put_in_place(pool: Executor) -> None:
    gate = threading.Event()
    taken = io.StringIO()

    def speak() -> None:
        print("already")
        gate.wait(SOON)

    with contextlib.redirect_stdout(taken):
        future = pool.submit(speak)
        until(lambda: taken.getvalue() == "already\n")
        gate.set()
        future.result(SOON)
    assert cellmill.output(future) == "already\n"


def test_the_streams_are_as_they_were() -> None:
    before = sys.stdout, sys.stderr
    with Executor(1, backend="threads") as pool:
        pool.submit(print, end="").result(SOON)
    assert (sys.stdout, sys.stderr) == before
