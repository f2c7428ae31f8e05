"""What tasks print is under the bar of its cell: the first lines as they are, all of them folded, by call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.notebook import Notebook, Output
from tests.widgets.test_progress import WAIT, WIDGET, is_display

TALK = """%%parallel
def talk(i):
    import sys, time
    time.sleep(0.01)
    print("line", i, "<&>")
    if i == 1:
        print("wrong", file=sys.stderr)
"""
MORE = "... the other lines that tasks print are folded under the bar above"


@pytest.fixture(autouse=True, params=["local", "threads"])
def talk(request: pytest.FixtureRequest, notebook: Notebook) -> None:
    notebook.run(f"%cellmill backend {request.param}").ok()
    notebook.run("%cellmill workers 2").ok()
    notebook.run(TALK).ok()


def folded(output: Output) -> dict[str, Any]:
    """The one display of a cell."""
    [display] = output.displays.values()
    return display


def test_few_lines(notebook: Notebook) -> None:
    output = notebook.run("first = talk.map(range(3))\nr = list(talk.map(range(3)))\nr = list(first)").ok()
    assert sorted(output.stdout.splitlines())[:1] == ["line 0 <&>"]
    assert MORE not in output.stdout
    assert "wrong\n" in output.stderr
    text = folded(output)["text/plain"]
    assert "talk 0 " in text
    assert re.search("talk 1 stderr +│ wrong", text)


def test_many_lines(notebook: Notebook) -> None:
    output = notebook.run("r = list(talk.map(range(100)))").ok()
    shown = output.stdout.splitlines()
    assert len([*shown, *output.stderr.splitlines()]) == 21
    assert shown[-1] == MORE
    display = folded(output)
    assert WIDGET not in display
    text, page = display["text/plain"], display["text/html"]
    assert "101 lines printed by 100 calls of talk" in text
    for i in range(100):
        assert re.search(rf"talk {i} +│ line {i} <&>\n", text)
        assert f"line {i} &lt;&amp;&gt;\n" in page
    assert "<details" in page
    assert "<script" not in page


def test_the_bar_stands_above_the_lines_and_below_what_the_cell_printed_before(notebook: Notebook) -> None:
    output = notebook.run("print('first')\nr = list(talk.map(range(3)))\nprint('last')").ok()
    kinds = ("stream", "display_data")
    shown = [message for message in output.messages if message["header"]["msg_type"] in kinds]
    told = "".join(message["content"].get("text", "<bar>") for message in shown)
    assert told.startswith("first\n<bar>")
    assert output.stdout.splitlines()[-1] == "last"


def test_captured_and_redirected_output_is_that_of_a_plain_loop(notebook: Notebook) -> None:
    expected = sorted(f"line {i} <&>" for i in range(50))
    output = notebook.run("%%capture heard\nr = list(talk.map(range(50)))").ok()
    assert not output.displays
    assert notebook.value("sorted(heard.stdout.splitlines())") == repr(expected)
    notebook.run(
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()) as heard:\n    r = list(talk.map(range(50)))"
    ).ok()
    assert notebook.value("sorted(heard.getvalue().splitlines())") == repr(expected)


def test_lines_of_a_task_that_outlasts_its_cell(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run(WAIT.format(folder=str(tmp_path))).ok()
    notebook.run("%%parallel\ndef late(i):\n    wait_for()\n    for k in range(15): print('late', i, k)").ok()
    first = notebook.run("a = [late(i) for i in range(2)]").ok()
    (tmp_path / "gate").touch()
    second = notebook.run("r = [each.result() for each in a]\nprint('other cell')").ok()
    notebook.run("1").ok()
    while "30 lines printed by 2 calls of late" not in str(list(first.displays.values())):
        notebook.wait(lambda message: message["header"]["msg_type"] == "update_display_data")
    assert "late" not in second.stdout
    assert len(first.stdout.splitlines()) == 21


def test_live(notebook: Notebook, tmp_path: Path) -> None:
    """While tasks print, it opens at a click and stays open; when they have, no widget is left."""
    notebook.run(WAIT.format(folder=str(tmp_path))).ok()
    notebook.run("%%parallel\ndef slow(i):\n    print('slow', i)\n    if i == 59: wait_for()").ok()
    output = notebook.start("r = list(slow.map(range(60), ordered=False))")
    assert WIDGET in notebook.wait(is_display)["content"]["data"]

    def tells_lines(message: dict[str, Any]) -> bool:
        return "60 lines printed by" in str(message["content"].get("data", {}).get("state", {}))

    notebook.wait(tells_lines)
    (tmp_path / "gate").touch()
    notebook.finish(output).ok()
    assert WIDGET not in folded(output)
    assert "60 lines printed by 60 calls of slow" in folded(output)["text/plain"]
    assert notebook.value("len(__import__('ipywidgets').Widget.widgets)") == "0"
