"""What is kept of a browser that hangs, to find out why: notes in build/test-reports/hung-browsers.txt."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

import psutil
from greenlet import greenlet

NOTES = Path(__file__).resolve().parents[2] / "build" / "test-reports" / "hung-browsers.txt"


def keep(processes: Iterable[psutil.Process], test: greenlet) -> None:
    """Append the test's name, where it waits, and what the browser's processes do. From another thread than the
    test's, whose calls of Playwright wait in their greenlet.
    """
    lines = [f"== {time.strftime('%Y-%m-%d %H:%M:%S')} {os.environ.get('PYTEST_CURRENT_TEST', '?')}"]
    lines += map(_state, processes)
    lines += traceback.format_stack(test.gr_frame, 12) if test.gr_frame is not None else ["it does not wait"]
    NOTES.parent.mkdir(parents=True, exist_ok=True)
    with NOTES.open("a") as notes:
        notes.write("\n".join(lines) + "\n")


def _state(process: psutil.Process) -> str:
    try:
        kind = next((each for each in process.cmdline() if each.startswith("--type=")), "--type=browser")
        times = process.cpu_times()
        tasks = [
            Path(f"/proc/{process.pid}/task/{each.id}/wchan").read_text() for each in process.threads()[:1]
        ]
        return f"{process.pid} {kind[7:]} {process.status()} {times.user + times.system:.1f} s, main thread in {tasks}"
    except (psutil.Error, OSError) as error:
        return f"{process.pid} {error!r}"
