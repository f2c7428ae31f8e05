"""The dashboard inside a notebook: live and obeyed while a cell runs, after a reload, and what stays of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_panel import DEFINE, LOAD, open_doors, run_gated

pytestmark = pytest.mark.browser

OpenLab = Callable[..., Any]
ROOT = ".jp-OutputArea .cellmill-inline .cellmill-dashboard"
WIDGET = "application/vnd.jupyter.widget-view+json"


def wait_inline(one: Any, condition: str, root: str = ROOT) -> None:
    """Wait until a JavaScript expression over the numbers `d` of the dashboard in the notebook holds."""
    one.page.wait_for_function(
        """([root, condition]) => {
            const found = document.querySelector(root);
            if (found === null) return false;
            const number = value => isNaN(value) ? value : Number(value);
            const d = Object.fromEntries(Object.entries(found.dataset).map(([k, v]) => [k, number(v)]));
            return Function('d', 'return ' + condition)(d);
        }""",
        arg=[root, condition],
    )


def save(one: Any) -> None:
    one.command("docmanager:save")
    one.page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")


def set_theme(one: Any, theme: str) -> None:
    one.command("apputils:change-theme", theme=f"JupyterLab {theme.capitalize()}")
    light = str(theme == "light").lower()
    one.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
    one.page.wait_for_selector("#jupyterlab-splash", state="detached")


def test_live_and_obeyed_while_a_cell_runs(lab: OpenLab, tmp_path: Path) -> None:
    one = lab(LOAD, DEFINE, "%dashboard --inline", run_gated(tmp_path, 60), "%unload_ext cellmill")
    page = one.page
    for index in (0, 1):
        one.run_cell(index)
    one.wait_output(0, "loaded now")
    one.run_cell(2)
    wait_inline(one, "d.presence === 'loaded'")
    one.run_cell(3)
    wait_inline(one, "d.total === 60 && d.done === 20 && d.running === 2")
    root = page.locator(ROOT)
    root.get_by_role("button", name="Send no more tasks to workers").click()
    wait_inline(one, "d.paused === 'true'")
    assert page.locator(".cellmill-waiting").is_hidden()
    one.screenshot("widget-running-light")
    root.get_by_role("button", name="One worker more").click()
    wait_inline(one, "d.workers === 3")
    root.get_by_role("button", name="Send tasks to workers again").click()
    open_doors(tmp_path, "first")
    wait_inline(one, "d.paused === 'false' && d.done === 40 && d.failed === 1 && d.running === 3")
    set_theme(one, "dark")
    one.screenshot("widget-running-dark")
    set_theme(one, "light")
    root.get_by_role("button", name="Cancel work").click()
    wait_inline(one, "d.done === 60 && d.running === 0")
    one.wait_kernel("idle")
    one.run_cell(4)
    page.wait_for_selector(ROOT, state="detached")
    page.locator(".cellmill-still").wait_for()
    assert "60" in page.locator(".cellmill-still table").inner_text()
    one.screenshot("widget-still-light")
    assert one.errors == []


def test_reload_in_the_middle_of_a_cell(lab: OpenLab, tmp_path: Path) -> None:
    one = lab(LOAD, DEFINE, "%dashboard --inline", run_gated(tmp_path, 60))
    for index in (0, 1):
        one.run_cell(index)
    one.wait_output(0, "loaded now")
    one.run_cell(2)
    wait_inline(one, "d.presence === 'loaded'")
    one.run_cell(3)
    wait_inline(one, "d.done === 20 && d.running === 2")
    save(one)
    one.load()
    open_doors(tmp_path, "first", "second")
    wait_inline(one, "d.done === 60 && d.total === 60")
    one.wait_kernel("idle")
    one.page.locator(ROOT).get_by_role("button", name="One worker more").click()
    wait_inline(one, "d.workers === 3")
