"""Pictures of what tasks print, in the light and the dark theme: `pytest tests/browser/printing.py`.

They come to build/screenshots. pytest collects this module only when it is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.test_widget import set_theme

CELLS = [
    "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')",
    """%%parallel
def train(fold):
    import sys, time
    for epoch in range(3):
        time.sleep(0.04)
        print(f"epoch {epoch}: loss {1 / (fold + epoch + 1):.4f}")
    if fold % 5 == 0:
        print(f"fold {fold} has not converged", file=sys.stderr)
    return fold""",
    "few = list(train.map(range(6)))",
    "folds = list(train.map(range(40)))",
    "more = list(train.map(range(200)))",
]
OUTPUT = ".jp-Notebook .jp-Cell >> nth={} >> .jp-OutputArea"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_printing(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*CELLS, name="printing.ipynb")
    page = one.page
    set_theme(one, theme)
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    page.set_viewport_size({"width": 1000, "height": 1700})
    for index in range(4):
        one.run_cell(index)
        one.wait_kernel("idle")
        page.wait_for_timeout(300)
    one.screenshot(f"printing-{theme}-closed")
    page.locator(OUTPUT.format(3)).locator("summary").click()
    page.wait_for_timeout(300)
    one.screenshot(f"printing-{theme}-open")
    page.locator(OUTPUT.format(3)).locator("summary").click()
    one.run_cell(4)
    fold = page.locator(OUTPUT.format(4)).locator(".cellmill-printed, .jupyter-widget-Collapse-header").first
    fold.wait_for()
    fold.click()
    page.wait_for_timeout(2500)
    one.screenshot(f"printing-{theme}-live")
    one.wait_kernel("idle")
    page.wait_for_timeout(500)
    one.save()
    one.load()
    page.locator(OUTPUT.format(3)).locator("summary").click()
    page.wait_for_timeout(500)
    one.screenshot(f"printing-{theme}-saved")
