"""The task graph and the workers in a real JupyterLab, and a recorded run that gives the same pictures again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.lab_page import Lab, wait_until

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

# What one sees of a tab: its words and its canvases.
PICTURE = """() => {
    const page = [...document.querySelectorAll('.cellmill-page')].find(one => !one.hidden);
    return {
        words: page.innerText,
        data: page.firstElementChild ? {...page.firstElementChild.dataset} : {},
        canvases: [...page.querySelectorAll('canvas')].map(one => one.toDataURL())
    };
}"""
# What the charts of a tab were given to draw: moments and values of each line.
LINES = (
    "() => [...document.querySelectorAll('.cellmill-page-now .cellmill-chart-plot')].map(one => one.drawn)"
)
SEARCH = """async wanted => {
    const slider = document.querySelector('.cellmill-player-slider');
    const look = LOOK;
    const show = at => {
        slider.value = String(at);
        slider.dispatchEvent(new Event('input'));
        return Promise.resolve();  // charts are painted in a microtask
    };
    for (let at = Number(slider.max); at >= 0; at -= 0.05) {
        await show(at);
        const found = look();
        if (wanted.canvases === null) found.canvases = null;
        if (JSON.stringify(found) === JSON.stringify(wanted)) return at;
    }
    await show(slider.max);
    return look();
}""".replace("LOOK", PICTURE)
# Seconds that the timeline shows in the middle of the recording, whose clock is not the page's, and its length.
BARS = """() => {
    performance.now = () => 1e9;
    const slider = document.querySelector('.cellmill-player-slider');
    const length = Number(slider.max);
    const running = () => document.querySelector('.cellmill-dashboard').dataset.running;
    for (let at = length; at >= 0 && running() !== '2'; at -= 0.1) {
        slider.value = String(at);
        slider.dispatchEvent(new Event('input'));
    }
    delete performance.now;
    return [Number(document.querySelector('.cellmill-timeline').dataset.to), length];
}"""
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

    # what the live page shows in the end, and the same out of the file
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
    width = one.page.locator("#cellmill-panel .cellmill-dashboard").evaluate("one => one.clientWidth")
    variables = one.page.evaluate(VARIABLES)
    one.run_cell(2)
    one.wait_output(2, "recorded")
    replayed(one, root / "run.cellmill", live, lines, width, variables)

    interact(one)
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
    (root / "gate").unlink()
    one.run_cell(6)
    each_dot_has_the_colour_of_its_task(one)
    widen(one, 250)  # the page is left for other tests
    assert not one.errors


Line = tuple[list[float], list[float | None]]


def same_lines(some: list[Line], others: list[Line]) -> bool:
    """Whether charts were given the same to draw: every moment to a millisecond, and two thirds of the values that both
    know to what a pixel shows. A page that has much to do misses a frame now and then, a recording has them all.
    """
    assert len(some) == len(others) == 3
    for (times, values), (other_times, other_values) in zip(some, others, strict=True):
        assert len(times) == len(values) == len(other_times) == len(other_values) > 100
        if any(abs(one - other) > 0.001 for one, other in zip(times, other_times, strict=True)):
            return False
        known = [
            (one, other)
            for one, other in zip(values, other_values, strict=True)
            if one is not None and other is not None
        ]
        most = max(one for one, _ in known)
        assert most > 0
        alike = sum(abs(one - other) <= 0.01 * most for one, other in known)
        if 3 * alike < 2 * len(known):
            return False
    return True


def replayed(
    one: Lab,
    journal: Path,
    live: dict[str, Any],
    lines: list[Line],
    width: int,
    variables: dict[str, str],
) -> None:
    command = [sys.executable, "-m", "cellmill", "replay", str(journal)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    page = one.page.context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(done.stdout.split()[-1])
    page.bring_to_front()
    page.wait_for_selector(".cellmill-dashboard[data-done='20'][data-failed='2']")
    page.evaluate(
        """([width, variables]) => {
            document.querySelector('.cellmill-panel').style.width = `${width + 24}px`;
            for (const [name, value] of Object.entries(variables)) {
                document.documentElement.style.setProperty(name, value);
            }
            // The buttons that a kernel obeys take room in the live page.
            const style = document.createElement('style');
            style.textContent = '.cellmill-worker-replace { display: inline-block !important; }';
            document.head.append(style);
        }""",
        [width, variables],
    )
    for tab, wanted in live.items():
        page.locator(f"[data-tab={tab}]").click()
        if tab == "now":
            page.locator(".cellmill-page-now").get_by_role("button", name="Whole run").click()
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found = page.evaluate(SEARCH, wanted)
        assert isinstance(found, int | float), (tab, found["words"], wanted["words"])
        if tab == "now":
            assert same_lines(lines, page.evaluate(LINES))
    look_up_tasks(page)
    page.locator("[data-tab=timeline]").click()
    shown, length = page.evaluate(BARS)
    assert 0 < shown <= length
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Play").click()
    wait_until(page, "() => document.querySelector('.cellmill-dashboard').dataset.done === '20'")
    assert not errors
    page.close()


def look_up_tasks(page: Page) -> None:
    """Filters, order, search and clicks at the end of a recording."""
    row, detail = page.locator(".cellmill-task-table tbody tr"), page.locator(".cellmill-task-detail")
    page.locator("[data-tab=tasks]").click()
    page.locator('[data-filter="failed"]').click()
    expect(row).to_have_count(2)
    assert sorted(row.locator("td:nth-child(2)").all_inner_texts()) == ["report", "score"]
    page.locator('[data-filter="failed"]').click()
    expect(row).to_have_count(20)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(row.first.locator("td:nth-child(2)")).to_have_text("align")
    page.get_by_role("searchbox", name="Search tasks").fill("alone")
    wait_until(page, "() => document.querySelectorAll('.cellmill-task-table tbody tr').length < 3")
    row.filter(has_text="score").click()
    expect(detail.locator(".cellmill-stage")).to_have_count(7)
    assert detail.locator(".cellmill-detail-error").inner_text() == "ValueError: <b>alone</b>"
    assert "in score" in detail.locator(".cellmill-detail-traceback").inner_text()
    assert detail.get_by_role("button").all_inner_texts() == ["×"]  # there is no kernel to run it again
    # the other tabs name tasks, the map by their places
    page.locator("[data-tab=map]").click()
    page.locator(".cellmill-map-canvas").focus()
    page.keyboard.press("Enter")
    expect(detail.locator(".cellmill-detail-function")).to_have_text("load")
    page.locator("[data-tab=graph]").click()
    page.locator(".cellmill-graph-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(detail.locator(".cellmill-detail-function")).to_have_text("align")


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
