"""Folders named after their process: a killed one's go with it, or with the next; those of others stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cellmill.backends.cluster.values import folders
from tests.support.helpers import comes_down

MAKE = """
import sys
from cellmill.backends.cluster.values import folders
made = folders.private("lanes")
if sys.argv[1:]:
    guard = folders._guards[made]
    guard.kill()
    guard.wait()
print(made, flush=True)
sys.stdin.read()
"""


def maker(base: Path, *args: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE, *args],
        env={**os.environ, "TMPDIR": str(base)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_only_what_the_dead_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (dead, left), (alive, kept) = (maker(tmp_path, "unguarded") for _ in range(2))
    with alive, dead:
        (left / "lane-1").write_bytes(b"x")
        dead.send_signal(signal.SIGKILL)
        dead.wait(30)
        # as another machine that shares this folder would name it, or another program
        others = [
            tmp_path / left.name.replace("lanes", "dask"),
            tmp_path / f"cellmill-lanes-00000000-{left.name.split('-', 3)[3]}",
            tmp_path / f"{left.name.rsplit('-', 3)[0]}-x",
        ]
        for other in others:
            other.mkdir()
        mine = Path(folders.private("lanes", str(tmp_path)))
        assert not left.exists()
        assert all(folder.is_dir() for folder in (mine, kept, *others))
        assert mine.stat().st_mode & 0o777 == 0o700
        other = os.getuid() + 1
        monkeypatch.setattr(folders.os, "getuid", lambda: other)
        assert alive.stdin is not None
        alive.stdin.close()
        alive.wait(30)
    folders.sweep("lanes", str(tmp_path))
    assert kept.is_dir()  # another user's
    monkeypatch.undo()
    folders.sweep("lanes", str(tmp_path))
    assert not kept.exists()
    assert mine.is_dir()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_they_go_with_their_process(tmp_path: Path, how: signal.Signals) -> None:
    process, made = maker(tmp_path)
    with process:
        (made / "inner").mkdir()
        (made / "inner" / "value").write_bytes(b"x")
        process.send_signal(how)
        process.wait(30)
    assert comes_down(lambda: made.exists(), 0)


def test_a_forked_child_holds_no_guard(tmp_path: Path) -> None:
    """The guard waits for the process that made the folder alone, and ends with the folder."""
    made = folders.private("lanes", str(tmp_path))
    guard = folders._guards[made]
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        folders.remove(made)
        assert guard.returncode == 0
        assert not Path(made).exists()
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)
