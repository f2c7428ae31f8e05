"""The choice of what the panel shows: with one run chosen, header and tabs are about its tasks alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
DEFINE = """%%parallel
def simulate(x):
    if x % 10 == 0:
        raise ValueError("a ten")
    return x

def rank(x, gate=""):
    import pathlib, time
    while gate and x >= 18 and not pathlib.Path(gate).exists():
        time.sleep(0.01)
    return x
"""


def run_both(gate: Path) -> str:
    """Two runs that take turns; the last two tasks of the second wait for a gate."""
    return (
        "import concurrent.futures\n"
        "calls = [simulate(18), simulate(19)]\n"
        "for x in range(18):\n"
        "    calls += [simulate(x), rank(x)]\n"
        "concurrent.futures.wait(calls)\n"
        f"calls += [rank(18, {str(gate)!r}), rank(19, {str(gate)!r})]\n"
        "print('all', len(concurrent.futures.wait(calls).done))"
    )


def choose(page: Any, name: str) -> None:
    """Choose a run by a part of its text."""
    select = page.locator(f"{PANEL} .cellmill-scope-choice")
    option = select.locator("option", has_text=name).first
    option.wait_for(state="attached")
    select.select_option(value=option.get_attribute("value"))


def tab(page: Any, name: str) -> Any:
    page.locator(f'{PANEL} [data-tab="{name}"]').click()
    return page.locator(f"{PANEL} .cellmill-page-{name}")


def check_map(page: Any, failed: int) -> None:
    shown = tab(page, "map").locator(".cellmill-map")
    wait_until(
        page,
        f"""() => {{
            const d = document.querySelector('{PANEL} .cellmill-map')?.dataset;
            return d?.cells === '20' && d.failed === '{failed}' && d.done === '{20 - failed}';
        }}""",
    )
    assert shown.is_visible()


def check_tabs(page: Any, name: str, failed: int) -> None:
    """Every tab is about this run of 20 tasks."""
    check_map(page, failed)
    tab(page, "timeline").locator(".cellmill-timeline-legend").get_by_text(name, exact=True).wait_for()
    assert page.locator(f"{PANEL} .cellmill-timeline-legend .cellmill-key").count() == 1
    tab(page, "journey").locator(".cellmill-journey-time").get_by_text("20 tasks").wait_for()
    assert page.locator(f"{PANEL} .cellmill-journey-name").all_inner_texts() == [name]
    tab(page, "tasks").locator(".cellmill-task-foot").get_by_text("20 tasks", exact=True).wait_for()
    for shared in ("workers", "profile"):
        tab(page, shared)
        page.locator(f"{PANEL} .cellmill-shared").wait_for()
    tab(page, "graph")
    assert page.locator(f"{PANEL} .cellmill-shared").is_hidden()
    page.locator(f"{PANEL} .cellmill-page-graph").get_by_text(
        "No task takes the result of another one"
    ).wait_for()


def test_one_run_rules_the_header_and_every_tab(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one = lab_in_use(LOAD, DEFINE, run_both(gate))
    page = one.page
    one.open_panel()
    for cell in range(3):
        one.run_cell(cell)
    one.wait_panel("d.total === 40 && d.over === 38 && d.running === 2")

    # While it goes on: by its row, and by the choice.
    # By a key: a line of the header that comes (the time that is left) moves the row from under the mouse.
    page.locator(f"{PANEL} .cellmill-run-name", has_text="rank").first.press("Enter")
    one.wait_panel("d.total === 20 && d.done === 18 && d.running === 2 && d.failed === 0")
    assert page.locator(f"{PANEL} .cellmill-cancel").get_attribute("aria-label").endswith("] rank")
    choose(page, "] simulate")
    one.wait_panel("d.total === 20 && d.done === 20 && d.running === 0 && d.failed === 2")
    check_tabs(page, "simulate", 2)

    # A fold leads to its own tasks, and back.
    tasks = tab(page, "tasks")
    fold = tasks.locator(".cellmill-failure")
    fold.click()
    tasks.locator(".cellmill-task-foot").get_by_text("2 tasks", exact=True).wait_for()
    assert fold.get_attribute("aria-pressed") == "true"
    fold.click()
    tasks.locator(".cellmill-task-foot").get_by_text("20 tasks", exact=True).wait_for()

    gate.touch()
    one.wait_output(2, "all 40")
    prompt = page.locator(".jp-Notebook .jp-Cell").nth(2).locator(".jp-InputArea-prompt")
    wait_until(page, "prompt => /[0-9]/.test(prompt.textContent)", arg=prompt.element_handle())
    choose(page, f"In{prompt.inner_text().strip().rstrip(':')} rank")
    one.wait_panel("d.total === 20 && d.done === 20 && d.failed === 0")
    check_map(page, 0)
    names = tab(page, "journey").locator(".cellmill-journey-name")
    names.get_by_text("rank", exact=True).wait_for()
    assert names.count() == 1
    runs = tab(page, "runs").locator(".cellmill-history-run")
    runs.filter(has_text="simulate").get_by_text("18 done, 2 failed").wait_for()
    assert runs.filter(has_text="rank").locator(".cellmill-run-name").get_attribute("aria-pressed") == "true"
    assert not one.errors
