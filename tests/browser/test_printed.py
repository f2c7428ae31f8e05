"""What tasks print, in the page: folded under the bar; open at a click, while more comes and in the saved notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.test_panel import open_doors

TALK = """%%parallel
def talk(i):
    import os, time
    while i >= 30 and not os.path.exists({door!r}): time.sleep(0.01)
    print('line', i)
    while i == 59 and not os.path.exists({last!r}): time.sleep(0.01)
print('defined', 'all')"""
OUTPUT = ".jp-Notebook .jp-Cell >> nth=2 >> .jp-OutputArea"


def test_lines_under_the_bar(lab_in_use: Callable[..., Any], tmp_path: Path) -> None:
    talk = TALK.format(door=str(tmp_path / "door"), last=str(tmp_path / "last"))
    one = lab_in_use(
        "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')",
        talk,
        "r = list(talk.map(range(60), chunksize=1))\nprint('read', 'all')",
    )
    for index, text in ((0, "loaded now"), (1, "defined all")):
        one.run_cell(index)
        one.wait_output(index, text)
    one.run_cell(2)
    area = one.page.locator(OUTPUT)
    area.get_by_text("30 lines printed by 30 calls of talk").click()
    lines = area.locator("pre:has-text('line 29')").last
    lines.wait_for()
    open_doors(tmp_path, "door")
    area.get_by_text("60 lines printed by 60 calls of talk").wait_for()
    assert area.locator("pre:has-text('line 58')").last.is_visible()  # it has stayed open
    open_doors(tmp_path, "last")
    one.wait_output(2, "read all")
    area.locator("summary").wait_for()
    one.save()
    one.reopen()
    saved = one.page.locator(OUTPUT)
    saved.locator("summary").wait_for()
    assert not saved.get_by_text("line 45").is_visible()
    saved.locator("summary").click()
    assert saved.get_by_text("line 45").is_visible()
    assert "talk 45" in saved.locator("details").inner_text()
    assert one.errors == []
