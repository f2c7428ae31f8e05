"""What tasks print: in the tab Output as it comes, by task and worker, searched, filtered, and of one run; and folded
under the bar of its cell, open at a click, while more comes and in the saved notebook.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError

from tests.browser.lab_page import press, wait_until

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
OUTPUT = f"{PANEL} .cellmill-page-output"
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
HTML = '<img src=x onerror="window.hacked = true">'
DEFINE = f"""%%parallel
def fit(sample, gate=''):
    import logging, pathlib, sys, time
    print(f'sample {{sample}} begins')
    while gate and not pathlib.Path(gate).exists():
        time.sleep(0.01)
    if sample % 4 == 1:
        print(f'sample {{sample}} is odd', {HTML!r}, file=sys.stderr)
        logging.getLogger('fits').warning('channel %d is noisy', sample)
    print(f'sample {{sample}} ends')
    return sample

def chat(number):
    for line in range(4000):
        print(f'call {{number}} line {{line}}')
"""


def run(gate: Path) -> str:
    return (
        f"held = [fit(100, {str(gate)!r}), fit(101, {str(gate)!r})]\n"
        "import concurrent.futures\n"
        "print('all', len(concurrent.futures.wait(held).done))"
    )


TALK = """%%parallel
def talk(i):
    import os, time
    while i >= 30 and not os.path.exists({door!r}): time.sleep(0.01)
    print('line', i)
    while i == 59 and not os.path.exists({last!r}): time.sleep(0.01)
print('defined', 'all')"""


LINES = f"""[...document.querySelectorAll('{OUTPUT} li.cellmill-output-line')].map(item => {{
    const [time, task, worker, text] = [...item.children].map(each => each.textContent);
    return {{ time, task, worker, text, stream: item.dataset.stream }};
}})"""


def wait_lines(page: Any, condition: str) -> None:
    """Wait until an expression over the lines `l` (time, task, worker, text, stream) holds."""
    try:
        wait_until(page, f"() => {{ const l = {LINES}; return {condition}; }}")
    except TimeoutError as error:
        panel = page.locator(PANEL).inner_text()
        raise AssertionError(f"never {condition}: {page.evaluate(LINES)}\n{panel}") from error


def test_output_of_all_tasks_is_seen_as_it_comes(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    talk = TALK.format(door=str(tmp_path / "door"), last=str(tmp_path / "last"))
    talked = "r = list(talk.map(range(60), chunksize=1))\nprint('read', 'all')"
    mapped = "print('mapped', len(list(fit.map(range(8)))))"
    one = lab_in_use(LOAD, DEFINE, run(gate), mapped, "done = chat(7).result()", talk, talked)
    page = one.page
    one.open_panel()
    for cell in range(3):
        one.run_cell(cell)
    one.wait_panel("d.running === 2")
    tab = page.locator(f'{PANEL} [data-tab="output"]')
    tab.hover()
    page.mouse.down()  # chosen with the press: the head may move before the button is let go
    while tab.get_attribute("aria-selected") != "true":  # it moved before the press
        page.mouse.up()
        tab.hover()
        page.mouse.down()
    page.mouse.up()

    # While the tasks run, also what was printed before the tab was opened.
    wait_lines(page, "l.length === 2 && l.every(line => /^sample 10[01] begins$/.test(line.text))")
    wait_lines(page, r"l.every(line => /^fit #\d+$/.test(line.task) && /^[01]$/.test(line.worker))")
    gate.touch()
    one.wait_output(2, "all 2")
    wait_lines(page, "l.some(line => line.stream === '2' && line.text.startsWith('sample 101 is odd'))")
    wait_lines(page, "l.some(line => line.stream === '3' && line.text.includes('channel 101 is noisy'))")
    assert page.locator(f"{PANEL} img").count() == 0
    assert page.evaluate("() => window.hacked") is None
    one.run_cell(3)
    one.wait_output(3, "mapped 8")
    wait_lines(page, "l.length === 26")
    page.locator(f"{OUTPUT} .cellmill-output-count").get_by_text("26 lines", exact=True).wait_for()
    one.picture("output-light")

    # By text, stream, worker and task.
    search = page.get_by_role("searchbox", name="Search output")
    search.fill("SAMPLE 5")
    wait_lines(page, r"l.length === 3 && l.every(line => /^fit #\d+(\.\d+)?$/.test(line.task))")
    fifth = page.locator(f"{OUTPUT} .cellmill-output-task").first.inner_text()
    search.fill("")
    press(page.locator(OUTPUT).get_by_role("button", name="log", exact=True))
    wait_lines(page, "l.length === 3 && l.every(line => line.stream === '3')")
    press(page.locator(OUTPUT).get_by_role("button", name="log", exact=True))
    page.locator(OUTPUT).get_by_role("button", name="Only output of worker 1").first.click()
    wait_lines(page, "l.length > 0 && l.length < 26 && l.every(line => line.worker === '1')")
    page.locator(OUTPUT).get_by_role("combobox", name="Worker").select_option(label="All workers")
    page.locator(OUTPUT).get_by_role("combobox", name="Task").select_option(label=fifth)
    wait_lines(page, f"l.length === 4 && l.every(line => line.task === '{fifth}')")

    # A line's task opens; the choice of one run holds here, too.
    page.locator(OUTPUT).get_by_role("button", name=f"Show task {fifth}").first.click()
    detail = page.locator(f"{PANEL} .cellmill-task-detail")
    detail.get_by_text("sample 5 ends").wait_for()
    assert detail.get_attribute("data-state") == "done"
    choice = page.locator(f"{PANEL} .cellmill-scope-choice")
    option = choice.locator("option", has_text="8 tasks").first
    option.wait_for(state="attached")
    choice.select_option(value=option.get_attribute("value"))
    page.locator(f'{PANEL} [data-tab="output"]').click()
    wait_lines(page, "l.length === 20")
    choice.select_option(value="")
    wait_lines(page, "l.length === 26")

    # More than is drawn and kept: it is said.
    one.run_cell(4)
    page.locator(f"{OUTPUT} .cellmill-output-count").get_by_text("The newest 30 of 4,026 lines").wait_for()
    page.get_by_role("button", name="Show more").click()
    wait_lines(page, "l.length === 330 && l.at(-1).text === 'call 7 line 3999'")
    one.picture("output-dark", dark=True)
    lines_under_the_bar(one, tmp_path, 6)
    assert one.errors == []


def lines_under_the_bar(one: Any, folder: Path, cell: int) -> None:
    area = one.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea")
    one.run_cell(cell - 1)
    one.wait_output(cell - 1, "defined all")
    one.run_cell(cell)
    area.get_by_text("30 lines printed by 30 calls of talk").click()
    area.locator("pre:has-text('line 29')").last.wait_for()
    (folder / "door").touch()
    area.get_by_text("60 lines printed by 60 calls of talk").wait_for()
    assert area.locator("pre:has-text('line 58')").last.is_visible()  # it has stayed open
    (folder / "last").touch()
    one.wait_output(cell, "read all")
    area.locator("summary").wait_for()
    one.save()
    one.reopen()
    area.locator("summary").wait_for()
    assert not area.get_by_text("line 45").is_visible()
    area.locator("summary").click()
    assert area.get_by_text("line 45").is_visible()
    assert "talk 45" in area.locator("details").inner_text()
