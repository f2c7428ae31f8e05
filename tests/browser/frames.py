"""Chromium without a window sometimes stops to draw: its pages answer, but get no more animation frames.

JupyterLab and Playwright wait for such frames, each until its limit. Nothing in the page can cure that, so the test
runs again, once, in a new browser. A page that draws is never the reason to run a test again.
"""

from __future__ import annotations

from collections.abc import Iterable

from playwright.sync_api import Error, Page

LIMIT_MS = 15_000
FRAME = f"""() => Promise.race([
    new Promise(resolve => requestAnimationFrame(() => resolve(true))),
    new Promise(resolve => setTimeout(() => resolve(false), {LIMIT_MS})),
])"""


class NoFrames(Exception):
    """A test failed in a page that is not drawn any more."""


def draws(page: Page) -> bool:
    """Whether a page that is in front gets an animation frame; also where it cannot be asked."""
    try:
        return bool(page.evaluate("() => document.hidden") or page.evaluate(FRAME))
    except Error:
        return True


def check(pages: Iterable[Page]) -> None:
    """Raise `NoFrames` where one of these pages is not drawn any more."""
    for page in pages:
        if not page.is_closed() and not draws(page):
            raise NoFrames(f"{page.url} answers, and got no animation frame in {LIMIT_MS / 1000:.0f} s")
