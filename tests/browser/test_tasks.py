"""The table of tasks and one task in full: filters, order, search, why it waits, and what may be done to one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
HTML = '<img src=x onerror="window.hacked = true">'
DEFINE = f"""%%parallel
def check(number):
    if number % 10 == 3:
        print({HTML!r}, number)
        raise ValueError(f"bad {HTML.replace('"', chr(39))} {{number}}")
    return number
"""
# Two tasks hold the workers until their gate opens; behind them others wait.
DEFINE_HOLD = """%%parallel
def hold(gate):
    import pathlib, time
    while not pathlib.Path(gate).exists():
        time.sleep(0.01)
    return gate
"""
TABLE = "#cellmill-panel .cellmill-task-table tbody tr"
DETAIL = "#cellmill-panel .cellmill-task-detail"


def run_held(gate: Path) -> str:
    """A cell that runs until its gate is opened, with tasks that run and tasks that wait."""
    return (
        f"held = [hold({str(gate / 'a')!r}) for _ in range(2)]\n"
        f"later = [hold({str(gate / 'b')!r}) for _ in range(4)]\n"
        "import concurrent.futures\n"
        "print('all', len(concurrent.futures.wait(held + later).done))"
    )


def wait_rows(page: Any, condition: str) -> None:
    """Wait until an expression over the rows `r` (lists of their cells' texts) holds."""
    wait_until(
        page,
        f"""() => {{
            const r = [...document.querySelectorAll('{TABLE}')].map(row => ({{
                state: row.dataset.state, task: row.dataset.task, cells: [...row.children].map(c => c.textContent)
            }}));
            return {condition};
        }}""",
    )


def wait_detail(page: Any, text: str) -> None:
    page.locator(DETAIL).get_by_text(text, exact=False).first.wait_for()


def choose_tab(page: Any) -> None:
    page.locator('#cellmill-panel [data-tab="tasks"]').click()


def test_tasks_are_found_looked_at_run_again_and_controlled(lab_in_use: OpenLab, tmp_path: Path) -> None:
    mapped = "results = list(check.map(range(60), return_exceptions=True))\nprint('mapped', 60)"
    one = lab_in_use(LOAD, DEFINE, mapped, DEFINE_HOLD, run_held(tmp_path))
    one.open_panel()
    they_are_found_and_looked_at(one)
    one_is_run_again_and_debugged(one)
    another_tab_names_one(one)
    one_is_controlled_while_the_cell_runs(one, tmp_path)
    assert one.errors == []


def they_are_found_and_looked_at(one: Any) -> None:
    page = one.page
    for cell, words in enumerate(("loaded now", None, "mapped 60")):
        one.run_cell(cell)
        if words:
            one.wait_output(cell, words)
    one.wait_panel("d.done === 60 && d.failed === 6")
    choose_tab(page)
    wait_rows(page, "r.length === 50")
    page.get_by_role("button", name="Next tasks").click()
    wait_rows(page, "r.length === 10")
    page.get_by_role("button", name="Previous tasks").click()
    wait_rows(page, "r.length === 50")
    # six failures are one line
    folded = page.locator("#cellmill-panel .cellmill-failure")
    assert folded.count() == 1
    assert folded.inner_text().split()[0] == "6"
    page.locator('[data-filter="failed"]').click()
    wait_rows(page, "r.length === 6 && r.every(row => row.state === 'failed')")
    page.get_by_role("button", name="Task", exact=True).click()
    page.wait_for_selector("th[aria-sort='descending'] >> text=Task")
    page.get_by_role("searchbox", name="Search tasks").fill("bad")
    wait_rows(page, "r.length === 6")
    page.get_by_role("searchbox", name="Search tasks").fill("> 23")
    wait_rows(page, "r.length === 1")
    page.locator(TABLE).first.focus()
    page.keyboard.press("Enter")
    wait_detail(page, "Traceback")
    assert HTML in page.locator(f"{DETAIL} .cellmill-detail-output").inner_text()
    assert "23" in page.locator(f"{DETAIL} .cellmill-detail-arguments").inner_text()
    assert page.locator(f"{DETAIL} .cellmill-stage").count() == 7
    assert "in check" in page.locator(f"{DETAIL} .cellmill-detail-traceback").inner_text()
    assert page.locator("#cellmill-panel img").count() == 0
    assert page.evaluate("() => window.hacked") is None
    one.picture("tasks-detail-light")


def one_is_run_again_and_debugged(one: Any) -> None:
    """The call again: it fails again, in a task of its own, and the table counts one more."""
    page = one.page
    before = page.locator(DETAIL).get_attribute("data-task")
    page.locator('[data-act="rerun"]').click()
    one.wait_panel("d.failed === 7 || d.total === 1")
    wait_until(page, f"old => document.querySelector('{DETAIL}').dataset.task !== old", arg=before)
    wait_until(page, f"() => document.querySelector('{DETAIL}').dataset.state === 'failed'")
    # under the debugger, in a new cell; it waits for what a person types there
    page.locator('[data-act="debug"]').click()
    page.wait_for_selector(".jp-Stdin-input")
    page.locator(".jp-Stdin-input").last.fill("p 'number', number")
    page.keyboard.press("Enter")
    page.get_by_text("('number', 23)").wait_for()
    wait_until(
        page,
        "() => { const all = [...document.querySelectorAll('.jp-Stdin-input')];"
        " return all.length > 0 && all.at(-1).value === ''; }",
    )
    one.picture("tasks-debug-light")
    page.locator(".jp-Stdin-input").last.fill("q")
    page.keyboard.press("Enter")
    page.get_by_text("debugged", exact=True).wait_for()


def another_tab_names_one(one: Any) -> None:
    page = one.page
    task = page.locator(TABLE).first.get_attribute("data-task")
    page.locator('#cellmill-panel [data-tab="workers"]').click()
    page.evaluate(
        """task => document.querySelector('.cellmill-page-workers').dispatchEvent(
            new CustomEvent('cellmill-task', { bubbles: true, detail: { task } }))""",
        task,
    )
    wait_until(page, f"task => document.querySelector('{DETAIL}').dataset.task === task", arg=task)
    assert page.locator('[data-tab="tasks"]').get_attribute("aria-selected") == "true"
    page.keyboard.press("Escape")


def one_is_controlled_while_the_cell_runs(one: Any, gate: Path) -> None:
    page = one.page
    page.get_by_role("searchbox", name="Search tasks").fill("")
    page.locator('[data-filter="failed"]').click()
    one.run_cell(3)
    one.run_cell(5)  # the debugger has a cell of its own above
    one.wait_panel("d.running === 2 && d.queued === 4")
    page.locator('[data-filter="running"]').click()
    page.locator('[data-filter="waiting"]').click()
    wait_rows(page, "r.filter(row => row.state === 'running').length === 2 && r.length === 6")
    page.locator('[data-filter="running"]').click()
    wait_rows(page, "r.length === 4")
    # the priority of all that a run has not begun, and of one task
    page.get_by_role("button", name="Raise the priority of hold").click()
    page.get_by_role("button", name="Raise the priority of hold").click()
    page.locator(TABLE).first.click()
    wait_until(page, f"() => document.querySelector('{DETAIL} input')?.value === '2'")
    page.get_by_role("button", name="Lower the priority of hold, which is 2").wait_for()
    page.wait_for_selector(f"{DETAIL} .cellmill-why")
    words = page.locator(f"{DETAIL} .cellmill-why").inner_text()
    assert "queued behind" in words or "has it, behind hold" in words
    one.picture("tasks-waiting-light")
    field = page.get_by_role("spinbutton", name="Priority")
    field.fill("7")
    field.press("Enter")
    wait_until(page, f"() => document.querySelector('{DETAIL} input').value === '7'")
    assert page.locator("#cellmill-panel .cellmill-refusal").is_hidden()
    page.get_by_role("button", name="Cancel", exact=True).last.click()
    one.wait_panel("d.cancelled === 1")
    wait_until(page, f"() => document.querySelector('{DETAIL}').dataset.state === 'cancelled'")
    # one that runs is stopped, while its cell runs, and the next one takes its worker
    page.locator('[data-filter="waiting"]').click()
    page.locator('[data-filter="running"]').click()
    wait_rows(page, "r.length === 2 && r.every(row => row.state === 'running')")
    page.locator(TABLE).last.click()
    page.get_by_role("button", name="Stop", exact=True).click()
    one.wait_panel("d.cancelled === 2")
    one.picture("tasks-stopped-dark", dark=True)
    wait_until(page, f"() => document.querySelector('{DETAIL}').dataset.state === 'cancelled'")
    (gate / "a").touch()
    (gate / "b").touch()
    one.wait_output(5, "all 6")
