"""How soon things are there: JupyterLab with and without the extension, and the panel's numbers. For `make bench-live`.

pytest collects this module only when it is named.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browser.conftest import TIMEOUT_MS
from tests.browser.lab_page import Server

PAIRS = 6
READY = "() => window.jupyterapp?.restored.then(() => performance.now())"
OPENINGS = 12
FLOOD = """import pathlib, cellmill
ex = cellmill.default_executor()
def noop(): pass
while not pathlib.Path('enough').exists():
    for future in [ex.submit(noop) for _ in range(100_000)]: future.result()
print('flood', 'over')"""
# Milliseconds from the command to the first picture with tasks in it.
OPENED = """async () => {
    const began = performance.now();
    void window.jupyterapp.commands.execute('cellmill:open-dashboard');
    for (;;) {
        await new Promise(resolve => requestAnimationFrame(resolve));
        const root = document.querySelector('#cellmill-panel .cellmill-dashboard');
        if (root?.checkVisibility() && Number(root.dataset.total) > 0) return performance.now() - began;
    }
}"""


@pytest.fixture
def context(own_context: BrowserContext) -> BrowserContext:
    """A browser that has loaded nothing before."""
    return own_context


@pytest.mark.timeout(2700)
def test_start(server: Server, browser: Browser) -> None:
    """Each load is a page of its own, with the scripts in the browser's cache, as on any day but the first."""
    context = browser.new_context()
    context.set_default_timeout(TIMEOUT_MS)
    times: dict[bool, list[float]] = {True: [], False: []}
    for pair in range(-1, PAIRS):  # the first pair fills the cache
        for present in (True, False) if pair % 2 else (False, True):
            page = context.new_page()
            if not present:
                page.route("**/extensions/cellmill/**", lambda route: route.fulfill(status=404))
            page.goto(f"{server.url}/lab/workspaces/start?token={server.token}&reset")
            page.wait_for_function("() => window.jupyterapp?.restored")
            taken = page.evaluate(READY)
            assert page.evaluate("() => window.jupyterapp.hasPlugin('cellmill:plugin')") == present
            page.close()
            if pair >= 0:
                times[present].append(taken)
    context.close()
    for present, taken in times.items():
        middle, low, high = statistics.median(taken), min(taken), max(taken)
        print(
            f"\n{'with' if present else 'without'}: median {middle:.0f} ms ({low:.0f} to {high:.0f})", end=""
        )
    gaps = [a - b for a, b in zip(times[True], times[False], strict=True)]
    print(f"\nwith minus without, pair by pair: median {statistics.median(gaps):+.0f} ms")


@pytest.mark.timeout(2700)
def test_opening(lab: Callable[..., Any]) -> None:
    """The panel is opened while a cell fills the cores, each time in a page that was loaded in the middle of it."""
    one = lab("%load_ext cellmill\nprint('loaded', 'now')", FLOOD, name="opening.ipynb")
    enough = one.server.root / "enough"
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_kernel("busy")
    taken = []
    for _ in range(OPENINGS):
        one.load()
        one.page.evaluate("() => window.jupyterapp.restored")
        one.page.evaluate("() => window.jupyterapp.shell.collapseRight()")
        taken.append(one.page.evaluate(OPENED))
    enough.touch()
    print(f"\nthe panel's first numbers on a busy kernel: median {statistics.median(taken):.0f} ms", end="")
    print(f", at most {max(taken):.0f} ms; wanted: 1000")
    assert one.errors == []
