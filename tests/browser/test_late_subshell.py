"""A kernel that gives the page a subshell late: until then the page speaks between cells, from then on at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
OUTPUT = "#cellmill-panel .cellmill-page-output"
LATE = """import asyncio, pathlib
handlers = get_ipython().kernel.control_handlers
create = handlers['create_subshell_request']
async def late(*message):
    while not pathlib.Path({gate!r}).exists():
        await asyncio.sleep(0.02)
    await create(*message)
handlers['create_subshell_request'] = late
%load_ext cellmill
print('loaded', 'now')"""
RUN = """%%parallel
def wait(gate):
    import pathlib, time
    print('a task waits')
    while not pathlib.Path(gate).exists():
        time.sleep(0.02)
    return 'over'
print(wait({gate!r}).result(), 'now')"""
LISTENERS = """from cellmill.views import comm
print('listeners', len(comm._link._publisher._listeners))"""
NOTE_OPENED = """() => {
    window.opened = 0;
    const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
    kernel.anyMessage.connect((_, { msg, direction }) => {
        window.opened += direction === 'send' && msg.header.msg_type === 'comm_open';
    });
}"""


@pytest.mark.long  # subshells are seldom late; tests/browser/test_output.py has the tab of a page that has one
def test_what_the_page_asks_is_answered_while_a_cell_runs(lab_in_use: OpenLab, tmp_path: Path) -> None:
    subshell, end = tmp_path / "subshell", tmp_path / "end"
    one = lab_in_use(LATE.format(gate=str(subshell)), RUN.format(gate=str(end)), LISTENERS)
    page = one.page
    page.evaluate(NOTE_OPENED)
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_panel("d.running === 1")
    page.locator('#cellmill-panel [data-tab="output"]').click()
    wait_until(page, "() => window.opened === 1")  # without a subshell: it waits for the cell's end
    assert page.locator(f"{OUTPUT} li.cellmill-output-line").count() == 0

    subshell.touch()
    page.locator(f"{OUTPUT} li.cellmill-output-line").get_by_text("a task waits").wait_for()
    assert not end.exists()
    end.touch()
    one.wait_output(1, "over now")
    one.run_cell(2)
    one.wait_output(2, "listeners 1")
    assert one.errors == []
