"""The tabs with the state map and with throughput and queue over time, in a real JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
SETUP = """%load_ext cellmill
import pathlib, time
from cellmill import parallel

@parallel
def work(item):
    number, gate = item
    while gate and not pathlib.Path(gate).exists():
        time.sleep(0.01)
    if number % 10 == 3:
        raise ValueError(number)
    return number

print('loaded', 'now')"""
SMALL = """futures = [work((n, '')) for n in range(60)]
good = sum(future.exception() is None for future in futures)
futures = [work((n, {gate!r})) for n in range(60, 80)]
print('ended', good + sum(future.exception() is None for future in futures))"""
LARGE = """def failing(x):
    if x % 20000 == 7:
        raise ValueError(x)

done = sum(1 for _ in work._where().map(failing, range({tasks}), return_exceptions=True))
print('gathered', done)"""

# what the picture shows at the middle of a cell, as red, green and blue
PIXEL = """([column, row, columns]) => {
    const canvas = document.querySelector('#cellmill-panel .cellmill-map-canvas');
    const side = canvas.width / columns;
    const at = [Math.floor((column + 0.5) * side), Math.floor((row + 0.5) * side)];
    return Array.from(canvas.getContext('2d').getImageData(at[0], at[1], 1, 1).data.slice(0, 3));
}"""


def choose(one: Any, tab: str) -> None:
    one.page.get_by_role("tab", name=tab, exact=True).click()


def wait_map(one: Any, condition: str) -> None:
    """Wait until a JavaScript expression over the map's numbers `m` holds."""
    wait_until(
        one.page,
        f"""() => {{
            const root = document.querySelector('#cellmill-panel .cellmill-map');
            const m = root === null ? {{}} :
                Object.fromEntries(Object.entries(root.dataset).map(([k, v]) => [k, Number(v)]));
            return {condition};
        }}""",
    )


def wait_task(one: Any, condition: str) -> None:
    """Wait until a JavaScript expression over the element of one task in full holds."""
    wait_until(
        one.page,
        f"""() => {{
            const task = document.querySelector('#cellmill-panel .cellmill-task-detail');
            return task !== null && task.offsetParent !== null && {condition};
        }}""",
    )


def legend(one: Any) -> dict[str, str]:
    items = one.page.locator("#cellmill-panel .cellmill-legend-item:not([hidden])").all()
    return {
        item.get_attribute("data-state"): item.locator(".cellmill-legend-count").inner_text()
        for item in items
    }


def words(one: Any) -> str:
    return str(one.page.locator("#cellmill-panel .cellmill-map-words").inner_text())


def looks(one: Any, name: str) -> None:
    """Pictures of the panel as it is and in the dark."""
    one.picture(f"{name}-light")
    one.picture(f"{name}-dark", dark=True)


def test_map_and_now(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tasks = 100_000
    one = lab_in_use(SETUP, SMALL.format(gate=str(gate)), LARGE.format(tasks=tasks))
    page = one.page
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_panel("d.done === 60 && d.running === 2")
    choose(one, "Map")
    wait_map(one, "m.span === 1 && m.cells === 80 && m.done === 54 && m.failed === 6")
    assert legend(one) == {"done": "54", "running": "2", "queued": "18", "failed": "6"}
    canvas = page.get_by_role("img", name="State map. 80 tasks")
    assert "54 done, 2 running, 18 queued, 6 failed" in canvas.get_attribute("aria-label")

    # every task is where it belongs, in its state's colour; a failure is darker, too
    colours = {
        state: page.evaluate(PIXEL, [n, 0, columns_of(one)]) for n, state in ((0, "done"), (3, "failed"))
    }
    assert sum(colours["failed"]) < 0.7 * sum(colours["done"])
    canvas.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert words(one) == "Task 4 of 80: failed"
    page.keyboard.press("End")
    assert words(one) == "Task 80 of 80: queued"
    looks(one, "map-small")

    # a task that is pressed is shown in full by the table of tasks
    canvas.click(position={"x": 3, "y": 3})
    wait_task(one, "task.dataset.state === 'done'")
    for moves, condition in (
        (
            ["Home"] + ["ArrowRight"] * 3,
            "task.dataset.state === 'failed' && task.textContent.includes('3, ')",
        ),
        (["End"], "['queued', 'sent'].includes(task.dataset.state) && task.textContent.includes('79, ')"),
    ):
        choose(one, "Map")
        canvas.focus()
        for key in [*moves, "Enter"]:
            page.keyboard.press(key)
        wait_task(one, condition)
    choose(one, "Map")

    with one.asked_tasks() as asked:
        canvas.click(position={"x": 3, "y": 3})
        gate.touch()
        wait_map(one, "m.done === 72 && m.failed === 8")
        one.run_cell(2)
        one.wait_output(2, f"gathered {tasks}")
        a_large_map_has_cells_of_many_tasks(one, tasks)
        assert asked() == [
            {"task": 1, "position": 0, "run": None},
            {"task": 8, "position": 87, "run": None},
        ]
    tasks_beyond_the_first_page_of_the_table(one, tasks + 80)
    throughput_and_queue_over_time(one)
    assert one.errors == []


def a_large_map_has_cells_of_many_tasks(one: Any, tasks: int) -> None:
    page = one.page
    wait_map(one, f"m.span === 8 && m.cells === 12500 && m.done === {tasks - 5} && m.failed === 5")
    looks(one, "map-large")
    canvas = page.get_by_role("img", name="State map. 100,000 tasks")
    canvas.focus()
    page.keyboard.press("Home")
    assert words(one) == "Tasks 1 to 8: about 87% done, some failed"
    page.keyboard.press("Enter")
    wait_map(one, "m.span === 1 && m.cells === 512 && m.start === 0 && m.failed === 1")
    assert words(one) == f"Task 1 of {tasks:,}: done"
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    assert words(one) == f"Task 8 of {tasks:,}: failed"
    page.keyboard.press("Enter")
    one.picture("map-zoomed-light")
    page.keyboard.press("Escape")
    wait_map(one, "m.span === 8 && m.cells === 12500")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    wait_map(one, "m.span === 1 && m.cells === 512 && m.start > 0")
    page.get_by_role("button", name="Show all").click()
    wait_map(one, "m.span === 8 && m.start === 0")


def tasks_beyond_the_first_page_of_the_table(one: Any, tasks: int) -> None:
    page = one.page
    choose(one, "Tasks")
    page.get_by_text(f"1 to 50 of {tasks:,} tasks").wait_for()
    page.get_by_role("button", name="Task", exact=True).click()
    first = "() => document.querySelector('.cellmill-task-table tbody tr td').textContent"
    wait_until(page, "() => document.querySelector('th[aria-sort=descending]').textContent === 'Task'")
    page.get_by_role("button", name="Next tasks").click()
    page.get_by_text(f"51 to 100 of {tasks:,} tasks").wait_for()
    there = page.evaluate(first)
    page.get_by_role("button", name="Previous tasks").click()
    page.get_by_text(f"1 to 50 of {tasks:,} tasks").wait_for()
    assert page.evaluate(first) != there


def throughput_and_queue_over_time(one: Any) -> None:
    page = one.page
    choose(one, "Now")
    page.get_by_role("button", name="Whole run").click()
    rate = page.get_by_role("img", name="Tasks per second: now")
    assert rate.count() == 1
    queued = page.get_by_role("img", name="Queued: now 0, at most ")
    assert queued.count() == 1
    assert page.locator("#cellmill-panel .cellmill-chart canvas").count() == 3
    looks(one, "now-whole")
    for window in ("Whole run", "5 min"):
        page.get_by_role("button", name=window).click()
        page.get_by_role("group", name="Throughput, queue").focus()
        page.keyboard.press("End")
        value = page.locator("#cellmill-panel .cellmill-chart-rate .cellmill-chart-value")
        page.keyboard.press("ArrowLeft")
        presses = 1
        while value.inner_text() in ("0", "–", ""):  # somewhere on the way back to the beginning tasks ended
            presses += 1
            assert presses <= 120, window
            page.keyboard.press("ArrowLeft")
        assert page.locator("#cellmill-panel .cellmill-now-when").inner_text() not in ("", "now")
    assert page.get_by_role("button", name="5 min").get_attribute("aria-pressed") == "true"
    one.picture("now-five-minutes-light")


def columns_of(one: Any) -> int:
    """Cells in a row, found as the page finds them: by going down one row."""
    page = one.page
    page.locator("#cellmill-panel .cellmill-map-canvas").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    return int(words(one).split()[1].rstrip(":")) - 1
