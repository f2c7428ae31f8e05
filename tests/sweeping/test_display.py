"""A sweep in a real kernel: what its cell shows, what it leaves, and what it says where Bokeh is missing."""

from __future__ import annotations

from typing import Any

from cellmill_widgets.dashboard import VIEW
from tests.support.notebook import GATE, Notebook
from tests.support.waiting import until

SWEEP = """
import cellmill
def f(x, kind="a"):
    if x == 3:
        raise ValueError("three")
    return x * x
sweep = cellmill.sweep(f, x=[1, 2, 3], kind=["a", "b"])
"""


def shown(message: dict[str, Any], text: str) -> bool:
    data = message["content"].get("data", {})
    return message["header"]["msg_type"] == "update_display_data" and text in data.get("text/plain", "")


def test_the_display_follows_and_rests_as_a_picture(notebook: Notebook) -> None:
    notebook.run(SWEEP).ok()
    (data,) = notebook.run("sweep").ok().displays.values()
    assert data["text/plain"] == "Sweep of f: 0 of 6 points done"
    assert VIEW in data
    assert "<img" not in data["text/html"]
    notebook.run("sweep.run();").ok()
    rested = notebook.wait(lambda message: shown(message, "4 of 6 points done, 2 failed"))
    html = rested["content"]["data"]["text/html"]
    assert 'src="data:image/svg+xml;base64,' in html
    assert "ValueError: three" in html
    (again,) = notebook.run("sweep").ok().displays.values()
    assert again[VIEW] == data[VIEW]  # the same controls


def test_points_that_begin_are_shown_before_any_ends(notebook: Notebook) -> None:
    notebook.run(GATE).ok()
    notebook.run(
        "import cellmill\ndef f(x):\n    wait_for_gate()\n    return x\nsweep = cellmill.sweep(f, x=[1, 2])\nsweep"
    ).ok()
    line = "sweep._display._controls._progress.value"
    notebook.run("cellmill.pause()\nsweep._display.run()").ok()
    until(lambda: "0 of 2 points done, 2 waiting" in notebook.value(line))
    notebook.run("cellmill.resume()").ok()
    until(lambda: "0 of 2 points done, 2 running" in notebook.value(line))
    notebook.run("gate.touch()").ok()
    until(lambda: "2 of 2 points done" in notebook.value(line))


def test_controls_are_made_from_the_axes(notebook: Notebook) -> None:
    notebook.run(SWEEP).ok()
    notebook.run(
        "class Kind(__import__('enum').Enum):\n    A = 1\n    B = 2\n"
        "def g(x, up=range, on: bool = True, kind: Kind = Kind.B, odd=3):\n    return 1.0\n"
        "made = cellmill.sweep(g, x=[1, 2], odd=[3, 1, 2])\nmade"
    ).ok()
    kinds = "[type(each).__name__ for each in made._display._controls._axes]"
    assert notebook.value(kinds) == "['SelectionSlider', 'Checkbox', 'Dropdown', 'Dropdown']"
    values = "[each.value for each in made._display._controls._axes]"
    assert notebook.value(values) == "[0, True, 1, 0]"


def test_a_control_that_moves_runs_its_point_and_errors_are_shown(notebook: Notebook) -> None:
    notebook.run(SWEEP).ok()
    notebook.run("sweep").ok()
    moved = "sweep._display._controls._axes[0].value = 1"
    notebook.run(moved).ok()
    notebook.wait(lambda message: shown(message, "1 of 6 points done"))
    assert notebook.value("sweep.rows()") == "[{'x': 2, 'kind': 'a', 'result': 4, 'error': None}]"
    notebook.run("with cellmill.Executor(1) as ex: pass").ok()
    notebook.run("sweep._called = cellmill.parallel(executor=ex)(f)").ok()
    notebook.run("sweep._display._controls._axes[0].value = 0").ok()
    notebook.wait(lambda message: "cannot schedule" in str(message["content"].get("data")))
    assert "RuntimeError: cannot schedule new futures after shutdown" in notebook.value(
        "sweep._display._said"
    )


def test_without_bokeh_it_says_what_is_missing(notebook: Notebook) -> None:
    notebook.run(SWEEP).ok()
    notebook.run(
        "import sys; from cellmill_widgets.sweep import plot\nplot._class = None\nsys.modules['bokeh'] = None"
    ).ok()
    try:
        (data,) = notebook.run("sweep").ok().displays.values()
    finally:
        notebook.run("del sys.modules['bokeh']").ok()
    assert "controls and a live plot need bokeh: pip install 'cellmill[sweep]'" in data["text/plain"]
    assert "cellmill[sweep]" in data["text/html"]
    assert VIEW not in data
