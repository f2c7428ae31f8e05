"""The task graph and the workers in a real JupyterLab, and a recorded run that gives the same pictures again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab_page import Lab, wait_until
from tests.browser.replays import LINES, PICTURE, Line, replayed

SETUP = """
%load_ext cellmill
%cellmill workers 2
import pathlib, time
import cellmill

@cellmill.parallel
def load(name): return len(name)

@cellmill.parallel
def align(a, gate=None):
    time.sleep(0.05 * a)
    while gate and not pathlib.Path(gate).exists(): time.sleep(0.01)
    return a

@cellmill.parallel
def score(*parts):
    if len(parts) == 1: raise ValueError("<b>alone</b>")
    return sum(parts)

@cellmill.parallel
def report(*scores): return sum(scores)
"""
WORK = """
%cellmill record run.cellmill
parts = [align(load("x" * i), gate="gate") for i in range(1, 7)]
scores = [score(*parts[i:i + 2]) for i in range(6)]
top = report(*scores[:5])
lost = report(scores[5])
print("top", top.result())
"""
MANY = """
grid = [load("x") for _ in range(60)]
for _ in range(20):
    grid = [report(grid[i], grid[(7 * i + 3) % 60]) for i in range(60)]
print("grid", sum(f.result() for f in grid) > 0)
"""
HUGE = """
chain = [load("x") for _ in range(1000)]
more = [align(one) for one in [load("") for _ in range(1000)]]
print("huge", sum(report(one).result() for one in chain + more))
"""
NONE = """
print("none", load("x").result())
"""

DOTS = """
firsts = [align(0) for i in range(80)]
failing = [score(firsts[i]) for i in range(4)]
rest = [report(one) for one in failing + firsts[4:]]
[one.exception() for one in rest]
rest += [report(align(0, gate="gate")) for i in range(10)]
"""

# Areas of the graph's picture that have the colour of a state, by state.
AREAS = """() => {
    const canvas = document.querySelector('#cellmill-panel .cellmill-graph-canvas');
    const { width, height } = canvas;
    const colours = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const style = getComputedStyle(canvas);
    const states = ['waiting', 'queued', 'running', 'done', 'failed', 'cancelled', 'skipped', 'lost'];
    const stateOf = new Map(states.map((state, index) => {
        colours.fillStyle = style.getPropertyValue(`--cellmill-graph-${state}`).trim();
        colours.fillRect(0, 0, 1, 1);
        const [red, green, blue] = colours.getImageData(0, 0, 1, 1).data;
        return [red << 16 | green << 8 | blue, index];
    }));
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const state = new Int8Array(width * height).map((_, at) => data[4 * at + 3] < 255 ? -1
        : stateOf.get(data[4 * at] << 16 | data[4 * at + 1] << 8 | data[4 * at + 2]) ?? -1);
    const areas = Object.fromEntries(states.map(each => [each, 0]));
    for (let start = 0; start < state.length; start++) {
        const here = state[start];
        let size = 0;
        for (const todo = [start]; here >= 0 && todo.length > 0;) {
            const at = todo.pop();
            if (state[at] === here) {
                state[at] = -1;
                size += 1;
                todo.push(at - width, at + width);
                if (at % width > 0) todo.push(at - 1);
                if (at % width < width - 1) todo.push(at + 1);
            }
        }
        if (size >= 9) areas[states[here]] += 1;  // else a piece of a line that is drawn over it
    }
    return areas;
}"""
VARIABLES = """() => {
    const style = getComputedStyle(document.body);
    return Object.fromEntries([...style].filter(one => one.startsWith('--jp-'))
        .map(one => [one, style.getPropertyValue(one)]));
}"""


def choose(lab: Lab, tab: str) -> None:
    lab.page.locator(f"#cellmill-panel [data-tab={tab}]").click()


def graph(lab: Lab, condition: str) -> None:
    """Wait until a JavaScript expression over the graph's numbers `g` holds."""
    wait_until(
        lab.page,
        f"""() => {{
            const g = document.querySelector('#cellmill-panel .cellmill-graph')?.dataset;
            const words = document.querySelector('#cellmill-panel .cellmill-graph-legend')?.innerText ?? '';
            return g !== undefined && {condition};
        }}""",
    )


def steady_picture(lab: Lab) -> dict[str, Any]:
    """A tab's picture once two in a row are the same."""
    before: dict[str, Any] = {}
    while True:
        now: dict[str, Any] = lab.page.evaluate(PICTURE)
        if now == before:
            return now
        before = now
        lab.page.evaluate("() => new Promise(done => setTimeout(done, 150))")


def widen(lab: Lab, width: int) -> None:
    """Drag the panel's edge until it is about so wide."""
    lab.page.evaluate(
        """width => {
            const shell = window.jupyterapp.shell;
            shell._hsplitPanel.setRelativeSizes([0, 1280 - width, width]);
        }""",
        width,
    )


def test_graph_workers_and_replay(lab_in_use: Callable[..., Lab], tmp_path: Path) -> None:
    ended = "print('all', len([f.exception() for f in rest]))"
    one = lab_in_use(SETUP, WORK, "%cellmill record stop", MANY, HUGE, NONE, DOTS, ended)
    root = one.server.root
    (root / "gate").unlink(missing_ok=True)
    one.open_panel()
    one.run_cell(0)
    one.run_cell(1)
    one.wait_panel("d.running === 2")
    choose(one, "graph")
    graph(one, "g.tasks === '20' && g.dependencies === '23' && words.includes('running 2')")
    one.picture("graph-running-light")
    choose(one, "workers")
    doing = one.page.locator("#cellmill-panel .cellmill-worker-doing")
    doing.get_by_text("align for").first.wait_for()
    assert one.page.locator("#cellmill-panel .cellmill-worker").count() == 3  # two, and the kernel
    wait_until(
        one.page, "() => /%/.test(document.querySelector('#cellmill-panel .cellmill-worker-cpu').innerText)"
    )
    one.picture("workers-light")
    (root / "gate").touch()
    one.wait_output(1, "top 35")
    one.wait_panel("d.done === d.total && d.total === 20")

    live, lines = live_pictures(one)
    width = one.page.locator("#cellmill-panel .cellmill-dashboard").evaluate("one => one.clientWidth")
    variables = one.page.evaluate(VARIABLES)
    one.run_cell(2)
    one.wait_output(2, "recorded")
    replayed(one, root / "run.cellmill", live, lines, width, variables)

    interact(one)
    larger_graphs(one)
    (root / "gate").unlink()
    one.run_cell(6)
    each_dot_has_the_colour_of_its_task(one)
    widen(one, 250)  # the page is left for other tests
    assert not one.errors


def live_pictures(one: Lab) -> tuple[dict[str, Any], list[Line]]:
    """What the page shows in the end, by tab, and what its charts were given to draw."""
    live: dict[str, Any] = {}
    for tab in ("workers", "now", "map", "timeline", "journey", "tasks", "graph"):
        choose(one, tab)
        if tab == "now":
            one.page.locator("#cellmill-panel").get_by_role("button", name="Whole run", exact=True).click()
        elif tab == "tasks":
            one.page.locator("#cellmill-panel").get_by_text("20 tasks", exact=True).wait_for()
        if tab == "graph":
            graph(
                one,
                "words.includes('done 18') && words.includes('failed 1') && words.includes('input failed 1')",
            )
        live[tab] = steady_picture(one)
        if tab == "now":
            live[tab]["canvases"] = None  # its lines are compared, as far as both heard the same frames
            lines = one.page.evaluate(LINES)
    return live, lines


def larger_graphs(one: Lab) -> None:
    """Of many tasks, of more than are drawn one by one, and none; one worker is replaced."""
    one.run_cell(3)
    one.wait_output(3, "grid True")
    graph(one, "g.tasks === '1260' && words.includes('done 1,260')")
    one.picture("graph-many-light")
    widen(one, 640)
    one.picture("graph-many-dark-wide", dark=True)
    one.page.locator(".cellmill-graph-longest input").check()
    one.page.get_by_text("of run time in 21 tasks").wait_for()
    one.picture("graph-longest-dark", dark=True)
    one.run_cell(4)
    one.wait_output(4, "huge")
    graph(one, "g.folded === 'true' && g.tasks === '5000' && words.includes('done 5,000')")
    one.picture("graph-folded-dark", dark=True)
    choose(one, "workers")
    one.picture("workers-dark-wide", dark=True)
    pids = "() => [...document.querySelectorAll('.cellmill-worker-name span')].map(one => one.title).join()"
    before = one.page.evaluate(pids)
    one.page.locator("#cellmill-panel .cellmill-worker-replace").first.click()
    wait_until(one.page, f"before => ({pids})() !== before", arg=before)
    choose(one, "graph")
    one.run_cell(5)
    one.wait_output(5, "none 1")
    one.page.locator("#cellmill-panel").get_by_text("f(g(x))").wait_for()
    one.picture("graph-empty-dark", dark=True)


def interact(one: Lab) -> None:
    """Pointer and keys on the small graph."""
    with one.asked_tasks() as asked:
        node = by_keys(one)
        by_pointer(one)
        assert asked() == [{"task": node}]  # a drag is no click


def by_keys(one: Lab) -> str | None:
    """Go to a task and ask for it; zoom and move."""
    canvas = one.page.locator("#cellmill-panel .cellmill-graph-canvas")
    info = one.page.locator("#cellmill-panel .cellmill-graph-info")
    canvas.focus()
    one.page.keyboard.press("ArrowDown")
    info.get_by_text(re.compile(r"load #\d+")).wait_for()
    one.page.keyboard.press("ArrowDown")
    info.get_by_text(re.compile(r"align #\d+")).wait_for()
    assert "1 input ·" in info.inner_text()
    one.page.keyboard.press("Enter")
    node = one.page.locator("#cellmill-panel .cellmill-graph").get_attribute("data-node")
    one.picture("graph-marked-light")
    before = canvas.evaluate("one => one.toDataURL()")
    one.page.keyboard.press("+")
    one.page.keyboard.press("Shift+ArrowLeft")
    wait_until(
        one.page, "([one, before]) => one.toDataURL() !== before", arg=[canvas.element_handle(), before]
    )
    return node


def by_pointer(one: Lab) -> None:
    box = one.page.locator("#cellmill-panel .cellmill-graph-canvas").bounding_box()
    assert box is not None
    one.page.mouse.move(box["x"] + 20, box["y"] + 20)
    one.page.mouse.wheel(0, 300)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + 60, box["y"] + 50, steps=4)
    one.page.mouse.up()
    one.page.locator("#cellmill-panel").get_by_role("button", name="Show the whole graph").click()


def each_dot_has_the_colour_of_its_task(one: Lab) -> None:
    one.page.locator(".cellmill-graph-longest input").uncheck()  # others are faint
    told = ("waiting 10", "queued 8", "running 2", "done 156", "failed 4", "input failed 4")
    wanted = {"waiting": 10, "queued": 8, "running": 2, "done": 156, "failed": 4, "skipped": 4}
    none = {"cancelled": 0, "lost": 0}
    graph(one, " && ".join(f"words.includes('{each}')" for each in told))
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        one.command("apputils:change-theme", theme=theme)
        one.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
        steady_picture(one)
        assert one.page.evaluate(AREAS) == {**wanted, **none}
        one.picture(f"graph-dots-{theme.split()[1].lower()}")
    (one.server.root / "gate").touch()
    one.run_cell(7)
    one.wait_output(7, "all 90")
    graph(one, "words.includes('done 176')")
    steady_picture(one)
    assert one.page.evaluate(AREAS) == {"done": 176, "failed": 4, "skipped": 4} | dict.fromkeys(
        ("waiting", "queued", "running", "cancelled", "lost"), 0
    )
