"""How much later JupyterLab is there because of the extension: loads with and without it, in turn.

Run by name: ``pytest -q -s tests/browser/start.py``. pytest collects this module only then.
"""

from __future__ import annotations

import statistics

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import TIMEOUT_MS, Server

PAIRS = 6
READY = "() => window.jupyterapp?.restored.then(() => performance.now())"


@pytest.mark.timeout(900)
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
