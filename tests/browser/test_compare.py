"""Runs in the panel: two beside each other, and what came from the cache instead of a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.axe import grave_findings
from tests.browser.lab_page import wait_until
from tests.browser.page_cells import badge
from tests.browser.test_widths import CUT
from tests.browser.test_workers import widen

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
LOAD = "%load_ext cellmill\n%cellmill workers 2\nimport cellmill; cellmill.default_executor().run_on_workers(int)"
DEFINE = """%%parallel
def dock(x):
    import time
    time.sleep({seconds})
    return x
"""
CACHED = (
    "%%parallel --memo\ndef score(x):\n    return x * x\nprint('defined', 'now')",
    "print('sum', sum(score.map(range(5))))",
    "print('sum', sum(score.map(range(8))))",
    "print('sum', sum(score.map(range(8))), score(2).result())",
)
RUN = "print('all', len(list(dock.map(range(12), chunksize=1))))"


def choose(page: Any, name: str, text: str) -> None:
    """Choose the run whose line ends the list's labels with this text."""
    select = page.get_by_label(name, exact=True)
    option = select.locator("option", has_text=text).first
    select.select_option(value=option.get_attribute("value"))


def figures(table: Any) -> dict[str, list[str]]:
    """The cells of each row by its heading."""
    return {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in table.locator("tbody tr").all()
    }


def test_two_runs_beside_each_other(lab_in_use: OpenLab) -> None:
    one = lab_in_use(LOAD, DEFINE.format(seconds=0.02), RUN, DEFINE.format(seconds=0.06), RUN, *CACHED)
    page = one.page
    one.open_panel()
    for cell in range(3):
        one.run_cell(cell)
    one.wait_output(2, "all 12")
    one.wait_panel("d.total === 12 && d.done === 12")
    page.locator(f'{PANEL} [data-tab="runs"]').click()
    runs = page.locator(f"{PANEL} .cellmill-history-run")
    runs.get_by_text("12 done").wait_for()
    compare = page.locator(f"{PANEL} .cellmill-compare")
    assert not compare.is_visible()  # there is nothing to compare it with

    one.run_cell(3)
    one.run_cell(4)
    one.wait_output(4, "all 12")
    wait_until(page, f"() => document.querySelectorAll('{PANEL} .cellmill-history-run').length === 2")
    compare.wait_for()
    first, second = (
        text.split()[0] for text in runs.locator("button.cellmill-run-name").all_inner_texts()[::-1]
    )
    choose(page, "First run", first)
    choose(page, "Second run", second)
    sentence = compare.get_by_role("status")
    sentence.get_by_text("x slower per task (95 % interval").wait_for()
    assert sentence.inner_text().startswith(f"{second.replace('[', ' [')} took ")
    whole, dock = compare.locator("table").all()
    assert figures(whole)["workers"] == ["2", "2", ""]
    rows = figures(dock)
    assert rows["tasks done"] == ["12", "12", ""]
    assert rows["its code"] == ["", "", "differs"]
    assert "x slower" in rows["median time"][2]
    assert grave_findings(page, PANEL) == []

    # The other way round it is the other change.
    choose(page, "First run", second)
    choose(page, "Second run", first)
    sentence.get_by_text("x faster per task (95 % interval").wait_for()
    page.get_by_label("Second run", exact=True).select_option("")
    compare.locator(".cellmill-compare-result").wait_for(state="hidden")
    what_came_from_the_cache(one, 5)
    assert not one.errors


def what_came_from_the_cache(one: Any, first: int) -> None:
    """It is told beside the tasks: in the badge of the cell, the list of runs, and the journey."""
    for at, said in enumerate(("defined now", "sum 30", "sum 140", "sum 140 4")):
        one.run_cell(first + at)
        one.wait_output(first + at, said)
    told = badge(one.page, first + 2).and_(one.page.locator('[aria-label*="3 of 3 done, 5 from the cache"]'))
    told.wait_for()
    badge(one.page, first + 3).get_by_text("+9").wait_for()
    runs = one.page.locator(f"{PANEL} .cellmill-history-outcome")
    runs.get_by_text("3 done, 5 from the cache").wait_for()
    runs.get_by_text("0 done, 8 from the cache").wait_for()
    widen(one, 300)
    for tab in ("runs", "journey"):
        one.page.locator(f'{PANEL} [data-tab="{tab}"]').click()
        assert one.page.evaluate(CUT, PANEL) == []
        one.picture(f"hits-{tab}-light")
        one.picture(f"hits-{tab}-dark", dark=True)
    assert one.page.locator(f"{PANEL} .cellmill-run").count() == 0  # nothing goes on
    found = one.page.locator(f"{PANEL} .cellmill-hits")
    found.get_by_text("From the cache, without a task: score").wait_for()
