"""The end of a long run is told to who looks elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.lab_page import wait_until
from tests.browser.page_cells import DEFINE, LOAD, run, wait_badge
from tests.browser.page_setup import set_setting

OpenLab = Callable[..., Any]


@pytest.fixture
def context(own_context: BrowserContext) -> BrowserContext:
    """One of the whole browser: what draws pages alone has no notifications."""
    return own_context


NOTIFICATIONS = """
window.told = [];
const Native = window.Notification;
window.Notification = class extends Native {
    constructor(title, options) { super(title, options); window.told.push({title, ...options, native: this}); }
};
Object.defineProperty(document, 'hidden', {get: () => window.away === true, configurable: true});
window.tellNoMore = () => { window.Notification = Native; delete document.hidden; };
"""


@pytest.mark.long  # tests/browser/test_cells.py has a notification, by a browser that does not show it
def test_the_end_of_a_long_run_notifies_who_looks_elsewhere(
    lab: OpenLab, context: BrowserContext, tmp_path: Path
) -> None:
    gates = [tmp_path / "seen", tmp_path / "unseen"]
    context.grant_permissions(["notifications"])
    context.add_init_script(NOTIFICATIONS)
    one = lab(LOAD, DEFINE, *(run(gate, 1, 4) for gate in gates))
    page = one.page
    set_setting(one, "notifyAfter", 0.0001)
    for cell in range(2):
        one.run_cell(cell)
    one.run_cell(2)
    wait_badge(page, 2, "d.state === 'running'")
    gates[0].touch()
    wait_badge(page, 2, "d.state === 'done'")
    assert page.evaluate("window.told.length") == 0  # it is looked at
    page.evaluate("window.away = true")
    one.run_cell(3)
    wait_badge(page, 3, "d.state === 'running'")
    gates[1].touch()
    wait_until(page, "window.told.length === 1")
    assert page.evaluate("window.told[0].title").endswith("In[4]: done")
    assert page.evaluate("window.told[0].body").startswith("4 of 4 done, took ")
    page.evaluate("window.told[0].native.onclick()")
    one.wait_panel("d.run !== 'all' && d.total === 4")
    set_setting(one, "notifyAfter", 30)
    assert not one.errors
