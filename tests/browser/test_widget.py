"""The dashboard inside a notebook: live and obeyed while a cell runs, after a reload, and what stays of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.lab_page import wait_until
from tests.browser.page_cells import wait_badge
from tests.browser.test_panel import DEFINE, LOAD, open_doors, run_gated

OpenLab = Callable[..., Any]
ROOT = ".jp-OutputArea .cellmill-inline .cellmill-dashboard"


def wait_inline(one: Any, condition: str, root: str = ROOT) -> None:
    """Wait until a JavaScript expression over the numbers `d` of the dashboard in the notebook holds."""
    wait_until(
        one.page,
        """([root, condition]) => {
            const found = document.querySelector(root);
            if (found === null) return false;
            const number = value => isNaN(value) ? value : Number(value);
            const d = Object.fromEntries(Object.entries(found.dataset).map(([k, v]) => [k, number(v)]));
            return Function('d', 'return ' + condition)(d);
        }""",
        arg=[root, condition],
    )


# Draws an output of a dashboard twice, and takes the first away while its widget's view is being made.
REPLACED = """index => {
    const { widgets, rendermime } = window.jupyterapp.shell.currentWidget.content;
    const output = widgets[index].outputArea.model.get(0);
    const draw = () => {
        const renderer = rendermime.createRenderer('application/vnd.cellmill.dashboard+json');
        void renderer.renderModel(output);
        return { renderer, live: [...renderer.children()][1] };
    };
    window.replaced = draw();
    window.replaced.renderer.dispose();
    window.successor = draw();
}"""


def replace_while_drawn(one: Any, index: int) -> None:
    """An output is replaced before its widget is drawn: no error, and the view goes when it comes."""
    one.page.evaluate(REPLACED, index)
    view = "live.node.querySelector('.cellmill-inline')"
    wait_until(one.page, f"() => window.successor.{view} !== null")
    wait_until(one.page, "() => window.replaced.live.isDisposed")
    assert one.page.evaluate(f"() => window.replaced.{view} === null")
    one.page.evaluate("() => window.successor.renderer.dispose()")


def name_no_kernel(one: Any) -> None:
    """Let the notebook name a kernel that is not there, as one that another user ran may."""
    path = one.server.root / one.name
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["kernelspec"] = {"name": "gone", "display_name": "Gone", "language": "python"}
    nbformat.write(notebook, path)


def load_without_kernel(one: Any) -> None:
    """Load the page anew, with the notebook and no kernel."""
    url = f"{one.server.url}/lab/workspaces/{one.workspace}-2/tree/{one.name}?token={one.server.token}&reset"
    settings = one.server.root.parent / "jupyter_config_dir" / "lab" / "user-settings" / "@jupyterlab"
    chosen = settings / "notebook-extension" / "tracker.jupyterlab-settings"
    chosen.parent.mkdir(parents=True, exist_ok=True)
    chosen.write_text('{"autoStartDefaultKernel": false}')
    name_no_kernel(one)
    one.page.goto(url)
    one.page.wait_for_selector(".jp-Notebook .jp-Cell")


def test_live_and_obeyed_while_a_cell_runs(lab_in_use: OpenLab, tmp_path: Path) -> None:
    panel = "%dashboard\nprint('after', 'it')"
    one = lab_in_use(
        LOAD, DEFINE, "%dashboard --inline", run_gated(tmp_path, 60), "%unload_ext cellmill", panel
    )
    page = one.page
    for index in (0, 1):
        one.run_cell(index)
    one.wait_output(0, "loaded now")
    the_magic_shows_the_panel_until_one_is_made(one, 5)
    one.run_cell(2)
    wait_inline(one, "d.presence === 'loaded'")
    replace_while_drawn(one, 2)
    one.run_cell(3)
    # the line of the failure has moved the buttons
    wait_inline(one, "d.total === 60 && d.done === 20 && d.running === 2 && d.failed === 1")
    root = page.locator(ROOT)
    root.get_by_role("button", name="Send no more tasks to workers").click()
    wait_inline(one, "d.paused === 'true'")
    assert page.locator(".cellmill-waiting").is_hidden()
    one.picture("widget-running-light")
    root.get_by_role("button", name="One worker more").click()
    wait_inline(one, "d.workers === 3")
    root.get_by_role("button", name="Send tasks to workers again").click()
    open_doors(tmp_path, "first")
    wait_inline(one, "d.paused === 'false' && d.done === 40 && d.failed === 1 && d.running === 3")
    one.picture("widget-running-dark", dark=True)
    root.get_by_role("button", name="Cancel work").click()
    wait_inline(one, "d.over === 60 && d.running === 0 && d.cancelled > 0")
    one.wait_kernel("idle")
    one.run_cell(4)
    page.wait_for_selector(ROOT, state="detached")
    page.locator(".cellmill-still").wait_for()
    table = page.locator(".cellmill-still table")
    expect(table).to_contain_text("60")  # the cell may be drawn anew meanwhile
    one.picture("widget-still-light")
    assert one.errors == []


def the_magic_shows_the_panel_until_one_is_made(one: Any, cell: int) -> None:
    one.run_cell(cell)
    one.wait_output(cell, "after it")
    one.page.wait_for_selector("#cellmill-panel .cellmill-dashboard", state="visible")
    assert one.page.locator(".cellmill-inline").count() == 0
    one.page.evaluate("() => window.jupyterapp.shell.collapseRight()")


@pytest.mark.long  # tests/browser/test_cells.py has the past of a run in the panel, which draws the same
def test_made_after_the_run_it_shows_the_run_from_its_begin(lab_in_use: OpenLab, tmp_path: Path) -> None:
    open_doors(tmp_path, "first", "second")
    one = lab_in_use(LOAD, DEFINE, run_gated(tmp_path, 60), "%dashboard --inline")
    for index in (0, 1, 2):
        one.run_cell(index)
    one.wait_output(2, "gathered 60")
    one.run_cell(3)
    wait_inline(one, "d.presence === 'live' && d.done === 60 && d.total === 60 && d.failed === 1")
    root = one.page.locator(ROOT)
    root.locator(".cellmill-window[aria-pressed='true']").get_by_text("Whole run").wait_for()
    root.get_by_role("group", name="Throughput, queue").focus()
    one.page.keyboard.press("End")
    values = {"rate": set[str](), "queued": set[str](), "running": set[str]()}
    for _ in range(120):
        one.page.keyboard.press("ArrowLeft")
        for chart, found in values.items():
            found.add(root.locator(f".cellmill-chart-{chart} .cellmill-chart-value").inner_text())
    for chart, found in values.items():
        assert found - {"0", "–", ""}, (chart, found)
    one.picture("widget-after-light")
    assert one.errors == []


@pytest.mark.long
def test_reload_restart_and_a_notebook_without_a_kernel(lab: OpenLab, tmp_path: Path) -> None:
    open_doors(tmp_path, "first")
    one = lab(LOAD, DEFINE, "%dashboard --inline", run_gated(tmp_path, 60), "%dashboard --inline")
    for index in (0, 1):
        one.run_cell(index)
    one.wait_output(0, "loaded now")
    one.run_cell(2)
    wait_inline(one, "d.presence === 'loaded'")
    one.run_cell(3)
    wait_inline(one, "d.done === 40 && d.running === 2")
    one.save()
    one.load()
    # A busy kernel tells a page that was reloaded about no widget: the saved still is shown until it does.
    one.page.get_by_text("Tasks: no tasks yet").wait_for()
    open_doors(tmp_path, "second")
    wait_inline(one, "d.done === 60 && d.total === 60")
    one.wait_kernel("idle")
    one.page.locator(ROOT).get_by_role("button", name="One worker more").click()
    wait_inline(one, "d.workers === 3")
    # A page that was reloaded does not know earlier displays by their names; one drawn now keeps the last state.
    one.run_cell(4)
    wait_until(
        one.page,
        """() => JSON.stringify(window.jupyterapp.shell.currentWidget.model.toJSON()).includes('60 done in')""",
    )
    wait_inline(one, "d.done === 60")
    one.save()
    one.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    one.page.locator(".cellmill-still").first.wait_for()
    one.page.wait_for_selector(ROOT, state="hidden")
    one.page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    load_without_kernel(one)
    one.page.locator(".cellmill-still table").first.wait_for()
    assert "Loading widget" not in one.page.locator(".jp-Notebook").inner_text()
    one.picture("widget-without-kernel-light")
    assert one.errors == []


def test_notebook_7_has_the_panel_the_badges_and_the_widget(notebook_7: OpenLab, tmp_path: Path) -> None:
    open_doors(tmp_path, "first", "second")
    one = notebook_7(LOAD, DEFINE, "%dashboard --inline", run_gated(tmp_path, 60))
    page = one.page
    page.get_by_role("menuitem", name="View", exact=True).click()
    page.get_by_role("menuitem", name="Cellmill Tasks").click()
    page.wait_for_selector("#cellmill-panel .cellmill-dashboard", state="visible")
    one.wait_panel("d.presence === 'absent'")
    one.run_cell(0)
    one.wait_panel("d.presence === 'loaded'")
    for index in (1, 2):
        one.run_cell(index)
    wait_inline(one, "d.presence === 'loaded' || d.presence === 'live'")
    one.run_cell(3)
    one.wait_output(3, "gathered 60")
    one.wait_panel("d.done === 60 && d.failed === 1")
    wait_badge(page, 3, "d.state === 'failed' && d.done === '60'")
    wait_inline(one, "d.done === 60 && d.total === 60 && d.failed === 1")
    page.locator(ROOT).get_by_role("button", name="One worker more").click()
    wait_inline(one, "d.workers === 3")
    one.picture("notebook7-light")
    assert one.errors == []
