"""What cells show of the tasks that they began: badges, and the lines that failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.axe import grave_findings
from tests.browser.page_cells import DEFINE, LOAD, badge, run, wait_badge, wait_no_badge
from tests.browser.test_scope import choose

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
FAILING_LINE = 'raise ValueError(f"bad {x}")'
FILLER = "# a cell to scroll past\n" * 40


def underlined(page: Any) -> Any:
    return page.locator(".jp-Notebook .cm-content .cellmill-failing")


def test_a_cell_carries_its_runs(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one = lab_in_use(LOAD, DEFINE, run(gate, 0, 20), FILLER, FILLER, run("", 1, 4))
    page = one.page
    for cell in range(3):
        one.run_cell(cell)
    wait_badge(page, 2, "d.state === 'running' && d.done === '0' && d.total === '20'")
    assert page.locator(".cellmill-badge").count() == 1
    assert "running" in badge(page, 2).get_attribute("aria-label")
    gate.touch()
    wait_badge(page, 2, "d.state === 'failed' && d.done === '20' && d.failed === '4'")
    assert "20 of 20 done, 4 failed" in badge(page, 2).get_attribute("aria-label")

    # The line that failed, although the kernel does not count the empty one above it.
    underlined(page).first.wait_for()
    assert "".join(underlined(page).all_inner_texts()) == FAILING_LINE
    assert "4 tasks failed here: ValueError: bad " in underlined(page).first.get_attribute("title")

    # By the keyboard into the panel, which is about this run, and back to the cell.
    one.wait_kernel("idle")
    badge(page, 2).focus()
    page.keyboard.press("Enter")
    one.wait_panel("d.run !== 'all' && d.total === 20 && d.failed === 4")
    assert grave_findings(page, ".jp-Notebook .cellmill-badge") == []
    one.run_cell(5)
    one.wait_output(5, "got 4")
    page.locator(f'{PANEL} [data-tab="runs"]').click()
    runs = page.locator(f"{PANEL} .cellmill-history-run")
    runs.nth(1).wait_for()  # the newest comes above, and what is below moves
    runs.filter(has_text="16 done, 4 failed").locator(".cellmill-to-cell").click()
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")
    page.wait_for_function(
        """() => {
            const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[2].getBoundingClientRect();
            return cell.top >= 0 && cell.bottom <= window.innerHeight;
        }"""
    )
    assert page.locator(f"{PANEL} .cellmill-scope .cellmill-to-cell").is_visible()

    # After a reload all of it is as it was, except where a cell has another source than it ran with; all tasks are
    # shown, and a run that is over can be chosen.
    one.save()
    one.load()
    wait_badge(page, 2, "d.state === 'failed' && d.edited === 'false'")
    underlined(page).first.wait_for()
    one.open_panel()
    one.wait_panel("d.run === 'all' && d.total === 4 && d.failed === 0")
    choose(page, "20 tasks")
    one.wait_panel("d.run !== 'all' && d.total === 20 && d.done === 20 && d.failed === 4")
    page.locator(f'{PANEL} [data-tab="map"]').click()
    page.wait_for_function(f"() => document.querySelector('{PANEL} .cellmill-map')?.dataset.failed === '4'")
    page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".cm-line").last.click()
    page.keyboard.type(" # edited")
    underlined(page).first.wait_for(state="detached")

    # Run again, a cell has the badge of its newest execution only; without tasks it has none.
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
    assert not one.errors
