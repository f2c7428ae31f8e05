"""The tabs of the timeline and of the journey in a real JupyterLab: long tasks of two functions, then a flood."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError

from tests.browser.lab_page import wait_until
from tests.browser.test_widths import CUT
from tests.browser.test_workers import widen

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\n%cellmill workers 3\nprint('loaded', 'now')"
DEFINE = """%%parallel
def prepare(number):
    import time
    time.sleep(0.08 + 0.01 * (number % 5))
    if number == 4:
        raise ValueError("this one fails")
    return number

def measure(item):
    import pathlib, time
    number, gate = item
    while number == 9 and not pathlib.Path(gate, "open").exists():
        time.sleep(0.01)
    time.sleep(0.15)
    return number

def tiny(number):
    return number
"""
COARSE = """first = [prepare(n) for n in range(12)]
second = [measure((n, {gate!r})) for n in range(10)]
print('got', len([f.exception() for f in first + second]))
"""
FLOOD = "print('sum', sum(f.result() for f in [tiny(n) for n in range(30_000)]))"
DASHBOARD = "#cellmill-panel .cellmill-dashboard"


def wait_canvas(one: Any, condition: str) -> None:
    """Wait until a JavaScript expression over the numbers `d` of the timeline's canvas holds."""
    wait_until(
        one.page,
        f"""() => {{
            const canvas = document.querySelector('{DASHBOARD} .cellmill-timeline');
            if (canvas === null) return false;
            const d = Object.fromEntries(Object.entries(canvas.dataset).map(([k, v]) => [k, Number(v)]));
            return {condition};
        }}""",
    )


def range_of(one: Any) -> tuple[float, float]:
    canvas = one.page.locator(f"{DASHBOARD} .cellmill-timeline")
    return float(canvas.get_attribute("data-from")), float(canvas.get_attribute("data-to"))


def words_of(one: Any) -> Any:
    return one.page.locator(f"{DASHBOARD} .cellmill-page-timeline .cellmill-note").first


def choose(one: Any, tab: str) -> None:
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab={tab}]").click()


def test_timeline_and_journey(lab_in_use: OpenLab, tmp_path: Path) -> None:
    one = lab_in_use(LOAD, DEFINE, COARSE.format(gate=str(tmp_path)), FLOOD)
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.run_cell(2)
    one.wait_panel("d.presence === 'live' && d.failed === 1 && d.done === 21 && d.running === 1")
    choose(one, "timeline")
    while_it_runs(one)
    (tmp_path / "open").touch()
    one.wait_output(2, "got 22")
    words_of(one).filter(has_not_text="running").wait_for()  # from now on the picture does not move
    wait_canvas(one, "d.spans === 22")
    with one.asked_tasks() as asked:
        a_click_names_the_task(one, asked)
        keys_zoom_and_move(one)
    the_journey_of_both(one)
    choose(one, "timeline")
    one.run_cell(3)
    one.wait_output(3, "sum 449985000")
    a_flood(one)
    assert one.errors == []


def while_it_runs(one: Any) -> None:
    wait_canvas(one, "d.spans === 22")  # the one that runs is seen, and its bar grows
    before = range_of(one)
    wait_canvas(one, f"d.to > {before[1]} + 0.2")
    words_of(one).filter(has_text="1 running").wait_for()
    legend = one.page.locator(f"{DASHBOARD} .cellmill-key").all_inner_texts()
    assert sorted(legend) == ["measure", "prepare"]
    canvas = one.page.locator(f"{DASHBOARD} .cellmill-timeline")
    assert canvas.get_attribute("role") == "application"
    assert "1 failed" in (canvas.get_attribute("aria-label") or "")
    one.picture("timeline-coarse")


def a_click_names_the_task(one: Any, asked: Callable[[], Any]) -> None:
    canvas = one.page.locator(f"{DASHBOARD} .cellmill-timeline")
    x, y = a_task_of_the_first_worker(one, canvas.bounding_box())
    one.page.mouse.click(x, y)
    wait_until(one.page, "() => window.asked.length > 0")
    assert asked()[0]["task"].isdecimal()


def a_task_of_the_first_worker(one: Any, box: Any) -> tuple[float, float]:
    """Where the pointer meets one: how its tasks lie, and the gaps between them, depends on the machine."""
    tip = one.page.locator(f"{DASHBOARD} .cellmill-tip").get_by_text("worker 0, from")
    y = box["y"] + 10
    for by in range(10, int(box["width"]), 10):
        one.page.mouse.move(box["x"] + by, y)
        if tip.is_visible():
            return box["x"] + by, y
    raise AssertionError("no task of the first worker is under the pointer along its row")


def keys_zoom_and_move(one: Any) -> None:
    canvas = one.page.locator(f"{DASHBOARD} .cellmill-timeline")
    canvas.focus()
    whole = range_of(one)
    one.page.keyboard.press("+")
    wait_canvas(one, f"d.to - d.from < {0.6 * (whole[1] - whole[0])}")
    zoomed = range_of(one)
    one.page.keyboard.press("ArrowRight")
    wait_canvas(one, f"d.from > {zoomed[0]}")
    one.page.keyboard.press("Shift+ArrowRight")
    one.page.keyboard.press("Enter")
    spoken = one.page.locator(f"{DASHBOARD} .cellmill-page-timeline [role=status]")
    spoken.get_by_text("worker").wait_for()
    box = canvas.bounding_box()
    one.page.mouse.move(box["x"] + 200, box["y"] + 10)
    one.page.mouse.wheel(0, -300)
    wait_canvas(one, f"d.to - d.from < {0.9 * (zoomed[1] - zoomed[0])}")
    one.page.keyboard.press("0")
    wait_canvas(one, f"d.from === 0 && d.to >= {whole[1]}")


def the_journey_of_both(one: Any) -> None:
    choose(one, "journey")
    page = one.page.locator(f"{DASHBOARD} .cellmill-page-journey")
    page.locator(".cellmill-journey").nth(1).wait_for()
    assert sorted(page.locator(".cellmill-journey-name").all_inner_texts()) == ["measure", "prepare"]
    page.locator("select").select_option("prepare")
    page.locator("caption").get_by_text("prepare: 12 tasks, 1 failed").wait_for()
    run = page.locator("tr:has(.cellmill-interval-4) td").all_inner_texts()
    assert all(text.endswith("ms") and float(text.split()[0]) > 70 for text in run), run
    one.picture("journey-coarse")
    the_bar_tells_why_workers_were_idle(one, page)
    page.get_by_role("button", name="Log scale").click()
    page.get_by_text("On the log scale").wait_for()


def the_bar_tells_why_workers_were_idle(one: Any, page: Any) -> None:
    """In the words of the sentence; its parts have patterns of their own."""
    page.locator(".cellmill-account-track .cellmill-account-idle-last").wait_for(state="attached")
    names = page.locator(".cellmill-account-entry").all_inner_texts()
    assert [name.rpartition(" ")[0] for name in names][:2] == ["your code", "arguments and results"]
    idle = {name.rpartition(" ")[0]: name.rpartition(" ")[2] for name in names[2:]}
    sentence = page.locator(".cellmill-account .cellmill-reading").inner_text()
    assert (
        f"{idle['idle while the last task ran'].replace('%', ' %')} idle while the last task ran" in sentence
    )
    assert all(name in sentence for name, share in idle.items() if share not in ("0%", "1%")), (
        idle,
        sentence,
    )
    looks = page.locator(".cellmill-account-track i").evaluate_all(
        "pieces => pieces.map(piece => getComputedStyle(piece).background)"
    )
    assert len(set(looks)) == len(names)
    for width in (250, 300):
        widen(one, width)
        assert one.page.evaluate(CUT, "#cellmill-panel") == []
        one.picture(f"journey-reasons-light-{width}")
        one.picture(f"journey-reasons-dark-{width}", dark=True)


def single_tasks_come(one: Any) -> None:
    """For a part that is small beside what is drawn together, which depends on how the tasks lie."""
    told = f"() => document.querySelector('{DASHBOARD} .cellmill-timeline').dataset.detail === 'tasks'"
    for _ in range(8):
        try:
            wait_until(one.page, told, timeout=8000)
            return
        except TimeoutError:
            one.page.keyboard.press("+")
    raise AssertionError(one.page.locator(f"{DASHBOARD} .cellmill-page-timeline").inner_text())


def a_flood(one: Any) -> None:
    one.page.locator(f"{DASHBOARD} .cellmill-note").get_by_text("30,000 tasks on 3 workers").wait_for()
    wait_canvas(one, "d.spans >= 3 && d.spans <= 1003")
    one.picture("timeline-flood")
    canvas = one.page.locator(f"{DASHBOARD} .cellmill-timeline")
    canvas.focus()
    for _ in range(8):
        one.page.keyboard.press("+")
    single_tasks_come(one)
    one.picture("timeline-zoomed")
    choose(one, "journey")
    reading = one.page.locator(f"{DASHBOARD} .cellmill-reading")
    reading.get_by_text("From call to result a task takes").wait_for()
    one.picture("journey-flood")
