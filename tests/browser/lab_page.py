"""A page with JupyterLab and a notebook in front, and the few things that a user does with them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tests.browser.page_errors import listen

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
CLICKS, SELECTED_MS = 5, 2000  # to select a cell; until it is told to be
EVERY_MS = 50  # how often a page is asked: at each of its pictures it would draw for nothing else
ACTIVE = re.compile(r"\bjp-mod-active\b")
PICTURES = bool(os.environ.get("CELLMILL_PICTURES"))  # whether tests leave pictures to be read
SLOWER = float(os.environ.get("CELLMILL_SLOW_PAGE", "1"))  # how many times slower than this machine a page is
LEAVE = """async () => {
    const { shell, commands, restored } = window.jupyterapp;
    await restored;
    for (const widget of [...shell.widgets('main'), ...shell.widgets('down')]) {
        widget.dispose();
    }
    // The panel's tabs are made anew when they are chosen next: without filters, orders and zooms.
    const strip = [...shell.widgets('right')].find(one => one.id === 'cellmill-panel')._view._tabs;
    strip.dispose();
    strip._pages.replaceChildren();
    strip._chosen = '';
    strip.choose('now');
    shell.collapseRight();
    shell.expandLeft();
    await commands.execute('filebrowser:go-to-path', { path: '/' });
    await commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' });
    localStorage.clear();
    sessionStorage.clear();
    return document.querySelector('.jp-Notebook, dialog[open]') === null;
}"""


# Keeps what the panel's tabs ask the table of tasks for, which does not come to the front meanwhile.
KEEP_ASKED = """() => {
    window.asked = [];
    window.keepsAsked = new AbortController();
    document.addEventListener('cellmill-task', event => {
        window.asked.push(event.detail);
        event.stopPropagation();
    }, { capture: true, signal: window.keepsAsked.signal });
}"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running JupyterLab: where it answers, the folder it serves, where it looks for kernels first, and what it and
    its kernels print.
    """

    url: str
    token: str
    root: Path
    jupyter_path: Path
    log: Path

    def get(self, path: str) -> object:
        with self._ask("GET", path, 5) as answer:
            return json.load(answer)

    def end_sessions(self) -> None:
        """End all kernels, whatever their pages do."""
        for session in cast(list[dict[str, str]], self.get("api/sessions")):
            self._ask("DELETE", f"api/sessions/{session['id']}", 60).close()

    def _ask(self, method: str, path: str, seconds: float) -> http.client.HTTPResponse:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.url}/{path}", headers=headers, method=method)
        return cast(http.client.HTTPResponse, urllib.request.urlopen(request, timeout=seconds))


def wait_until(page: Page, function: str, arg: object = None, timeout: float | None = None) -> None:
    """Wait until a JavaScript function returns what is true, or an expression is."""
    page.wait_for_function(function, arg=arg, timeout=timeout, polling=EVERY_MS)


def press(button: Locator) -> None:
    """Press a button that stays pressed, or let go of it; again where the panel's head grew or shrank in between, and
    moved it from under the pointer.
    """
    before = str(button.get_attribute("aria-pressed"))
    for _ in range(CLICKS - 1):
        button.click()
        with contextlib.suppress(AssertionError):
            expect(button).not_to_have_attribute("aria-pressed", before, timeout=SELECTED_MS)
            return
    button.click()
    expect(button).not_to_have_attribute("aria-pressed", before)


class Lab:
    """One page with a notebook in front."""

    def __init__(self, page: Page, server: Server, name: str) -> None:
        self.page = page
        self.server = server
        self.name = name
        self.workspace = name.removesuffix(".ipynb")
        self.console: list[str] = []
        self._errors = listen(page)
        if SLOWER > 1:
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        page.on("console", self._keep)

    def _keep(self, message: ConsoleMessage) -> None:
        self.console.append(f"{message.type}: {message.text}")

    @property
    def errors(self) -> list[str]:
        """The page's uncaught errors so far, with their stacks; without known ones of JupyterLab's own."""
        return self._errors.counted

    @property
    def known_errors(self) -> list[str]:
        """Those of JupyterLab and Notebook, which fail no test."""
        return self._errors.known

    def open(self) -> None:
        """Load the page and wait for the notebook and its idle kernel."""
        self.load()
        self.wait_kernel("idle")

    def load(self) -> None:
        """Load the page, again or anew, and wait for the notebook."""
        self.page.goto(
            f"{self.server.url}/lab/workspaces/{self.workspace}/tree/{self.name}?token={self.server.token}"
        )
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel"
        )

    def open_in_notebook_7(self) -> None:
        """Leave for Jupyter Notebook's page of this notebook and wait for its idle kernel: a cell that is run before
        that page knows of the kernel opens a dialog which asks for one.
        """
        self.page.goto(f"{self.server.url}/notebooks/{self.name}?token={self.server.token}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function(
            """() => document.querySelector('.jp-Toolbar-kernelName')?.textContent.startsWith('Python')
                && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"""
        )

    def open_in_page(self) -> None:
        """Open the notebook in a page that has JupyterLab and nothing open, and wait for its idle kernel."""
        self.page.evaluate(
            """async name => {
                const widget = await window.jupyterapp.commands.execute('docmanager:open', { path: name });
                await widget.context.ready;
                await widget.sessionContext.ready;
            }""",
            self.name,
        )
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.wait_kernel("idle")

    def reopen(self) -> None:
        """Close the notebook in its page, and open what is saved of it."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
        self.page.locator(".jp-Notebook").wait_for(state="detached")
        self.open_in_page()

    @contextlib.contextmanager
    def asked_tasks(self) -> Iterator[Callable[[], Any]]:
        """What tabs ask the table of tasks for meanwhile, from first to last; it does not show them."""
        self.page.evaluate(KEEP_ASKED)
        yield lambda: self.page.evaluate("() => window.asked")
        self.page.evaluate("() => window.keepsAsked.abort()")

    def leave(self) -> Page | None:
        """Close all that is open in the page, unsaved, and show the rest as in a new page; None: that failed."""
        if not self.page.evaluate(LEAVE):
            self.page.close()
            return None
        self.page.wait_for_selector("body[data-jp-theme-light='true']", state="attached")
        self.page.remove_listener("pageerror", self._errors.take)
        self.page.remove_listener("console", self._keep)
        return self.page

    def wait_kernel(self, status: str) -> None:
        wait_until(
            self.page,
            """status =>
                window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === status""",
            arg=status,
        )

    def command(self, name: str, **arguments: object) -> None:
        self.page.evaluate(
            "([name, args]) => { void window.jupyterapp.commands.execute(name, args); }", [name, arguments]
        )

    def save(self) -> None:
        """Save the notebook, once more where an output has come meanwhile."""
        self.page.evaluate(
            """async () => {
                const { context } = window.jupyterapp.shell.currentWidget;
                do {
                    await context.save();
                    await new Promise(resolve => setTimeout(resolve, 50));
                } while (context.model.dirty);
            }"""
        )

    def run_cell(self, index: int) -> None:
        """Press Shift+Enter in a cell, without waiting for its end."""
        self.select_cell(index)
        self.page.keyboard.press("Shift+Enter")

    def select_cell(self, index: int) -> None:
        """Click at a cell's prompt, again where an output that came meanwhile has moved it from under the pointer."""
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(index)
        prompt = cell.locator(".jp-InputArea-prompt")
        for _ in range(CLICKS - 1):
            prompt.click(position={"x": 8, "y": 8})  # at its text; a badge has its place below it
            with contextlib.suppress(AssertionError):
                expect(cell).to_have_class(ACTIVE, timeout=SELECTED_MS)
                return
        prompt.click(position={"x": 8, "y": 8})
        expect(cell).to_have_class(ACTIVE)

    def wait_output(self, index: int, text: str) -> None:
        self.page.locator(".jp-Notebook .jp-Cell").nth(index).get_by_text(text, exact=False).wait_for()

    def open_panel(self) -> None:
        self.command("cellmill:open-dashboard")
        self.page.wait_for_selector("#cellmill-panel .cellmill-dashboard", state="visible")

    def panel(self, key: str) -> str:
        value = self.page.locator("#cellmill-panel .cellmill-dashboard").get_attribute(f"data-{key}")
        assert value is not None, f"the panel has no data-{key}"
        return value

    def wait_panel(self, condition: str) -> None:
        """Wait until a JavaScript expression over the panel's numbers `d` holds."""
        wait_until(
            self.page,
            f"""() => {{
                const root = document.querySelector('#cellmill-panel .cellmill-dashboard');
                if (root === null) return false;
                const number = value => isNaN(value) ? value : Number(value);
                const d = Object.fromEntries(Object.entries(root.dataset).map(([k, v]) => [k, number(v)]));
                return {condition};
            }}""",
        )

    def picture(self, name: str, *, dark: bool = False) -> None:
        """A picture to be read by a person, where pictures are wanted: it tells a test nothing."""
        if not PICTURES:
            return
        if dark:
            self.set_theme("dark")
        self.screenshot(name)
        if dark:
            self.set_theme("light")

    def set_theme(self, theme: str) -> None:
        """Light or dark, once the page is there."""
        self.command("apputils:change-theme", theme=f"JupyterLab {theme.capitalize()}")
        light = str(theme == "light").lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def screenshot(self, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path
