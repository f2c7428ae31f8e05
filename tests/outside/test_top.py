"""`cellmill top`: what it shows of programs that run, and what its keys do, also in a real terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import random
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Awaitable, Callable, Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import cellmill
from cellmill import cli
from cellmill.outside import kernel
from cellmill.outside.dashboard import metrics
from cellmill.outside.dashboard.kernels import Kernels
from cellmill.outside.folder import Served
from cellmill.outside.kernel import COUNTS, Kernel, Pace
from cellmill.outside.top.app import Top
from cellmill.outside.top.listing import Listing
from cellmill.outside.top.text import plain, rate_text, time_text
from cellmill.outside.top.watch import Frame, Watch
from cellmill.telemetry.text_bar import MARKS, text_bar
from tests.outside.conftest import Start
from tests.support.helpers import SECONDS
from tests.support.waiting import until

HOLDS = """
ex = cellmill.Executor(2)
list(ex.map(quick, range(40)))
held = ex.map(hold, ["[b]x[/b]"] * 30, chunksize=1)
while ex.stats().running < 2:
    time.sleep(0.01)
print("ready", flush=True)
try:
    list(held)
except BaseException as error:
    print(type(error).__name__, flush=True)
sys.stdin.readline()
"""
FAST = 0.05  # seconds between looks


def once(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    code = cli.main(["top", "--once", *more])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_look_as_text(watched: Start, capsys: pytest.CaptureFixture[str]) -> None:
    program = watched(HOLDS)
    code, out, err = once(capsys)
    assert (code, err) == (0, "")
    head, bar, _, heads, run, *_ = out.splitlines()
    assert f"process {program.pid}" in head
    assert "local, 2 workers" in head
    assert "40 done, 2 running, 28 queued" in bar
    assert "#" in bar
    assert ">" in bar
    assert heads.split()[:3] == ["run", "cell", "name"]
    assert run.split()[1:3] == ["hold", ">..........."]
    assert "0 of 30" in run
    until(
        lambda: "hold('[b]x[/b]')" in once(capsys)[1]
    )  # arguments are told when the kernel has a free moment
    other = watched("print('ready', flush=True)\nsys.stdin.readline()\n")
    _, out, _ = once(capsys, str(program.pid))
    assert f"Others that can be watched, by cellmill top PID: {other.pid} (" in out


def test_what_cannot_be_watched_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = once(capsys)
    assert (code, out) == (1, "")
    assert "no process can be watched: %cellmill serve in it" in err
    assert cli.main(["top", str(os.getpid())]) == 1
    assert f"cellmill top: process {os.getpid()} cannot be watched" in capsys.readouterr().err
    assert cli.main(["top"]) == 1
    assert "this needs a terminal: with --once" in capsys.readouterr().err


def test_without_textual_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delitem(sys.modules, "cellmill.outside.top.app", raising=False)
    monkeypatch.setitem(sys.modules, "textual.app", None)
    assert cli.main(["top"]) == 1
    assert "pip install 'cellmill[top]'" in capsys.readouterr().err


# -- the screen


def on_screen(act: Callable[[Top, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> None:
    async def run() -> None:
        watch = Watch()
        app = Top(watch, FAST)
        async with app.run_test(size=size) as pilot:
            await act(app, pilot)
        watch.close()

    asyncio.run(run())


async def seen(pilot: Pilot[None], condition: Callable[[], Any]) -> None:
    for _ in range(int(SECONDS / FAST)):
        if condition():
            return
        await pilot.pause(FAST)
    raise AssertionError("the screen does not show it")


def text_of(app: Top, name: str) -> str:
    return str(app.screen_stack[0].query_one(f"#{name}", Static).render())


def rows(app: Top, name: str) -> list[list[str]]:
    return [list(cells) for cells in app.screen_stack[0].query_one(f"#{name}", Listing).shown]


async def orders_of_tables(app: Top, pilot: Pilot[None]) -> None:
    """On a tall screen, which shows the tasks that ended."""
    await seen(pilot, lambda: len(rows(app, "tasks")) == 40)
    tasks = app.query_one("#tasks", Listing)
    assert tasks.display
    assert {row[1] for row in rows(app, "tasks")} == {"quick"}
    await pilot.press("s", "s", "s")
    assert app.query_one("#runs", Listing).border_title == "Runs, by name"
    assert [row[2] for row in rows(app, "runs")] == ["hold", "quick"]
    await pilot.press("down", "s", "s", "s")
    selected = app.query_one("#runs", Listing).selected()
    assert selected is not None
    assert selected["name"] == "quick"  # it stays under the cursor
    await pilot.resize_terminal(80, 24)
    await seen(pilot, lambda: not tasks.display)


def test_it_shows_what_runs_tables_have_orders_and_keys_pause_and_cancel(watched: Start) -> None:
    program = watched(HOLDS)
    on_screen(orders_of_tables, (120, 40))
    kernel = cellmill.attach(program.pid)

    async def act(app: Top, pilot: Pilot[None]) -> None:
        await seen(pilot, lambda: len(rows(app, "runs")) == 2 and len(rows(app, "workers")) == 2)
        assert f"process {program.pid}" in text_of(app, "head")
        await seen(pilot, lambda: "40 done" in text_of(app, "legend"))
        await seen(pilot, lambda: "2 running" in text_of(app, "legend"))
        assert [row[2] for row in rows(app, "runs")] == ["hold", "quick"]
        # arguments and memory are told when the kernel has a free moment
        await seen(pilot, lambda: rows(app, "workers")[0][4] == "hold('[b]x[/b]')")
        await seen(pilot, lambda: rows(app, "workers")[0][3].endswith(" MB"))
        await pilot.press("p")
        await seen(pilot, lambda: "paused" in text_of(app, "head"))
        assert kernel.stats()["paused"]
        await pilot.press("p")
        await seen(pilot, lambda: "paused" not in text_of(app, "head"))
        assert not kernel.stats()["paused"]
        await pilot.press("c", "n")
        assert kernel.stats()["cancelled"] == 0
        await pilot.press("c")
        await seen(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("y")
        await seen(pilot, lambda: "cancelled" in text_of(app, "legend"))
        await seen(pilot, lambda: all(row[7] == "over" for row in rows(app, "runs")))
        await pilot.press("c")  # the one under the cursor is over
        assert len(app.screen_stack) == 1

    on_screen(act)
    assert kernel.stats()["cancelled"] == 30
    assert program.stdout is not None
    assert program.stdout.readline() == "CancelledError\n"
    kernel.close()


def test_several_kernels_and_their_ends(watched: Start) -> None:
    first, second = watched(HOLDS), watched(HOLDS)

    async def act(app: Top, pilot: Pilot[None]) -> None:
        await seen(pilot, lambda: f"process {second.pid}" in text_of(app, "head"))
        assert "1 of 2 kernels" in text_of(app, "head")
        await pilot.press("k")
        await seen(pilot, lambda: f"process {first.pid}" in text_of(app, "head"))
        await pilot.press("c")
        await seen(pilot, lambda: len(app.screen_stack) == 2)
        first.kill()
        await seen(pilot, lambda: f"process {second.pid}" in text_of(app, "head"))
        assert f"process {first.pid} (" in text_of(app, "problem")
        assert "has ended" in text_of(app, "problem")
        await pilot.press("y")  # it was asked of the one that is gone
        await seen(pilot, lambda: "nothing was done" in text_of(app, "problem"))
        second.kill()
        await seen(pilot, lambda: f"process {second.pid} (" in text_of(app, "problem"))
        third = watched(HOLDS)
        await seen(pilot, lambda: f"process {third.pid}" in text_of(app, "head"))
        with cellmill.attach(third.pid) as kernel:
            assert kernel.stats()["cancelled"] == 0

    on_screen(act)


# -- a terminal


@contextlib.contextmanager
def in_terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a command in a terminal of its own; its process, and the other end of the terminal."""
    ours, its = pty.openpty()
    ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(arguments, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_in_a_terminal_keys_act_and_quitting_leaves_it_clean(watched: Start) -> None:
    program = watched(HOLDS)
    command = [sys.executable, "-m", "cellmill", "top", str(program.pid), "--interval", "0.1"]
    with cellmill.attach(program.pid) as kernel, in_terminal(*command) as (process, terminal):
        shown = bytearray()
        os.set_blocking(terminal, False)

        def read() -> bytes:
            with contextlib.suppress(OSError):  # nothing now, or no more
                shown.extend(os.read(terminal, 1 << 16))
            return bytes(shown)

        until(lambda: b"hold" in read())
        os.write(terminal, b"p")
        until(lambda: read() and kernel.stats()["paused"])
        os.write(terminal, b"c")
        until(lambda: b"Cancel run" in read())
        os.write(terminal, b"y")
        until(lambda: read() and kernel.stats()["cancelled"])
        os.write(terminal, b"q")
        until(lambda: (read(), process.poll())[1] is not None)
        assert process.returncode == 0
        read()
        assert shown.rindex(b"\x1b[?1049l") > shown.rindex(b"\x1b[?1049h")  # the screen that was before
        assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")  # with its cursor
        assert b"Traceback" not in shown


# -- figures


def test_a_pace_is_that_of_the_last_seconds() -> None:
    pace = Pace(2.0)
    assert pace.look(0.0, 0) is None
    assert pace.look(1.0, 10) == 10.0
    assert pace.look(2.0, 20) == 10.0
    assert pace.look(4.0, 20) == 0.0
    assert pace.look(4.0, 99) == 0.0  # the same moment


def test_what_is_cancelled_is_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [
        (0, 0, 0),
        (1, 2, 50),
        (2, 4, 90),
        (3, 4, 90),
    ]  # seconds, and how many have succeeded and are cancelled by then

    def look(_: object, most: int) -> dict[str, Any]:
        at, succeeded, cancelled = looks.pop(0)
        counts = dict.fromkeys(COUNTS, 0) | {"submitted": 100, "succeeded": succeeded, "cancelled": cancelled}
        run = {**counts, "id": 1, "finished": False, "total": 100, "outstanding": 100 - succeeded - cancelled}
        told = {
            "executor": 1,
            "at": at * 10**9,
            "age": 0.0,
            "backend": "local",
            "workers": [],
            "journeys": [],
        }
        return {"executors": [{**told, "stats": counts | {"paused": at == 3}, "runs": [run]}]}

    monkeypatch.setattr(kernel.Attached, "look", look)
    monkeypatch.setattr(kernel.Attached, "__init__", lambda *_: None)
    following = kernel.Following(Served(1, "x", 0.0, Path()))
    seen = [following.look() for _ in range(4)]
    assert seen[2].rate == 2.0
    assert [run["left"] for look in seen[2:] for run in look.runs] == [
        3.0,
        None,
    ]  # in a pause nothing tells it


def test_times_and_rates_in_words() -> None:
    assert [time_text(s) for s in (0.0123, 59.94, 125, 3 * 3600 + 120)] == [
        "12.3 ms",
        "59.9 s",
        "2 min 05 s",
        "3 h 02 min",
    ]
    assert [rate_text(rate) for rate in (None, 0.0, 0.25, 12345.6)] == [
        "",
        "0 tasks/s",
        "0.2 tasks/s",
        "12,346 tasks/s",
    ]


def test_runs_that_are_left_out_are_counted() -> None:
    run = {
        **dict.fromkeys(("submitted", "succeeded", "total"), 1),
        **dict.fromkeys(("failed", "cancelled", "lost", "running"), 0),
        "cell": "",
        "name": "f",
        "wall": 0.1,
        "left": None,
        "finished": True,
    }
    counts = dict.fromkeys(COUNTS, 0)
    served = Served(1, "script.py", 0.0, Path("socket"))
    for number, said in (
        (10, None),
        (11, "and 1 earlier run that is over"),
        (13, "and 3 earlier runs that are over"),
    ):
        runs = [{**run, "id": each} for each in range(1, number + 1)]
        told = Kernel(served, counts, (), False, 0.0, None, runs, [], [])
        lines = plain(Frame([served], told)).splitlines()
        assert len([line for line in lines if "#" in line]) == 10
        assert (lines[-1] if number > 10 else None) == said


def test_a_bar_has_its_length_and_every_state_that_there_is() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        counts = {state: draw.choice([0, 1, draw.randint(0, 10**6)]) for state in "dflcr"}
        total = sum(counts.values()) + draw.choice([0, 1, 10**5])
        bar = text_bar(counts, total, draw.choice([6, 8, 12, 40]))
        assert len(bar) in (6, 8, 12, 40)
        assert all((counts[state] > 0) == (MARKS[state] in bar) for state in counts if total)


def test_counters_of_metrics_do_not_fall_with_their_executors(watched: Start) -> None:
    program = watched("""
import gc
for count in (30, 20, 10):
    with cellmill.Executor(1) as ex:
        list(ex.map(quick, range(count)))
    del ex
    gc.collect()
    print(count, flush=True)
    sys.stdin.readline()
time.sleep(600)
""")
    assert program.stdin
    assert program.stdout
    kernels, seen = Kernels(), []
    for _ in range(3):
        kernels.look()
        seen.append(re.findall(rb'ended_total.*state="done".* ([\d.]+)', metrics.text(kernels)))
        program.stdin.write("\n")
        program.stdin.flush()
        if len(seen) < 3:
            program.stdout.readline()
    kernels.close()
    assert seen == [[b"30.0"], [b"50.0"], [b"60.0"]]
