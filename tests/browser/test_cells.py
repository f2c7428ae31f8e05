"""What cells show of the tasks that they began: badges, the lines that failed, and the end of a long run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.axe import grave_findings

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
DEFINE = """
%%parallel
def work(x, gate=""):
    import pathlib, time
    while gate and not pathlib.Path(gate).exists():
        time.sleep(0.01)
    if x % 5 == 0:
        raise ValueError(f"bad {x}")
    return x"""
FAILING_LINE = 'raise ValueError(f"bad {x}")'
FILLER = "# a cell to scroll past\n" * 40


def run(gate: Path | str, first: int, tasks: int) -> str:
    call = f"work.map(range({first}, {first + tasks}), [{str(gate)!r}] * {tasks}, return_exceptions=True)"
    return f"print('got', len(list({call})))"


def badge(page: Any, cell: int) -> Any:
    return page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".cellmill-badge")


def wait_badge(page: Any, cell: int, condition: str) -> None:
    """Wait until a JavaScript expression over the badge's data `d` holds."""
    page.wait_for_function(
        f"""() => {{
            const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}];
            const d = cell?.querySelector('.cellmill-badge')?.dataset;
            return d !== undefined && ({condition});
        }}"""
    )


def wait_no_badge(page: Any, cell: int) -> None:
    badge(page, cell).wait_for(state="detached")


def underlined(page: Any) -> Any:
    return page.locator(".jp-Notebook .cm-content .cellmill-failing")


def test_a_cell_carries_its_runs(lab: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one = lab(LOAD, DEFINE, run(gate, 0, 20), FILLER, FILLER, "print('no', 'task')")
    page = one.page
    for cell in range(3):
        one.run_cell(cell)
    wait_badge(page, 2, "d.state === 'running' && d.done === '0' && d.total === '20'")
    assert page.locator(".cellmill-badge").count() == 1
    assert "running" in badge(page, 2).get_attribute("aria-label")

    # A page that is reloaded while the cell runs shows it, too.
    one.load()
    wait_badge(page, 2, "d.state === 'running' && d.total === '20'")
    gate.touch()
    wait_badge(page, 2, "d.state === 'failed' && d.done === '20' && d.failed === '4'")
    assert "20 of 20 done, 4 failed" in badge(page, 2).get_attribute("aria-label")

    # The line that failed, although the kernel does not count the empty one above it.
    underlined(page).first.wait_for()
    assert "".join(underlined(page).all_inner_texts()) == FAILING_LINE
    assert "4 tasks failed here: ValueError: bad " in underlined(page).first.get_attribute("title")

    # By the keyboard into the panel, which is about this run, and back to the cell.
    one.wait_kernel("idle")
    badge(page, 2).focus()
    page.keyboard.press("Enter")
    one.wait_panel("d.run !== 'all' && d.total === 20 && d.failed === 4")
    assert grave_findings(page, ".jp-Notebook .cellmill-badge") == []
    one.select_cell(5)
    page.locator(f'{PANEL} [data-tab="runs"]').click()
    page.locator(f"{PANEL} .cellmill-history-run .cellmill-to-cell").click()
    page.wait_for_function("() => window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")
    page.wait_for_function(
        """() => {
            const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[2].getBoundingClientRect();
            return cell.top >= 0 && cell.bottom <= window.innerHeight;
        }"""
    )
    assert page.locator(f"{PANEL} .cellmill-scope .cellmill-to-cell").is_visible()

    # After another reload all of it is as it was, except where a cell has another source than it ran with.
    one.load()
    wait_badge(page, 2, "d.state === 'failed' && d.edited === 'false'")
    underlined(page).first.wait_for()
    page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".cm-line").last.click()
    page.keyboard.type(" # edited")
    underlined(page).first.wait_for(state="detached")

    # Run again, a cell has the badge of its newest execution only; without tasks it has none.
    one.run_cell(1)
    one.select_cell(2)
    page.keyboard.press("Enter")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("print('nothing', 1)")
    wait_badge(page, 2, "d.edited === 'true'")
    page.keyboard.press("Escape")
    one.run_cell(2)
    one.wait_output(2, "nothing 1")
    wait_no_badge(page, 2)
    saved = page.evaluate(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.content.model.toJSON())"
    )
    assert "cellmill-badge" not in saved
    assert not one.errors


NOTIFICATIONS = """
window.told = [];
const Native = window.Notification;
window.Notification = class extends Native {
    constructor(title, options) { super(title, options); window.told.push({title, ...options, native: this}); }
};
Object.defineProperty(document, 'hidden', {get: () => window.away === true});
"""


def set_least(page: Any, seconds: float) -> None:
    page.evaluate(
        """async seconds => {
            const settings = window.jupyterapp.serviceManager.settings;
            await settings.save('cellmill:plugin', JSON.stringify({notifyAfter: seconds}));
        }""",
        seconds,
    )


def test_the_end_of_a_long_run_notifies_who_looks_elsewhere(lab: OpenLab, tmp_path: Path) -> None:
    gates = [tmp_path / "seen", tmp_path / "unseen"]
    one = lab(LOAD, DEFINE, *(run(gate, 1, 4) for gate in gates))
    page = one.page
    page.context.grant_permissions(["notifications"])
    page.add_init_script(NOTIFICATIONS)
    set_least(page, 0.0001)
    one.load()
    for cell in range(2):
        one.run_cell(cell)
    one.run_cell(2)
    wait_badge(page, 2, "d.state === 'running'")
    gates[0].touch()
    wait_badge(page, 2, "d.state === 'done'")
    assert page.evaluate("window.told.length") == 0  # it is looked at
    page.evaluate("window.away = true")
    one.run_cell(3)
    wait_badge(page, 3, "d.state === 'running'")
    gates[1].touch()
    page.wait_for_function("window.told.length === 1")
    assert page.evaluate("window.told[0].title").endswith("In[4]: done")
    assert page.evaluate("window.told[0].body").startswith("4 of 4 done, took ")
    page.evaluate("window.told[0].native.onclick()")
    one.wait_panel("d.run !== 'all' && d.total === 4")
    set_least(page, 30)  # the settings are the server's, for all tests
    assert not one.errors
