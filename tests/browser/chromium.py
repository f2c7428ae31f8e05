"""The headless browser of the tests: where it is, how it is started, and what is done when it hangs.

Chromium without a window sometimes stops to draw: its pages answer, but get no more animation frames, which JupyterLab
and Playwright wait for. Sometimes frames come, but no screenshot is taken. Sometimes it answers nothing, and Playwright
waits without a limit. Nothing in a page can cure that. A test that meets it runs again, once, in a new browser; a page
that answers, draws and gives a screenshot is never the reason.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from greenlet import getcurrent
from playwright.sync_api import (
    BrowserContext,
    BrowserType,
    Error,
    Page,
    Playwright,
    TimeoutError,
    ViewportSize,
    sync_playwright,
)

from tests.browser import hang_notes

WHOLE = ("chromium", "chromium-browser", "google-chrome")
SHELL = "chromium-headless-shell"
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
LIMIT_S = 150.0  # longer than any wait of a test that Playwright limits
GRACE_S = 30.0  # until Playwright's own process is ended
FRAME_LIMIT_MS = 15_000
FRAME = """limit => Promise.race([
    new Promise(resolve => requestAnimationFrame(() => resolve(true))),
    new Promise(resolve => setTimeout(() => resolve(false), limit)),
])"""


class Hung(Exception):
    """A test failed in a browser that draws no more, gives no screenshot, or answers no more."""


class Watch:
    """Ends the browsers of this process when a test has taken too long, so that a wait for them ends in an error.

    A test that goes on for `GRACE_S` more waits for Playwright's own process, which is ended as well.
    """

    def __init__(self, seconds: float = LIMIT_S, grace: float = GRACE_S) -> None:
        self.seconds = seconds
        self.expired = False
        self._grace = grace
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._test = getcurrent()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def check(self, pages: Iterable[Page]) -> None:
        """Raise `Hung` where the browser was killed, or one of these pages is not drawn any more, or not pictured."""
        for page in pages:
            if not page.is_closed() and (missing := missing_from(page)):
                raise Hung(f"{page.url} answers, and got no {missing} in {FRAME_LIMIT_MS / 1000:.0f} s")
        if self.expired:
            raise Hung(f"the test had not ended after {self.seconds:.0f} s, and its browser was killed")

    def _run(self) -> None:
        if self._stopped.wait(self.seconds):
            return
        self.expired = True
        browsers = _browsers()
        with contextlib.suppress(Exception):  # what cannot be looked at
            hang_notes.keep(browsers, self._test)
        kill(browsers)
        while not self._stopped.wait(self._grace):
            kill([*_browsers(), *_drivers()])


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes, each with its group, which is the browser's own: what it starts meanwhile ends too."""
    own = os.getpgid(0)
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            if (group := os.getpgid(process.pid)) != own:
                os.killpg(group, signal.SIGKILL)
            process.kill()


def _browsers() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if _name(one).startswith("chrom")]


def _drivers() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if _name(one).startswith("node")]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


class Driver:
    """Playwright, with another process of its own when that was ended."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._processes: list[psutil.Process] = []

    @property
    def chromium(self) -> BrowserType:
        if self._playwright is not None and not all(map(_runs, self._processes)):
            self.close()
        if self._playwright is None:
            before = _drivers()
            self._playwright = sync_playwright().start()
            self._processes = [one for one in _drivers() if one not in before]
        return self._playwright.chromium

    def close(self) -> None:
        running, self._playwright = self._playwright, None
        if running is not None:
            running.stop()


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def missing_from(page: Page, limit_ms: float = FRAME_LIMIT_MS) -> str:
    """What a page that is in front does not get: an animation frame, a screenshot, or nothing ("").

    Nothing is missing where the page cannot be asked: it is closed, or its browser has ended.
    """
    try:
        if not page.evaluate("() => document.hidden") and not page.evaluate(FRAME, limit_ms):
            return "animation frame"
        page.screenshot(timeout=limit_ms)
    except TimeoutError:
        return "screenshot"
    except Error:
        pass
    return ""


def path() -> str:
    """The whole browser's path, or a failure that says how to get one."""
    return _found(*WHOLE) or pytest.fail("no chromium was found; on Debian: apt-get install chromium")


def shell_path() -> str:
    """The path of what draws pages alone, where it is there, or of the whole browser.

    The shell opens JupyterLab in half the time. It has no notifications.
    """
    return _found(SHELL) or path()


def _found(*names: str) -> str | None:
    """The first of these programs that is there; the one that the user names comes before them."""
    for name in (os.environ.get("CELLMILL_CHROMIUM"), *names):
        if name and (found := shutil.which(name)):
            return found
    return None


@contextlib.contextmanager
def own_page(viewport: ViewportSize, timeout_s: float, hosts: set[str]) -> Iterator[Page]:
    """A page in a browser of its own, for a fixture named ``page``: a test that meets a hang runs again.

    At the end the page must have asked these hosts and no others, and its scripts must have raised nothing.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shell_path(), args=FLAGS)
        page = browser.new_page(viewport=viewport)
        page.set_default_timeout(timeout_s * 1000)
        asked: set[str] = set()
        errors: list[str] = []
        page.on("request", lambda request: asked.add(urlsplit(request.url).hostname or ""))
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        browser.close()
    assert asked - {""} == hosts  # files and the page's own data have no host
    assert errors == []


class Profile:
    """A browser with a folder, where it keeps the compiled scripts of a page: the next one loads in a quarter less."""

    def __init__(self, driver: Driver, folder: Path) -> None:
        self._driver = driver
        self._folder = folder
        self._running: BrowserContext | None = None
        self.page: Page | None = None
        """One with JupyterLab and no notebook, which a test has left for the next."""

    def context(self) -> BrowserContext:
        """The browser that runs, or a new one."""
        if self._running is None:
            self._running = self._driver.chromium.launch_persistent_context(
                self._folder, executable_path=shell_path(), args=FLAGS, viewport=VIEWPORT
            )
        return self._running

    def close(self) -> None:
        """End the browser, also one that was killed."""
        running, self._running, self.page = self._running, None, None
        if running is not None:
            with contextlib.suppress(Error):
                running.close()
