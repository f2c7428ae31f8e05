"""Programs that are watched, each with a directory of its own for sockets."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.helpers import start_script

Start = Callable[[str], subprocess.Popen[str]]

HEAD = """
import os, signal, sys, threading, time
import cellmill
cellmill.serve()
def hold(x):
    time.sleep(600)
def quick(x):
    return x
def computes_until(path, most=20.0):
    '''Keeps the GIL, in calls of seconds each, until the file is there.'''
    data = list(range(4_000_000, 0, -1)) + list(range(4_000_000))
    end = time.monotonic() + most
    while not os.path.exists(path) and time.monotonic() < end:
        sorted(data, key=float)
"""


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """The directory of sockets: addresses are short, so it is not in the folder of the test."""
    with tempfile.TemporaryDirectory(prefix="cm-") as made, pytest.MonkeyPatch.context() as patch:
        path = Path(made) / "run"
        patch.setenv("CELLMILL_RUNTIME_DIR", str(path))
        yield path


@pytest.fixture
def folder() -> Iterator[Path]:
    with new_folder() as path:
        yield path


@pytest.fixture
def watched(tmp_path: Path, folder: Path) -> Iterator[Start]:
    """Start a program that is watched; it goes on when it prints a line, and is killed at the end."""
    programs: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        place = tmp_path / str(len(programs))
        place.mkdir()
        program = start_script(place, HEAD + code, str(tmp_path / "done"), stderr=None, stdin=subprocess.PIPE)
        programs.append(program)
        assert program.stdout is not None
        assert program.stdout.readline()
        return program

    yield start
    for program in programs:
        program.kill()
        program.communicate()
