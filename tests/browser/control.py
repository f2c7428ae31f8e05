"""How soon a press in the panel takes effect while a cell runs, in a real JupyterLab. For `make bench-live`.

The press is the browser's own time of the click; the effect is seen in the kernel: by the stamps of tasks, and by a
thread that looks each millisecond. Both read the clock of this machine. Prints a table of what is wanted and what is
reached, with the stages of the slowest press, and writes benchmarks/results/control.json. pytest collects this module
only when it is named.
"""

from __future__ import annotations

import bisect
import itertools
import json
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from cellmill.bench import machine

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "control.json"
GOAL = 200.0  # milliseconds
TURNS = 10
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
# Notes what changes and when, which command came when, and the time that this machine's host took; keeps one task that
# runs and one that waits at hand to be cancelled.
WATCH = """
import datetime, itertools, json, threading, time, cellmill
from concurrent.futures import CancelledError
from cellmill.views import comm
from cellmill.bench import machine
ex, seen, over = cellmill.default_executor(), [], threading.Event()
offset = time.time_ns() - time.monotonic_ns()
link, stolen = comm._link, []
obey = link._commanded

def heard(control, message):
    sent = message["header"]["date"]
    if isinstance(sent, str):
        sent = datetime.datetime.fromisoformat(sent)
    seen.append((time.time(), message["content"]["data"]["kind"], sent.timestamp()))
    obey(control, message)

link._commanded = heard

def watch():
    last, held = {}, {}
    for turn in itertools.count():
        if over.is_set():
            break
        if turn % 10 == 0:
            stolen.append((time.time(), machine.stolen_ms()))
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
    return json.dumps({"seen": seen, "starts": starts, "stolen": stolen})
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
    """what changed, to what; or which command came, and when the page had sent it"""
    starts: list[tuple[float, int]]
    """of tasks, each with its worker"""
    stolen: list[tuple[float, float]]
    """milliseconds that the host had taken by then"""

    def first(self, after: float, what: str, value: Any) -> float:
        return next(at for at, name, is_ in self.seen if at >= after and name == what and is_ == value)

    def heard(self, after: float, command: str) -> tuple[float, float]:
        """When the page sent the next command of that kind, and when the kernel heard it."""
        return next((sent, at) for at, name, sent in self.seen if at >= after and name == command)

    def stolen_between(self, start: float, end: float) -> float:
        """Milliseconds of processor time that the host took, to within some of its ticks."""
        values = [0.0, *(value for _, value in self.stolen)]
        places = (bisect.bisect(self.stolen, (at, float("inf"))) for at in (start, end))
        first, last = places
        return values[last] - values[first] if first else 0.0


@dataclass
class Reached:
    """Milliseconds of one press, from the click to its effect, and of its stages."""

    total: float
    page: float
    """until the page sent the command"""
    way: float
    """until the kernel's thread for the panel had it"""
    kernel: float
    """until it had its effect"""
    stolen: float
    """processor time that the host took meanwhile"""


class Pressing:
    """Presses buttons of the panel and remembers when."""

    def __init__(self, one: Any) -> None:
        self.one = one
        one.page.evaluate(PRESSES)
        self.made: list[tuple[str, float]] = []

    def press(self, what: str, button: Any, timeout: float | None = None) -> None:
        button.click(timeout=timeout)
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
    seen, starts, stolen = ([tuple(entry) for entry in told[name]] for name in ("seen", "starts", "stolen"))
    return Told(seen, sorted(starts), stolen)


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
            pressing.press(f"cancel a task ({chip})", act, timeout=2000)
        except PlaywrightTimeoutError:
            continue  # it was over before the button could be pressed
        page.wait_for_function(f"() => ['cancelled', 'done'].includes({STATE})")
        cancelled = page.evaluate(f"() => {STATE} === 'cancelled'")
        if not cancelled:
            pressing.made.pop()
    page.locator(f'#cellmill-panel [data-filter="{chip}"]').click()


COMMANDS = {
    "pause": "pause",
    "resume": "resume",
    "add a worker": "set-workers",
    "take a worker away": "set-workers",
    "cancel a task (running)": "cancel-task",
    "cancel a task (waiting)": "cancel-task",
    "cancel a run": "cancel-run",
}


def effect(what: str, at: float, following: float, told: Told) -> float:
    """When a press did what it says; ``following`` is when the next one came."""
    starts = told.starts
    if (
        what == "pause"
    ):  # no task starts any more: the last one that did, and not before the kernel says so itself
        return max(told.first(at, "paused", True), *(start for start, _ in starts if start < following))
    if what == "resume":  # the first task that starts again
        return next(start for start, _ in starts if start >= at)
    if what == "add a worker":  # the first task on the new worker
        return next(start for start, worker in starts if start >= at and worker > 1)
    if what == "take a worker away":
        return told.first(at, "workers", 2)
    if what == "cancel a run":  # its map raises in the cell
        return told.first(at, "raised", None)
    return told.first(at, "runs_long" if what == "cancel a task (running)" else "waits_long", True)


def reached(pressing: Pressing, told: Told) -> dict[str, list[Reached]]:
    """Each press of each kind."""

    def one(what: str, at: float, following: float) -> Reached:
        done = max(at, effect(what, at, following, told))
        sent, heard = told.heard(at, COMMANDS[what])
        page, way, kernel = (1000 * seconds for seconds in (sent - at, heard - sent, done - heard))
        return Reached(1000 * (done - at), page, way, kernel, told.stolen_between(at, done))

    return {what: [one(what, *times) for times in pressing.after(what)] for what in COMMANDS}


def say(what: str, figures: dict[str, list[Reached]], taken: float) -> None:
    print(f"\n\nMilliseconds from press to effect, {what}; {TURNS} presses each")
    print(f"load {os.getloadavg()[0]:.1f}; the machine's host took {taken:.0f} ms meanwhile\n")
    print(f"{'':24}{'median':>8}{'most':>8}{'wanted':>10}{'':11}the slowest: page + way + kernel (host)")
    for name, presses in figures.items():
        middle = statistics.median(press.total for press in presses)
        most = max(presses, key=lambda press: press.total)
        verdict = "met" if most.total <= GOAL else "NOT MET"
        stages = f"{most.page:.0f} + {most.way:.0f} + {most.kernel:.0f} ({most.stolen:.0f})"
        print(f"{name:24}{middle:8.0f}{most.total:8.0f}{f'<= {GOAL:.0f}':>10}  {verdict:9}{stages}")


@pytest.fixture
def context(own_context: BrowserContext) -> BrowserContext:
    """A browser that has loaded nothing before."""
    return own_context


@pytest.mark.timeout(2700)
def test_control(lab: Callable[..., Any]) -> None:
    one = lab(
        LOAD,
        DEFINE,
        WATCH,
        *(f"seen.clear(); stolen.clear(); over.clear()\n{cell}" for cell in CELLS.values()),
    )
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
        say(what, figures, taken)
        report += [
            {
                "cell": what,
                "press": name,
                "goal_ms": GOAL,
                "stolen_ms": taken,
                "times_ms": [asdict(press) for press in presses],
            }
            for name, presses in figures.items()
        ]
    RESULTS.write_text(
        json.dumps({"machine": machine.describe(), "commit": machine.commit(), "figures": report}, indent=1)
        + "\n"
    )
    assert one.errors == []
