"""Gates that tasks wait at, scripts in processes of their own, and processes that must end."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_open_ends: set[int] = set()  # of gates that were closed; tasks may still be on their way to them
SECONDS = 30.0  # longest wait for what must happen; only failing tests take it


class Gate:
    """Holds back tasks that run `tasks.hold`, and tells when they have begun. By pipes, without sleeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self._ends = {}
        for name in ("open", "started"):
            os.mkfifo(folder / name)
            self._ends[name] = os.open(folder / name, os.O_RDWR)

    def wait_started(self, tasks: int = 1) -> None:
        """Return when so many more tasks have begun."""
        for _ in range(tasks):
            ready, _, _ = select.select([self._ends["started"]], [], [], SECONDS)
            assert ready, "no task has begun"
            os.read(self._ends["started"], 1)

    def release(self, tasks: int = 1) -> None:
        """Let so many tasks pass."""
        os.write(self._ends["open"], b"x" * tasks)

    def close(self) -> None:
        """Let all pass, late ones too: a pipe with no end open would forget what was written to it."""
        self.release(1000)
        _open_ends.update(self._ends.values())


class Program(subprocess.Popen[str]):
    """A process that a failing test does not wait for."""

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *more)


def prepend_to_path(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let modules of a folder that is new be imported until the test ends.

    `syspath_prepend` goes through the caches of imports besides, and raises where another thread imports meanwhile,
    such as one of Dask's after the tests before.
    """
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


def start_script(folder: Path, code: str, *args: str, **how: Any) -> Program:
    """Start a program of its own, whose functions and classes are those of ``__main__``."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(code))
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return Program([sys.executable, "-X", "faulthandler", str(path), *args], **{**pipes, **how})


def run_script(folder: Path, code: str, *args: str, limit: float = 60) -> tuple[str, str]:
    """Run it to its end; what it wrote to stdout and stderr. A failure of it is a failure here."""
    with start_script(folder, code, *args) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # prints each thread's stack
            try:
                out, err = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:  # a child of it that hangs too holds its pipes
                process.kill()
                out, err = "", "(its children hold its output)"
                for pipe in (process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()
            raise AssertionError(f"the script hangs; so far:\n{out}\n{err}") from None
    assert process.returncode == 0, f"the script ended with {process.returncode}:\n{out}\n{err}"
    return out, err


def shared_descriptors(pid: int | str = "self") -> list[str]:
    """What a process holds that others may hold as well: memory of ours, sockets, eventfds, pidfds."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return [name for name in found if "cellmill" in name or name.startswith(("socket:", "anon_inode:"))]


def shared_maps(pid: int | str = "self") -> list[tuple[str, int, str]]:
    """(protection, inode, name) of a process's mappings of our memory."""
    rows = [line.split(None, 5) for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    return [(row[1], int(row[4]), row[5]) for row in rows if len(row) == 6 and "memfd:cellmill" in row[5]]


def comes_down(count: Callable[[], int], most: int, seconds: float = SECONDS) -> bool:
    """Whether a count of what is held is at most so much, or comes down to it: threads of ours that end close last."""
    pause, end = threading.Event(), time.monotonic() + seconds
    while count() > most:
        if time.monotonic() > end:
            return False
        gc.collect()
        pause.wait(0.02)
    return True


def ends(pid: int, seconds: float = SECONDS) -> bool:
    """Whether a process is gone, or goes within that time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        return bool(poller.poll(seconds * 1000))
    finally:
        os.close(handle)
