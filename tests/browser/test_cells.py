"""What cells show of the tasks that they began: badges, and the lines that failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.axe import grave_findings
from tests.browser.lab_page import wait_until
from tests.browser.page_cells import (
    COUNT_VIEWS,
    DEFINE,
    LOAD,
    NOTE_VIEWS,
    STOP_CLOCK,
    badge,
    run,
    wait_badge,
    wait_no_badge,
    what_happened_before_is_still_there,
)
from tests.browser.page_setup import set_setting
from tests.browser.test_notifications import NOTIFICATIONS
from tests.browser.test_scope import choose

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
FAILING_LINE = 'raise ValueError(f"bad {x}")'
# What draws pages alone takes notifications and shows none: it says that it may not.
PERMITTED = "Object.defineProperty(window.Notification, 'permission', {get: () => 'granted'});"
FILLER = "# a cell to scroll past\n" * 40


def underlined(page: Any) -> Any:
    return page.locator(".jp-Notebook .cm-content .cellmill-failing")


def test_a_cell_carries_its_runs_through_a_reload(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gates = [tmp_path / "first", tmp_path / "second"]
    views = LOAD + STOP_CLOCK + NOTE_VIEWS
    one = lab_in_use(views, DEFINE, run(gates[0], 0, 20), FILLER, FILLER, run(gates[1], 1, 24), COUNT_VIEWS)
    page = one.page
    for cell in range(3):
        one.run_cell(cell)
    wait_badge(page, 2, "d.state === 'running' && d.done === '0' && d.total === '20'")
    assert page.locator(".cellmill-badge").count() == 1
    assert "running" in badge(page, 2).get_attribute("aria-label")
    gates[0].touch()
    wait_badge(page, 2, "d.state === 'failed' && d.done === '20' && d.failed === '4'")
    assert "20 of 20 done, 4 failed" in badge(page, 2).get_attribute("aria-label")

    # The line that failed, although the kernel does not count the empty one above it.
    underlined(page).first.wait_for()
    assert "".join(underlined(page).all_inner_texts()) == FAILING_LINE
    assert "4 tasks failed here: ValueError: bad " in underlined(page).first.get_attribute("title")
    one.wait_kernel("idle")
    from_the_badge_to_the_panel_and_back(one)
    one.run_cell(5)
    wait_badge(page, 5, "d.state === 'running' && d.total === '24'")

    # After a reload in the middle of a cell its tasks are seen at once, and after its end all is as it was.
    one.save()
    one.load()
    one.open_panel()
    one.wait_panel("d.run === 'all' && d.total === 24 && d.running === 2 && d.failed === 0")
    wait_badge(page, 5, "d.state === 'running' && d.total === '24'")
    who_looks_elsewhere_is_notified(one, gates[1])
    one.wait_panel("d.run !== 'all' && d.total === 24 && d.done === 24 && d.failed === 4")
    page.locator(f"{PANEL} .cellmill-scope-choice").select_option("")
    one.wait_panel("d.run === 'all' && d.total === 24 && d.done === 24")
    what_happened_before_is_still_there(one)
    what_was_over_is_there_again(one)
    one.run_cell(6)
    one.wait_output(6, "of 2 views 1 is left")  # the page before said goodbye
    a_cell_has_the_badge_of_its_newest_execution(one)
    assert one.errors == []


def from_the_badge_to_the_panel_and_back(one: Any) -> None:
    """By the keyboard into the panel, which is about this run, and to the cell."""
    page = one.page
    badge(page, 2).focus()
    page.keyboard.press("Enter")
    one.wait_panel("d.run !== 'all' && d.total === 20 && d.failed === 4")
    assert grave_findings(page, ".jp-Notebook .cellmill-badge") == []
    one.select_cell(5)
    page.locator(f'{PANEL} [data-tab="runs"]').click()
    runs = page.locator(f"{PANEL} .cellmill-history-run")
    runs.filter(has_text="16 done, 4 failed").locator(".cellmill-to-cell").click()
    wait_until(page, "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")
    wait_until(
        page,
        """() => {
            const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[2].getBoundingClientRect();
            return cell.top >= 0 && cell.bottom <= window.innerHeight;
        }""",
    )
    assert page.locator(f"{PANEL} .cellmill-scope .cellmill-to-cell").is_visible()


def what_was_over_is_there_again(one: Any) -> None:
    """The badge and the line, except where a cell has another source than it ran with; the run can be chosen."""
    page = one.page
    wait_badge(page, 2, "d.state === 'failed' && d.edited === 'false'")
    underlined(page).first.wait_for()
    choose(page, "20 tasks")
    one.wait_panel("d.run !== 'all' && d.total === 20 && d.done === 20 && d.failed === 4")
    page.locator(f'{PANEL} [data-tab="map"]').click()
    wait_until(page, f"() => document.querySelector('{PANEL} .cellmill-map')?.dataset.failed === '4'")
    page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".cm-line").last.click()
    page.keyboard.type(" # edited")
    underlined(page).first.wait_for(state="detached")


def who_looks_elsewhere_is_notified(one: Any, gate: Path) -> None:
    """Of the end of a long run; a click at what is told shows the run."""
    page = one.page
    set_setting(one, "notifyAfter", 0.0001)
    page.evaluate(f"() => {{ {NOTIFICATIONS} {PERMITTED} window.away = true; }}")
    gate.touch()
    wait_until(page, "() => window.told.length === 1")
    title, body = page.evaluate("() => [window.told[0].title, window.told[0].body]")
    assert title.endswith("In[4]: failed")
    assert body.startswith("24 of 24 done, 4 failed, took ")
    page.evaluate("() => { window.told[0].native.onclick(); window.tellNoMore(); }")
    set_setting(one, "notifyAfter", 30)


def a_cell_has_the_badge_of_its_newest_execution(one: Any) -> None:
    """Without tasks it has none; no badge is saved."""
    page = one.page
    one.run_cell(1)
    one.select_cell(2)
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("print('nothing', 1)")
    wait_badge(page, 2, "d.edited === 'true'")
    page.keyboard.press("Escape")
    one.run_cell(2)
    one.wait_output(2, "nothing 1")
    wait_no_badge(page, 2)
    saved = page.evaluate(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.toJSON())"
    )
    assert "cellmill-badge" not in saved
