"""Results from the cache are told beside the tasks: in the badge of the cell, the list of runs, and the journey."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.test_widths import CUT
from tests.browser.test_workers import widen

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
LOAD = "%load_ext cellmill\n%cellmill workers 2"
DEFINE = "%%parallel --memo\ndef score(x):\n    return x * x\nprint('defined', 'now')"
SOME = "print('sum', sum(score.map(range(5))))"
MORE = "print('sum', sum(score.map(range(8))))"
ALL = "print('sum', sum(score.map(range(8))), score(2).result())"


def test_what_came_from_the_cache(lab_in_use: OpenLab) -> None:
    one = lab_in_use(LOAD, DEFINE, SOME, MORE, ALL)
    one.open_panel()
    for cell, said in ((0, ""), (1, "defined now"), (2, "sum 30"), (3, "sum 140"), (4, "sum 140 4")):
        one.run_cell(cell)
        if said:
            one.wait_output(cell, said)
    badges = one.page.locator("button.cellmill-badge")
    assert "3 of 3 done, 5 from the cache" in (badges.nth(1).get_attribute("aria-label") or "")
    badges.nth(2).get_by_text("+9").wait_for()
    one.page.locator(f'{PANEL} [data-tab="runs"]').click()
    runs = one.page.locator(f"{PANEL} .cellmill-history-outcome")
    runs.get_by_text("3 done, 5 from the cache").wait_for()
    runs.get_by_text("0 done, 8 from the cache").wait_for()
    one.page.locator(f'{PANEL} [data-tab="journey"]').click()
    found = one.page.locator(f"{PANEL} .cellmill-hits")
    widen(one, 300)
    for tab in ("runs", "journey"):
        one.page.locator(f'{PANEL} [data-tab="{tab}"]').click()
        assert one.page.evaluate(CUT, PANEL) == []
        one.picture(f"hits-{tab}-light")
        one.picture(f"hits-{tab}-dark", dark=True)
    assert one.page.locator(f"{PANEL} .cellmill-run").count() == 0  # nothing goes on
    found.get_by_text("From the cache, without a task: score").wait_for()
    assert one.errors == []
