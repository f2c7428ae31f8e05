"""A real JupyterLab server, a headless browser, and notebooks opened in its pages."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import jupyterlab
import nbformat
import pytest
from playwright.sync_api import Browser, BrowserContext, Error

from cellmill.backends.cluster.engines.raybridge.head import free_ports
from tests.browser import chromium
from tests.browser.lab_page import Lab, Server

ROOT = Path(__file__).resolve().parents[2]
PANEL = ROOT / "kernel_runtime" / "cellmill" / "labextension"
HUNG = Path(__file__).with_name(
    "test_hung.py"
)  # come last: they end the browser and the page that others share
TIMEOUT_MS = 120_000  # a page on a loaded machine may take half of it to load
# Parts of JupyterLab that no test looks at: a page without them loads in two thirds of the processor time.
LEFT_OUT = (
    "audio", "celltags", "csvviewer", "debugger", "extensionmanager", "fileeditor", "help", "htmlviewer", "hub",
    "imageviewer", "inspector", "javascript", "json", "logconsole", "lsp", "markdownviewer", "mathjax", "mermaid",
    "metadataform", "pdf", "pluginmanager", "running", "settingeditor", "terminal", "toc", "tooltip", "vega5", "video",
)  # fmt: skip

# Its schemas do without one of their formats, whose parser is made on import, in most of the time to start.
LAB = "import sys; sys.modules['rfc3987_syntax'] = None; from jupyterlab.labapp import main; main()"

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
    items.sort(key=lambda item: item.path == HUNG)


def whole(tests: Iterable[pytest.Item]) -> bool:
    """Whether tests are to have all of JupyterLab: where there are long ones, benchmarks or pictures among them."""
    return any(
        test.get_closest_marker("long") is not None or not test.path.name.startswith("test_")
        for test in tests
        if test.path.is_relative_to(Path(__file__).parent)
    )


def environment(scratch: Path, whole_lab: bool) -> dict[str, str]:
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
    if not whole_lab:
        page = Path(env["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json"
        page.parent.mkdir()
        off = {f"@jupyterlab/{name}-extension": True for name in LEFT_OUT}
        page.write_text(json.dumps({"disabledExtensions": off}))
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
def server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Server]:
    scratch = tmp_path_factory.mktemp("lab")
    root = scratch / "notebooks"
    root.mkdir()
    log = scratch / "server.log"
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    running = Server(url, "cellmill-test", root, scratch / "jupyter_path", log)
    port = running.url.rsplit(":", 1)[1]
    command = [sys.executable, "-c", LAB, "--no-browser", "--allow-root", "--expose-app-in-browser"]
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
        env = environment(scratch, whole(request.session.items))
        process = subprocess.Popen(command, cwd=root, env=env, stdout=sink, stderr=subprocess.STDOUT)
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
            if page is profile.page:
                continue
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


@pytest.fixture
def lab_in_use(
    server: Server, context: BrowserContext, profile: chromium.Profile, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Lab]]:
    """Open one notebook with these cells, in the page where tests before had theirs: to load one takes seconds.

    The panel's tabs are new ones, and a test may load the page again.
    """
    with pages(server, context, request.node, profile) as open_lab:
        yield open_lab


@pytest.fixture
def notebook_7(
    server: Server, context: BrowserContext, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Lab]]:
    """The same as `lab` in the page of Jupyter Notebook."""
    with pages(server, context, request.node, first=Lab.open_in_notebook_7) as open_lab:
        yield open_lab


@contextlib.contextmanager
def pages(
    server: Server,
    context: BrowserContext,
    test: pytest.Item,
    profile: chromium.Profile | None = None,
    first: Callable[[Lab], None] = Lab.open,
) -> Iterator[Callable[..., Lab]]:
    """Open notebooks in pages (``first`` loads one), or one in the page that a ``profile`` keeps.

    At the end no kernel is left, also where the browser was killed meanwhile, so that a test that runs again starts
    with a kernel of its own.
    """
    context.set_default_timeout(TIMEOUT_MS)
    opened: list[Lab] = []

    def open_lab(*cells: str | nbformat.NotebookNode, name: str = f"{test.name}.ipynb") -> Lab:
        _write_notebook(server.root / name, cells)
        kept = None if profile is None else profile.page
        one = Lab(kept or context.new_page(), server, name)
        opened.append(one)
        if kept is None:
            first(one)
        else:
            one.open_in_page()
        return one

    try:
        yield open_lab
        for one in opened:
            for error in one.known_errors:
                print(f"an error of JupyterLab's own: {error}")
            if test.stash.get(FAILED, False):
                tell_of_a_failure(one, test.name)
            elif profile is not None:
                profile.page = one.leave()
    finally:
        server.end_sessions()


def _write_notebook(path: Path, cells: Iterable[str | nbformat.NotebookNode]) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def tell_of_a_failure(one: Lab, test: str) -> None:
    """Print what the page, its console and the server say; shortest first, as long reports are cut."""
    for text in one.page.locator("dialog").all_inner_texts():
        print(f"a dialog is open: {text}")
    print(*one.console[-20:], sep="\n")
    print("the end of the server's log:", one.server.log.read_text()[-4000:], sep="\n")
    if not chromium.missing_from(one.page):
        print(f"screenshot: {one.screenshot('failed-' + test)}")
