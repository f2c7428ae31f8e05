"""What a page's main thread did, task by task, from the browser's own trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# `toplevel` has the tasks, the others what they were about.
CATEGORIES = ["toplevel", "devtools.timeline", "v8"]
LONG = 50.0  # milliseconds by the clock of a task whose parts are told: what browsers call a long task
PARTS = 5.0  # and of each part


@dataclass
class Task:
    """One task of the main thread; times in milliseconds."""

    clock: float
    processor: float
    parts: str
    """of a long task: what it was made of, the outer parts first, each with both times"""

    def __str__(self) -> str:
        return f"{self.clock:.0f} ms by the clock, {self.processor:.0f} of the processor: {self.parts}"


@contextmanager
def traced(page: Any, since: str) -> Iterator[list[Task]]:
    """The tasks meanwhile, once all is over: those that began after ``console.timeStamp(since)``, longest first."""
    found: list[Task] = []
    browser = page.context.browser
    browser.start_tracing(page=page, categories=CATEGORIES)
    try:
        yield found
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
    found += tasks(events, since)


def tasks(events: list[dict[str, Any]], since: str) -> list[Task]:
    """Those of the thread on which the time stamp was made."""
    stamp = next(e for e in events if e["name"] == "TimeStamp" and e["args"]["data"]["message"] == since)
    thread = stamp["pid"], stamp["tid"]
    ours = [e for e in events if (e["pid"], e["tid"]) == thread and e["ph"] == "X" and e["ts"] >= stamp["ts"]]
    outer = [e for e in ours if e["name"].endswith("RunTask")]
    return [
        Task(e["dur"] / 1e3, e.get("tdur", 0) / 1e3, parts(e, ours) if e["dur"] >= 1e3 * LONG else "")
        for e in sorted(outer, key=lambda e: -float(e["dur"]))
    ]


def parts(task: dict[str, Any], events: list[dict[str, Any]]) -> str:
    inside = [
        e
        for e in events
        if task["ts"] <= e["ts"] < task["ts"] + task["dur"]
        and e.get("dur", 0) >= 1e3 * PARTS
        and not e["name"].endswith("RunTask")
    ]
    inside.sort(key=lambda e: (e["ts"], -e["dur"]))
    told = [f"{e['name']} {e['dur'] / 1e3:.0f}/{e.get('tdur', 0) / 1e3:.0f}" for e in inside]
    return ", ".join(told[:8]) or "nothing over 5 ms"
