"""Progress in a terminal: seen through a real one, and where there is none."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time

import pytest

from cellmill_widgets.bars import LIMIT, View
from cellmill_widgets.progress import SHOWN_AFTER
from cellmill_widgets.terminal import QUIET_BELOW, Terminal

SCRIPT = """
import time
import cellmill, cellmill_widgets.progress
cellmill_widgets.progress.enable()
cellmill_widgets.progress.enable()

@cellmill.parallel(name="nap")
def nap(x):
    time.sleep(0.1)
    return x

if __name__ == "__main__":
    cellmill.set_default_executor(cellmill.Executor(2))
    for _ in range(3):
        list(nap.map(range(2)))
    list(nap.map(range(24)))
    print("the end", flush=True)
"""


def run_in_terminal(script: str) -> str:
    """What a terminal shows of a script, as raw characters."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    parts = []
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(leader)
    assert process.wait(60) == 0, b"".join(parts).decode()
    return b"".join(parts).decode()


def lines_on_screen(shown: str) -> list[str]:
    """The lines that a terminal shows in the end, of characters that clear whole lines and nothing else."""
    return [line.rpartition("\r\x1b[2K")[2] for line in shown.replace("\r\n", "\n").split("\n")]


def lines_of_short_runs(lines: list[str], least: float) -> list[str]:
    """Those of the two tasks each, which are there only where the machine took that many seconds for them."""
    found = [re.match(r"nap: 2 done in ([\d.]+) s", line) for line in lines]
    seconds = [float(match[1]) for match in found if match]
    assert min(seconds, default=least) >= least
    return [line for line, match in zip(lines, found, strict=True) if match]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_one_line_is_drawn_over_itself(monkeypatch: pytest.MonkeyPatch, unbuffered: str) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    start = time.monotonic()
    shown = run_in_terminal(SCRIPT)
    elapsed = time.monotonic() - start
    assert "/24" in shown
    assert "\r\x1b[2K" in shown
    assert "#" in shown
    lines = lines_on_screen(shown)
    assert len([line for line in lines if line.startswith("nap: 24 done in ")]) == 1
    assert lines.count("the end") == 1
    assert len(lines_of_short_runs(lines, SHOWN_AFTER)) == len([line for line in lines if line]) - 2
    assert shown.count("\r\x1b[2K") < 10 + 5 * elapsed  # at most five times a second


LOOP = """
    cellmill.set_default_executor(cellmill.Executor(2, backend={backend!r}))
    print("one by one:", end=" ", flush=True)
    for x in nap.map(range(12)):
        print(x, end=" ", flush=True)
    print()
    for x in nap.map(range(24)):
        print("line", x)
    if os.fork() == 0:
        print("a child")
        os._exit(0)
    os.wait()
    print("unfinished", end="")
"""


@pytest.mark.parametrize(("unbuffered", "backend"), [("", "local"), ("1", "local"), ("", "threads")])
def test_what_the_program_prints_stays(
    monkeypatch: pytest.MonkeyPatch, unbuffered: str, backend: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    head = SCRIPT.partition("    cellmill.set")[0].replace("import time", "import os, sys, time", 1)
    shown = run_in_terminal(head + LOOP.format(backend=backend) + "    sys.stdout.flush()\n")
    assert "/24" in shown  # the line was drawn between those of the program
    lines = [line for line in lines_on_screen(shown) if line]
    ours = [line for line in lines if line.startswith("nap: ")]
    assert [line.partition(" done in ")[0] for line in ours] == ["nap: 12", "nap: 24"]
    words = "one by one: " + " ".join(str(x) for x in range(12))
    assert [line.rstrip() for line in lines if line not in ours] == [
        words,
        *[f"line {x}" for x in range(24)],
        "a child",
        "unfinished",
    ]


def test_the_streams_are_left_as_they_were() -> None:
    script = """
import sys
import cellmill_widgets.progress as progress
before = sys.stdout, sys.stderr
progress.enable()
heard = sys.stdout
assert heard is not before[0] and heard.fileno() == 1 and heard.isatty() and heard.encoding
print("two", "words")
progress.disable()
assert (sys.stdout, sys.stderr) == before
progress.enable()
sys.stdout = mine = open("/dev/null", "w")
progress.disable()
assert sys.stdout is mine
heard.write("kept by a reference\\n")
"""
    assert lines_on_screen(run_in_terminal(script)) == ["two words", "kept by a reference", ""]


def test_without_a_terminal_a_long_run_leaves_one_line_and_a_short_one_none() -> None:
    script = SCRIPT.replace("range(24)", "range(44)").replace("import time", "import time", 1)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "the end\n"
    lines = done.stderr.splitlines()
    assert lines[-1].startswith("nap: 44 done in ")
    assert len(lines_of_short_runs(lines, QUIET_BELOW)) == len(lines) - 1


def test_the_lines_of_many_runs_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    terminal = Terminal()
    for _ in range(1000):
        terminal.ended(View("slow", done=2, total=2, failed=1, elapsed=3.0, finished=True))
    terminal.settle()
    lines = stderr.getvalue().splitlines()
    assert len(lines) == LIMIT + 1
    assert lines[-1].startswith("992 more runs: 1,984 done")
    assert lines[-1].endswith("992 failed")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_of_several_runs_is_of_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    Terminal().draw([View("f", done=1, total=4), View("g", done=2, total=4)])
    assert "2 runs: 3/8" in screen.getvalue()


def test_a_closed_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    stderr.close()
    monkeypatch.setattr(sys, "stderr", stderr)
    with pytest.raises(ValueError, match="closed"):
        stderr.isatty()
    Terminal().ended(View("slow", done=2, total=2, elapsed=3.0, finished=True))
