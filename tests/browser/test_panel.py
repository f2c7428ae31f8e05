"""The side panel in a real JupyterLab: live while a cell runs, after reload and restart, in both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab_page import wait_until
from tests.browser.page_cells import (
    COUNT_VIEWS,
    NOTE_VIEWS,
    STOP_CLOCK,
    wait_badge,
    what_happened_before_is_still_there,
)

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\nprint('loaded', 'now')"
# Later tasks wait for files, so that a test decides when the cell goes on: after 20 tasks and after 40.
DEFINE = """%%parallel
def work(item):
    import pathlib, time
    number, gate = item
    doors = [pathlib.Path(gate, door) for door in ("first", "second")[: number // 20]]
    while not all(door.exists() for door in doors):
        time.sleep(0.01)
    if number == 3:
        raise ValueError("this one fails")
    time.sleep(0.005)
    return number
"""

# The clock leaps, and only who speaks is known again.
LEAP = """import time
for _ in range(2000):
    if len(listeners) == 2:  # the new page has said what it shows
        break
    time.sleep(0.02)
before, listeners._clock = len(listeners), lambda: 1000.0
for _ in range(2000):
    work((0, ""))  # so that there is something to tell
    time.sleep(0.02)
    if len(listeners) == 1:
        break
print("views", before, "then", len(listeners))
"""


# A page that crashes, or whose machine sleeps.
NO_GOODBYE = "() => { WebSocket.prototype.send = () => undefined; }"


def open_doors(gate: Path, *doors: str) -> None:
    for door in doors:
        (gate / door).touch()


def run_gated(gate: Path, tasks: int) -> str:
    return (
        f"items = [(number, {str(gate)!r}) for number in range({tasks})]\n"
        "results = list(work.map(items, return_exceptions=True))\n"
        "print('gathered', len(results))"
    )


def open_gated(lab: OpenLab, gate: Path, load: str = LOAD, *more: str) -> Any:
    """A notebook whose third cell has begun and holds at its gate; ``more`` cells come after it."""
    one = lab(load, DEFINE, run_gated(gate, 60), *more)
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.wait_panel("d.presence === 'loaded' || d.presence === 'live'")
    one.run_cell(1)
    one.run_cell(2)
    return one


def test_the_panel_moves_and_its_buttons_are_obeyed_while_a_cell_runs(
    lab_in_use: OpenLab, tmp_path: Path
) -> None:
    one = open_gated(lab_in_use, tmp_path)
    it_moves(one, tmp_path)
    for door in tmp_path.iterdir():
        door.unlink()
    before = int(one.panel("work"))
    one.run_cell(2)
    one.wait_panel(f"d.work > {before} && d.total === 60 && d.done === 20 && d.running === 2")  # from zero
    buttons_are_obeyed(one, tmp_path)
    the_cancel_command_stops_a_busy_cell(one)
    assert one.errors == []


def it_moves(one: Any, gate: Path) -> None:
    one.wait_panel("d.total === 60 && d.done === 20 && d.running > 0")
    open_doors(gate, "first")
    one.wait_panel("d.done === 40 && d.running === 2 && d.queued === 18 && d.failed === 1")
    assert int(one.panel("workers")) >= 1
    times = one.page.locator("#cellmill-panel .cellmill-times")
    times.get_by_text("so far").wait_for()
    times.get_by_text(re.compile("^about .+ left$")).wait_for()
    # The whole of what was asked, in the status bar and in the list of kernels too: 40 of 60 are done.
    one.page.locator(".cellmill-status").get_by_text(re.compile(r"\d s so far · about .+ left$")).wait_for()
    kernels = one.page.get_by_role("navigation", name="Kernels with Cellmill")
    kernels.get_by_text(re.compile(r"^66% · .*\d s so far · about .+ left$")).wait_for()
    one.picture("panel-running-light")
    one.picture("panel-running-dark", dark=True)
    the_list_leads_to_its_notebook(one, kernels)
    arrows = one.page.locator("#cellmill-panel .cellmill-run").get_by_text(re.compile("[↑↓]"))
    assert arrows.filter(visible=True).count() == 2
    open_doors(gate, "second")
    one.wait_panel("d.done === 60 && d.total === 60 && d.running === 0 && d.rate > 0")
    one.wait_output(2, "gathered 60")
    bar = one.page.get_by_role("progressbar", name="Tasks done")
    assert bar.get_attribute("aria-valuenow") == "60"
    assert one.page.get_by_role("status").filter(has_text="60 tasks done").count() == 1
    arrows.filter(visible=True).first.wait_for(state="hidden")  # nothing is left to be set
    assert times.inner_text().startswith("took ")
    assert "left" not in times.inner_text()
    one.picture("panel-done-light")


def the_list_leads_to_its_notebook(one: Any, kernels: Any) -> None:
    kernel = kernels.get_by_role("button")
    assert kernel.count() == 1
    assert kernel.get_attribute("aria-current") == "true"
    one.command("launcher:create")
    wait_until(one.page, "name => window.jupyterapp.shell.currentWidget.title.label !== name", arg=one.name)
    kernel.focus()
    one.page.keyboard.press("Enter")
    wait_until(one.page, "name => window.jupyterapp.shell.currentWidget.title.label === name", arg=one.name)


@pytest.mark.long  # a reload in the middle of a cell is part of tests/browser/test_cells.py
def test_reloads_in_the_middle_of_a_cell_and_after_it(lab_in_use: OpenLab, tmp_path: Path) -> None:
    """A new page shows the tasks at once; an old one says goodbye, or is given up."""
    open_doors(tmp_path, "first")
    one = open_gated(lab_in_use, tmp_path, LOAD + STOP_CLOCK + NOTE_VIEWS, COUNT_VIEWS, LEAP)
    one.wait_panel("d.done === 40 && d.queued === 18")
    one.save()
    one.load()
    one.open_panel()
    one.wait_panel("d.done === 40 && d.total === 60 && d.running === 2")
    wait_badge(one.page, 2, "d.state === 'running' && d.total === '60'")
    open_doors(tmp_path, "second")
    one.wait_panel("d.done === 60 && d.total === 60")
    one.run_cell(3)
    one.wait_output(3, "of 2 views 1 is left")

    one.save()
    one.page.evaluate(NO_GOODBYE)
    one.load()
    one.open_panel()
    one.wait_panel("d.presence === 'live' && d.done === 60 && d.total === 60")
    what_happened_before_is_still_there(one)
    before = int(one.panel("work"))
    one.run_cell(4)
    one.wait_output(4, "views 2 then 1")
    one.wait_panel(f"d.work > {before} && d.done === d.total && d.running === 0")
    assert one.errors == []


def buttons_are_obeyed(one: Any, gate: Path) -> None:
    page = one.page
    page.get_by_role("button", name="Send no more tasks to workers").click()
    one.wait_panel("d.paused === 'true'")
    open_doors(gate, "first")
    one.wait_panel("d.running === 0 && d.done < 40")  # what had been sent is through, nothing follows
    one.picture("panel-paused-light")
    done = int(one.panel("done"))
    for _ in range(3):
        page.get_by_role("button", name="One worker more").click()
    one.wait_panel("d.workers === 5")
    for _ in range(2):
        page.get_by_role("button", name="One worker fewer").click()
    one.wait_panel("d.workers === 3")
    assert int(one.panel("done")) == done
    one.command("cellmill:resume-run")
    one.wait_panel("d.paused === 'false' && d.done === 40 && d.running === 3")
    page.get_by_role("button", name="Cancel work").click()
    one.wait_panel("d.over === 60 && d.running === 0 && d.cancelled > 0 && d.done === 60 - d.cancelled")
    page.get_by_text(f"{one.panel('done')} of 60, {one.panel('cancelled')} cancelled").first.wait_for()
    one.picture("panel-cancelled-light")
    one.wait_output(2, "Cancelled")
    one.wait_kernel("idle")


def the_cancel_command_stops_a_busy_cell(one: Any) -> None:
    before = int(one.panel("work"))
    one.run_cell(2)
    one.wait_panel(f"d.work > {before} && d.done === 40 && d.running > 0")
    assert one.page.get_by_role("button", name="Cancel all tasks").is_enabled()
    one.command("cellmill:cancel-run")
    one.wait_panel("d.over === 60 && d.running === 0 && d.cancelled > 0")
    one.wait_kernel("idle")
    assert one.page.get_by_role("button", name="Cancel all tasks").is_disabled()
