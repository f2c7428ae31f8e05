"""How soon a press in the panel takes effect while a cell runs, in a real JupyterLab. For `make bench-live`.

The press is the browser's own time of the click; the effect is seen in the kernel: by the stamps of tasks, and by a
thread that looks each millisecond. Both read the clock of this machine. Prints a table of what is wanted and what is
reached, and writes benchmarks/results/control.json. pytest collects this module only when it is named.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from cellmill.bench import machine

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "control.json"
GOAL = 200.0  # milliseconds
TURNS = 5
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
DEFINE = """%%parallel
def work(number):
    import time
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass
    return number

def runs_long():
    import time
    time.sleep(600)

def waits_long():
    pass
"""
# Notes what changes and when, and keeps one task that runs and one that waits at hand to be cancelled.
WATCH = """
import json, threading, time, cellmill
from concurrent.futures import CancelledError
ex, seen, over = cellmill.default_executor(), [], threading.Event()
offset = time.time_ns() - time.monotonic_ns()

def watch():
    last, held = {}, {}
    while not over.is_set():
        for function, priority in (runs_long, 50), (waits_long, -50):
            name = function.__name__
            if name not in held or held[name].done():
                if name in held:
                    seen.append((time.time(), name, held[name].cancelled()))
                held[name] = function.options(priority=priority)()
        stats, now = ex.stats(), time.time()
        for name, value in (("paused", ex.paused), ("workers", stats.workers)):
            if last.setdefault(name, value) != value:
                last[name] = value
                seen.append((now, name, value))
        time.sleep(0.001)
    for future in held.values():
        future.cancel()

def maps(turns):
    for _ in range(turns):
        try:
            for _ in work.map(range(10**7)):
                pass
        except CancelledError:
            seen.append((time.time(), "raised", None))
    over.set()

def told():
    starts = [((row["started"] + offset) / 1e9, row["worker"]) for row in ex.journey_rows()
              if row["function"] == "work" and row["started"]]
    return json.dumps({"seen": seen, "starts": starts})
print('ready', 'now')
"""
CELLS = {
    "a cell that waits for its map": (
        "watcher = threading.Thread(target=watch)\nwatcher.start()\n"
        f"maps({TURNS})\nwatcher.join()\nex.stop()\nopen('told', 'w').write(told())\nprint('over', 'now')"
    ),
}
PRESSES = """() => {
    window.presses = [];
    document.addEventListener('click', event => {
        const name = event.target.closest('button')?.className;
        window.presses.push([name, (Date.now() - (performance.now() - event.timeStamp)) / 1000]);
    }, true);
}"""
DETAIL = "#cellmill-panel .cellmill-task-detail"


@dataclass
class Told:
    """What the kernel saw; times in seconds of the machine's clock."""

    seen: list[tuple[float, str, Any]]
    starts: list[tuple[float, int]] = field(default_factory=list)

    def first(self, after: float, what: str, value: Any) -> float:
        return next(at for at, name, is_ in self.seen if at >= after and name == what and is_ == value)


class Pressing:
    """Presses buttons of the panel and remembers when."""

    def __init__(self, one: Any) -> None:
        self.one = one
        one.page.evaluate(PRESSES)
        self.made: list[tuple[str, float]] = []

    def press(self, what: str, button: Any) -> None:
        button.click()
        self.made.append((what, self.one.page.evaluate("() => window.presses.at(-1)[1]")))

    def named(self, name: str) -> Any:
        return self.one.page.locator("#cellmill-panel").get_by_role("button", name=name, exact=True)

    def after(self, what: str) -> Iterator[tuple[float, float]]:
        """Each press of that kind, and the one that came next."""
        times = [*self.made, ("end", float("inf"))]
        for (name, at), (_, following) in itertools.pairwise(times):
            if name == what:
                yield at, following


def run_pressed(one: Any, pressing: Pressing, cell: int) -> Told:
    """Press everything ``TURNS`` times while the cell runs, and take what it saw."""
    page = one.page
    one.run_cell(cell)
    one.wait_panel("d.done > 100 && d.running >= 2")
    page.locator("#cellmill-panel [data-tab='tasks']").click()
    for _ in range(TURNS):
        pressing.press("pause", page.locator("#cellmill-panel .cellmill-pause"))
        one.wait_panel("d.paused === 'true' && d.running <= 1")  # the one that is held runs on
        pressing.press("resume", page.locator("#cellmill-panel .cellmill-pause"))
        one.wait_panel("d.paused === 'false' && d.running >= 2")
        pressing.press("add a worker", pressing.named("One worker more"))
        one.wait_panel("d.workers === 3 && d.running === 3")
        pressing.press("take a worker away", pressing.named("One worker fewer"))
        one.wait_panel("d.workers === 2")
        for chip, function in ("running", "runs_long"), ("waiting", "waits_long"):
            cancel_one(one, pressing, chip, function)
        run = page.locator("#cellmill-panel .cellmill-run", has_text="work").locator(".cellmill-run-cancel")
        gone = run.first.element_handle()
        pressing.press("cancel a run", run.first)
        page.wait_for_function("run => !run.isConnected", arg=gone)  # the next map begins at once
    one.wait_output(cell, "over now")
    one.wait_kernel("idle")
    told = json.loads((one.server.root / "told").read_text())
    return Told([tuple(entry) for entry in told["seen"]], sorted(map(tuple, told["starts"])))


# Open the first row, once all of them are of this function: until the search is answered rows move, and another task
# may stand where this one stood.
OPEN = """name => {
    const rows = [...document.querySelectorAll('#cellmill-panel .cellmill-task-table tbody tr')];
    const found = rows.length > 0 && rows.every(row => row.children[1].textContent === name);
    if (found) rows[0].click();
    return found;
}"""
STATE = f"document.querySelector('{DETAIL}')?.dataset.state"


def cancel_one(one: Any, pressing: Pressing, chip: str, function: str) -> None:
    """Find the task that is held in the table, and press its button; another one, where that was over before."""
    page = one.page
    page.locator(f'#cellmill-panel [data-filter="{chip}"]').click()
    page.get_by_role("searchbox", name="Search tasks").fill(function)
    act = page.locator(f'{DETAIL} [data-act="cancel"]')
    cancelled = False
    while not cancelled:
        page.wait_for_function(OPEN, arg=function, polling=100)
        page.wait_for_function(f"() => {STATE} !== undefined")
        try:
            act.wait_for(timeout=2000)
        except PlaywrightTimeoutError:
            continue
        pressing.press(f"cancel a task ({chip})", act)
        page.wait_for_function(f"() => ['cancelled', 'done'].includes({STATE})")
        cancelled = page.evaluate(f"() => {STATE} === 'cancelled'")
        if not cancelled:
            pressing.made.pop()
    page.locator(f'#cellmill-panel [data-filter="{chip}"]').click()


def reached(pressing: Pressing, told: Told) -> dict[str, list[float]]:
    """Milliseconds from each press to its effect."""

    def each(what: str, effect: Callable[[float, float], float]) -> list[float]:
        return [1000 * max(0.0, effect(at, following) - at) for at, following in pressing.after(what)]

    starts = told.starts
    return {
        # no task starts any more: the last one that did, and not before the kernel says so itself
        "pause": each(
            "pause",
            lambda at, following: max(
                told.first(at, "paused", True), *(start for start, _ in starts if start < following)
            ),
        ),
        # the first task that starts again
        "resume": each("resume", lambda at, _: next(start for start, _ in starts if start >= at)),
        # the first task on the new worker
        "add a worker": each(
            "add a worker",
            lambda at, _: next(start for start, worker in starts if start >= at and worker > 1),
        ),
        "take a worker away": each("take a worker away", lambda at, _: told.first(at, "workers", 2)),
        "cancel a running task": each(
            "cancel a task (running)", lambda at, _: told.first(at, "runs_long", True)
        ),
        "cancel a waiting task": each(
            "cancel a task (waiting)", lambda at, _: told.first(at, "waits_long", True)
        ),
        # its map raises in the cell
        "cancel a run": each("cancel a run", lambda at, _: told.first(at, "raised", None)),
    }


@pytest.mark.timeout(900)
def test_control(lab: Callable[..., Any]) -> None:
    one = lab(LOAD, DEFINE, WATCH, *(f"seen.clear(); over.clear()\n{cell}" for cell in CELLS.values()))
    for index, words in enumerate(("loaded now", None, "ready now")):
        one.run_cell(index)
        if words is not None:
            one.wait_output(index, words)
    one.open_panel()
    report = []
    for index, what in enumerate(CELLS):
        pressing = Pressing(one)
        before = machine.stolen_ms()
        figures = reached(pressing, run_pressed(one, pressing, 3 + index))
        taken = machine.stolen_ms() - before
        print(f"\n\nMilliseconds from press to effect, {what}; {TURNS} presses each")
        print(f"load {os.getloadavg()[0]:.1f}; the machine's host took {taken:.0f} ms meanwhile\n")
        print(f"{'':24}{'median':>8}{'most':>8}{'wanted':>10}")
        for name, times in figures.items():
            middle, most = statistics.median(times), max(times)
            verdict = "met" if most <= GOAL else "NOT MET"
            print(f"{name:24}{middle:8.0f}{most:8.0f}{f'<= {GOAL:.0f}':>10}  {verdict}")
            report.append(
                {"cell": what, "press": name, "goal_ms": GOAL, "times_ms": times, "stolen_ms": taken}
            )
    RESULTS.write_text(
        json.dumps({"machine": machine.describe(), "commit": machine.commit(), "figures": report}, indent=1)
        + "\n"
    )
    assert one.errors == []
