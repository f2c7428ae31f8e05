"""What is around the dashboard in JupyterLab: the main-area view, the status bar, settings, menus, launcher."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import grave_findings
from tests.browser.conftest import PANEL, ROOT, TIMEOUT_MS
from tests.browser.lab_page import wait_until
from tests.browser.page_setup import set_setting

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\nprint('loaded', 'now')"
# From 20 on tasks wait for a file, so that a test decides when the cell goes on.
WORK = """%%parallel
def work(item):
    import pathlib, time
    number, door = item
    while number >= 20 and not pathlib.Path(door).exists():
        time.sleep(0.01)
    if number == 3:
        raise ValueError("this one fails")
    time.sleep(0.005)
    return number
"""
MAIN = ".cellmill-main .cellmill-dashboard"
SIDE = "#cellmill-panel .cellmill-dashboard"
STATUS = ".cellmill-status-button"
# Give the side panel a width; 0 takes it back.
NARROW = """width => {
    const { style } = document.getElementById('cellmill-panel');
    style.maxWidth = style.width = width === 0 ? '' : `${width}px`;
}"""
# Classes of what overflows the side panel on its right.
BEYOND = """() => {
    const panel = document.getElementById('cellmill-panel');
    const edge = panel.getBoundingClientRect().left + panel.clientWidth + 0.5;
    const parts = '.cellmill-dashboard > *, .cellmill-body > *, .cellmill-controls *, .cellmill-count *, '
        + '.cellmill-tab, .cellmill-kernel *';
    return [...panel.querySelectorAll(parts)]
        .filter(one => one.getBoundingClientRect().right > edge).map(one => one.className);
}"""


def run_all(door: Path) -> str:
    return (
        f"results = list(work.map([(n, {str(door)!r}) for n in range(60)], return_exceptions=True))\n"
        "print('gathered', len(results))"
    )


def open_running(lab: OpenLab, door: Path, **options: Any) -> Any:
    """A notebook whose third cell holds after 20 of 60 tasks; no dashboard is open."""
    one = lab(LOAD, WORK, run_all(door), **options)
    for index in (0, 1, 2):
        one.run_cell(index)
    return one


def numbers(one: Any, root: str, **wanted: str) -> None:
    """Wait until a dashboard carries these numbers."""
    for key, value in wanted.items():
        expect(one.page.locator(root)).to_have_attribute(f"data-{key}", value, timeout=TIMEOUT_MS)


def choose(one: Any, target: Locator, item: str) -> None:
    """Press an item of the context menu."""
    target.click(button="right")
    one.page.get_by_role("menuitem", name=item, exact=True).click()


def set_theme(one: Any, theme: str) -> None:
    one.command("apputils:change-theme", theme=theme)
    one.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
    one.page.wait_for_selector("#jupyterlab-splash", state="detached")


def test_status_bar_main_view_and_context_menu(lab_in_use: OpenLab, tmp_path: Path) -> None:
    one = open_running(lab_in_use, tmp_path / "door")
    page = one.page
    status = page.locator(STATUS)
    # The status bar knows of the run although no dashboard is open, and obeys none but the kernel in front.
    expect(status).to_contain_text("2 workers", timeout=TIMEOUT_MS)
    # Workers are told of before the first calls, which wait for them.
    expect(page.locator(".cellmill-status-bar")).to_be_visible(timeout=TIMEOUT_MS)
    one.command("cellmill:pause-run")
    expect(status).to_contain_text("paused")
    one.command("cellmill:resume-run")
    expect(status).to_contain_text("tasks/s")
    one.command("launcher:create")
    expect(status).to_be_hidden()
    page.get_by_role("tab", name=one.name).click()
    status.click()
    numbers(one, SIDE, done="20", total="60", running="2")

    page.get_by_role("button", name="Open wide").click()
    numbers(one, MAIN, done="20", total="60", presence="live")
    assert page.get_by_role("tab", name=f"Tasks: {one.name}").count() == 1
    one.command("cellmill:open-dashboard-in-main")  # it has one already
    one.command("cellmill:more-workers")
    numbers(one, MAIN, workers="3")
    numbers(one, SIDE, workers="3")
    assert page.locator(MAIN).count() == 1

    line = page.locator(".cellmill-kernel")
    choose(one, line, "Pause Cellmill Tasks")
    numbers(one, SIDE, paused="true")
    line.focus()
    page.keyboard.press("ContextMenu")
    page.get_by_role("menuitem", name="Resume Cellmill Tasks").click()
    numbers(one, MAIN, paused="false")
    choose(one, line, "Show Its Notebook")
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.title.label") == one.name

    nothing_is_hard_to_use_or_overflows(one)
    (tmp_path / "door").touch()
    numbers(one, MAIN, done="60", failed="1")
    expect(page.locator(".cellmill-status-bar")).to_be_hidden()
    assert one.errors == []


def nothing_is_hard_to_use_or_overflows(one: Any) -> None:
    """From 220 pixels on, in the theme with the widest borders; `tests.browser.test_widths` has the usual ones."""
    set_theme(one, "JupyterLab Dark High Contrast")
    one.picture("shell-dark-high-contrast")
    assert grave_findings(one.page, "#cellmill-panel", ".cellmill-main", ".cellmill-status") == []
    for width in (220, 300, 480):
        one.page.evaluate(NARROW, width)
        assert one.page.evaluate(BEYOND) == [], width
        one.picture(f"side-dark-high-contrast-{width}")
    one.page.evaluate(NARROW, 0)


# The page's pictures (by their times) in which the side panel changed, and those in which the status item did.
PICTURES = """([panel, status]) => {
    window.cellmillPictures = [panel, status].map(selector => {
        const times = new Set();
        new MutationObserver(() => times.add(document.timeline.currentTime)).observe(
            document.querySelector(selector),
            { attributes: true, characterData: true, childList: true, subtree: true }
        );
        return times;
    });
}"""
SHARED = """() => {
    const [panel, status] = window.cellmillPictures;
    const shared = [...status].filter(time => panel.has(time)).length;
    return [shared, status.size - shared];
}"""


@pytest.mark.long  # labextension/tests/view/drawing.test.ts has drawings that wait for each other
def test_the_status_bar_is_drawn_in_pictures_of_the_panel(lab_in_use: OpenLab) -> None:
    define = "%%parallel\ndef slow(number):\n    import time\n    time.sleep(0.01)"
    one = lab_in_use(LOAD, define, "print('made', len(list(slow.map(range(1200)))))")
    for index in (0, 1):
        one.run_cell(index)
    one.wait_output(0, "loaded now")
    one.open_panel()
    one.page.evaluate(PICTURES, [SIDE, ".cellmill-status"])
    one.run_cell(2)
    one.wait_output(2, "made 1200")
    shared, alone = one.page.evaluate(SHARED)
    # drawn by itself when the tasks begin and end, and where the panel is late on a busy machine
    assert shared >= max(4, alone), (shared, alone)


@pytest.mark.long
def test_settings_take_effect_at_once(lab: OpenLab, tmp_path: Path) -> None:
    one = open_running(lab, tmp_path / "door")
    page = one.page
    status = page.locator(STATUS)
    expect(status).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator(SIDE)).to_be_hidden()
    set_setting(one, "openWhenTasksBegin", True)
    (tmp_path / "door").touch()
    one.wait_output(2, "gathered 60")
    one.run_cell(2)
    expect(page.locator(SIDE)).to_be_visible(timeout=TIMEOUT_MS)
    set_setting(one, "showInStatusBar", False)
    expect(status).to_be_hidden()
    set_setting(one, "defaultTab", "workers")
    expect(page.locator(f"{SIDE} [data-tab=workers]")).to_have_attribute("aria-selected", "true")
    set_setting(one, "openIn", "main")
    one.command("cellmill:open-dashboard")
    numbers(one, MAIN, total="60")
    for key in ("openWhenTasksBegin", "showInStatusBar", "defaultTab", "openIn"):
        default = {"showInStatusBar": True, "defaultTab": "now", "openIn": "side"}.get(key, False)
        set_setting(one, key, default)
    assert one.errors == []


@pytest.mark.long
def test_reload_second_tab_and_closed_notebook(lab: OpenLab, tmp_path: Path) -> None:
    """The main-area view comes back in the middle of a cell; another page sees and cancels the same tasks."""
    one = open_running(lab, tmp_path / "door")
    one.command("cellmill:open-dashboard-in-main")
    numbers(one, MAIN, done="20", running="2")
    one.command("docmanager:save")
    wait_until(
        one.page,
        """() => { let dirty = 0;
            for (const widget of window.jupyterapp.shell.widgets('main')) dirty += !!widget.context?.model.dirty;
            return dirty === 0; }""",
    )
    one.page.evaluate("() => window.jupyterapp.restored")
    one.page.wait_for_timeout(1500)  # JupyterLab saves its layout a second after the last change
    one.page.reload()
    numbers(one, MAIN, done="20", total="60", running="2")
    one.picture("main-after-reload-light")

    other = type(one)(one.page.context.new_page(), one.server, one.name)
    other.workspace = "second"
    other.load()
    other.open_panel()
    numbers(other, SIDE, done="20", total="60", running="2")
    other.page.get_by_role("button", name="Cancel all tasks").click()
    numbers(one, MAIN, over="60", running="0")
    numbers(other, SIDE, over="60", running="0")
    other.page.close()

    one.page.evaluate(
        """name => { for (const widget of window.jupyterapp.shell.widgets('main'))
            if (widget.title.label === name) widget.close(); }""",
        one.name,
    )
    expect(one.page.locator(MAIN)).to_contain_text("is closed. Open it again")
    one.command("docmanager:open", path=one.name)
    one.page.get_by_role("tab", name=one.name, exact=True).wait_for()
    one.page.get_by_role("tab", name=f"Tasks: {one.name}").click()
    numbers(one, MAIN, over="60", presence="live")
    assert one.errors == []


def test_launcher_opens_copies_of_the_examples(lab_in_use: OpenLab) -> None:
    one = lab_in_use("1")
    page = one.page
    folder = one.server.root / "copies"
    folder.mkdir()
    page.evaluate("() => window.jupyterapp.commands.execute('filebrowser:go-to-path', { path: 'copies' })")
    for name in ("cellmill-quickstart.ipynb", "cellmill-quickstart (1).ipynb"):
        one.command("launcher:create", cwd="copies")
        page.locator(".jp-LauncherCard", has_text="Cellmill Quickstart").filter(visible=True).click()
        page.get_by_role("tab", name=name, exact=True).wait_for()
    one.command("cellmill:open-example", example="docking")
    page.get_by_role("tab", name="cellmill-docking.ipynb", exact=True).wait_for()
    source = json.loads((ROOT / "examples" / "01_quickstart.ipynb").read_text())
    for name in ("cellmill-quickstart.ipynb", "cellmill-quickstart (1).ipynb"):
        copy = json.loads((folder / name).read_text())
        assert ["".join(cell["source"]) for cell in copy["cells"]] == [
            "".join(cell["source"]) for cell in source["cells"]
        ]
    docking = json.loads((folder / "cellmill-docking.ipynb").read_text())
    assert "cellmill.examples_folder()" in "".join(docking["cells"][1]["source"])
    assert one.errors == []


def test_the_extension_is_small() -> None:
    """The whole of its scripts, the notebooks it carries included, is below 400 KB."""
    scripts = list((PANEL / "static").glob("*.js"))
    assert any(script.name.startswith("remoteEntry.") for script in scripts)
    assert sum(script.stat().st_size for script in scripts) < 400_000
