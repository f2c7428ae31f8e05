"""Advice in the tab Journey of a real JupyterLab: what would have helped, and the button that does it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

LOAD = """%load_ext cellmill
%cellmill workers 2
import cellmill
tries, ready = 0, cellmill.default_executor().run_on_workers(int)
print('loaded', 'now')
"""
DEFINE = """%%parallel
def nap(seconds):
    import time
    time.sleep(seconds)
"""
RUN = """list(nap.map({times}, chunksize=1))
kinds = sorted(advice.kind for advice in cellmill.account().advice)
tries += 1
print('try', tries, *kinds, 'is told')
"""
LONG = RUN.format(times="[0.1] * 8 + [0.9]")
EVEN = RUN.format(times="[0.1] * 12")


def run_until_told(one: Any, cell: int, kinds: str, first: int) -> int:
    """Run a cell until it is told this: other work on the machine may leave the time of a run unexplained."""
    for number in range(first, first + 6):
        one.run_cell(cell)
        one.page.get_by_text(re.compile(f"^try {number} .*is told")).wait_for()
        if one.page.get_by_text(f"try {number} {kinds} is told").count():
            return number + 1
    raise AssertionError(f"{kinds} was not told")


def test_the_button_of_an_advice_does_it(lab_in_use: Callable[..., Any]) -> None:
    one = lab_in_use(LOAD, DEFINE, LONG, EVEN)
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    number = run_until_told(one, 2, "order split", 1)
    journey = one.page.locator("#cellmill-panel .cellmill-dashboard")
    journey.locator("[role=tab][data-tab=journey]").click()
    advice = journey.locator(".cellmill-advice li")
    advice.filter(has_text=re.compile(r"nap #\d+, which takes .+, split into 2: about")).wait_for()
    assert advice.locator("button").count() == 0  # that is a change of code
    run_until_told(one, 3, "workers", number)
    more = advice.filter(has_text="With 4 workers: about").get_by_role("button", name="Do it: With 4 workers")
    more.click()
    one.wait_panel("d.workers === 4")
    assert more.is_disabled()
    assert one.errors == []
