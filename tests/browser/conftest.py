"""A real JupyterLab server and a headless browser, and the few things a user does with them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import jupyterlab
import nbformat
import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect

from cellmill.backends.cluster.engines.raybridge.head import free_ports
from tests.browser import chromium
from tests.browser.page_errors import listen

ROOT = Path(__file__).resolve().parents[2]
PANEL = ROOT / "kernel_runtime" / "cellmill" / "labextension"
SCREENSHOTS = ROOT / "build" / "screenshots"
TIMEOUT_MS = 120_000  # a page on a loaded machine may take half of it to load
CLICKS, SELECTED_MS = 5, 2000  # to select a cell; until it is told to be
ACTIVE = re.compile(r"\bjp-mod-active\b")
SLOWER = float(os.environ.get("CELLMILL_SLOW_PAGE", "1"))  # how many times slower than this machine a page is

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember a failure, so that its page is photographed before it closes."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


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


def environment(scratch: Path) -> dict[str, str]:
    """The test's own Jupyter and IPython folders, so that a developer's settings do not matter."""
    env = dict(os.environ)
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "HOME"):
        folder = scratch / name.lower()
        folder.mkdir()
        env[name] = str(folder)
    settings = Path(env["JUPYTER_CONFIG_DIR"]) / "lab" / "user-settings" / "@jupyterlab"
    # The panel of this tree, whatever is installed: this path comes before that of a virtual environment.
    extensions = scratch / "jupyter_path" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "cellmill").symlink_to(PANEL)
    env["JUPYTER_PATH"] = str(extensions.parent)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    chosen: dict[str, dict[str, object]] = {"apputils-extension/notification": quiet}
    if jupyterlab.__version__.startswith("4.4."):  # takes cells out of the page that are out of sight
        chosen["notebook-extension/tracker"] = {"windowingMode": "defer"}
    for name, values in chosen.items():
        path = settings / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values))
    return env


def wait_until_up(process: subprocess.Popen[bytes], server: Server) -> None:
    """Ask until the server answers; its log tells why when it does not."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            server.get("api/status")
        except (urllib.error.URLError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
                break  # it ended
        else:
            return
    raise RuntimeError(f"JupyterLab did not start:\n{server.log.read_text()[-4000:]}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    scratch = tmp_path_factory.mktemp("lab")
    root = scratch / "notebooks"
    root.mkdir()
    log = scratch / "server.log"
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    running = Server(url, "cellmill-test", root, scratch / "jupyter_path", log)
    port = running.url.rsplit(":", 1)[1]
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "lab",
        "--no-browser",
        "--allow-root",
        "--expose-app-in-browser",
    ]
    command += [
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={running.token}",
    ]
    command += [f"--ServerApp.root_dir={root}", "--LabApp.extension_manager=readonly"]
    # A kernel that dies again and again is given up soon.
    command += ["--AsyncIOLoopKernelRestarter.restart_limit=1", "--KernelRestarter.time_to_dead=1.0"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=root, env=environment(scratch), stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        wait_until_up(process, running)
        yield running
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def driver() -> Iterator[chromium.Driver]:
    running = chromium.Driver()
    yield running
    running.close()


@pytest.fixture(scope="module")
def browser(driver: chromium.Driver) -> Iterator[Browser]:
    running = driver.chromium.launch(executable_path=chromium.path(), args=chromium.FLAGS)
    yield running
    running.close()


@pytest.fixture(scope="session")
def profile(driver: chromium.Driver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Profile]:
    kept = chromium.Profile(driver, tmp_path_factory.mktemp("profile"))
    yield kept
    kept.close()


@pytest.fixture
def context(profile: chromium.Profile, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """Where a test opens its pages: nothing but compiled scripts is left of one test for the next."""
    running = profile.context()
    yield running
    if request.node.stash.get(FAILED, False):
        profile.close()  # whatever is wrong with it, the next test has a new one
        return
    try:
        for page in running.pages[1:]:  # the browser ends with its last one
            page.evaluate("() => { try { localStorage.clear() } catch { /* a page that has none */ } }")
            page.close()
        running.clear_cookies()
        running.clear_permissions()
    except Error:
        profile.close()
        raise


@pytest.fixture
def own_context(browser: Browser, scale: int) -> Iterator[BrowserContext]:
    """One that nothing was done in, of any scale; for modules whose `context` it is."""
    context = browser.new_context(viewport=chromium.VIEWPORT, device_scale_factor=scale)
    yield context
    context.close()


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
        page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))

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

    def wait_kernel(self, status: str) -> None:
        self.page.wait_for_function(
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
        self.page.wait_for_function(
            f"""() => {{
                const root = document.querySelector('#cellmill-panel .cellmill-dashboard');
                if (root === null) return false;
                const number = value => isNaN(value) ? value : Number(value);
                const d = Object.fromEntries(Object.entries(root.dataset).map(([k, v]) => [k, number(v)]));
                return {condition};
            }}"""
        )

    def screenshot(self, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path


@pytest.fixture
def scale() -> int:
    """Device pixels in a CSS pixel."""
    return 1


@pytest.fixture
def lab(
    server: Server, context: BrowserContext, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Lab]]:
    """Open a notebook with these cells in a page of its own; the kernel is shut down afterwards."""
    with pages(server, context, request.node) as open_lab:
        yield open_lab


@contextlib.contextmanager
def pages(server: Server, context: BrowserContext, test: pytest.Item) -> Iterator[Callable[..., Lab]]:
    """Open notebooks in pages; at the end no kernel is left, also where the browser was killed meanwhile, so that a
    test that runs again starts with a kernel of its own.
    """
    context.set_default_timeout(TIMEOUT_MS)
    opened: list[Lab] = []

    def open_lab(*cells: str | nbformat.NotebookNode, name: str = f"{test.name}.ipynb") -> Lab:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
        )
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, server.root / name)
        one = Lab(context.new_page(), server, name)
        opened.append(one)
        one.open()
        return one

    try:
        yield open_lab
        for one in opened:
            for error in one.known_errors:
                print(f"an error of JupyterLab's own: {error}")
            if test.stash.get(FAILED, False):
                tell_of_a_failure(one, test.name)
    finally:
        server.end_sessions()


def tell_of_a_failure(one: Lab, test: str) -> None:
    """Print what the page, its console and the server say; shortest first, as long reports are cut."""
    for text in one.page.locator("dialog").all_inner_texts():
        print(f"a dialog is open: {text}")
    print(*one.console[-20:], sep="\n")
    print("the end of the server's log:", one.server.log.read_text()[-4000:], sep="\n")
    if not chromium.missing_from(one.page):
        print(f"screenshot: {one.screenshot('failed-' + test)}")
