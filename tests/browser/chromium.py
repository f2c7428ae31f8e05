"""The headless browser of the tests: where it is, how it is started, and what is done when it hangs.

Chromium without a window sometimes stops to draw: its pages answer, but get no more animation frames, which JupyterLab
and Playwright wait for. Sometimes it answers nothing, and Playwright waits without a limit. Nothing in a page can cure
that. A test that meets it runs again, once, in a new browser; a page that answers and draws is never the reason.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import BrowserContext, Error, Page, Playwright, ViewportSize

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT: ViewportSize = {"width": 1280, "height": 760}
LIMIT_S = 180.0  # longer than any wait of a test that Playwright limits
FRAME_LIMIT_MS = 15_000
FRAME = f"""() => Promise.race([
    new Promise(resolve => requestAnimationFrame(() => resolve(true))),
    new Promise(resolve => setTimeout(() => resolve(false), {FRAME_LIMIT_MS})),
])"""


class Hung(Exception):
    """A test failed in a browser that draws no more, or answers no more."""


class Watch:
    """Kills the browsers of this process when a test has taken too long, so that a wait for them ends in an error."""

    def __init__(self, seconds: float = LIMIT_S) -> None:
        self.seconds = seconds
        self.expired = False
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()

    def check(self, pages: Iterable[Page]) -> None:
        """Raise `Hung` where the browser was killed, or one of these pages is not drawn any more."""
        for page in pages:
            if not page.is_closed() and not draws(page):
                raise Hung(f"{page.url} answers, and got no animation frame in {FRAME_LIMIT_MS / 1000:.0f} s")
        if self.expired:
            raise Hung(f"the test had not ended after {self.seconds:.0f} s, and its browser was killed")

    def _expire(self) -> None:
        self.expired = True
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if process.name().startswith("chrom"):
                    process.kill()


def draws(page: Page) -> bool:
    """Whether a page that is in front gets an animation frame; also where it cannot be asked."""
    try:
        return bool(page.evaluate("() => document.hidden") or page.evaluate(FRAME))
    except Error:
        return True


def path() -> str:
    """The browser's path, or a failure that says how to get one."""
    for name in (os.environ.get("CELLMILL_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name) if name else None
        if found:
            return found
    pytest.fail("no chromium was found; on Debian: apt-get install chromium")


class Profile:
    """A browser with a folder, where it keeps the compiled scripts of a page: the next one loads in a quarter less."""

    def __init__(self, playwright: Playwright, folder: Path) -> None:
        self._playwright = playwright
        self._folder = folder
        self._running: BrowserContext | None = None

    def context(self) -> BrowserContext:
        """The browser that runs, or a new one."""
        if self._running is None:
            self._running = self._playwright.chromium.launch_persistent_context(
                self._folder, executable_path=path(), args=FLAGS, viewport=VIEWPORT
            )
        return self._running

    def close(self) -> None:
        """End the browser, also one that was killed."""
        running, self._running = self._running, None
        if running is not None:
            with contextlib.suppress(Error):
                running.close()
