"""What functions that a `%%task` cell is given read by name, in a real kernel."""

from __future__ import annotations

import pytest

from tests.support.notebook import GATE, Notebook

GIVEN = """
k = 1
def f(): return k
class Counts:
    def value(self): return k
boxes = [Counts()]
import math
def area(r): return math.pi * r
"""


@pytest.mark.parametrize("use", ["f()", "boxes[0].value()", "Counts().value()"])
def test_a_cell_that_assigns_what_its_functions_read_is_refused(notebook: Notebook, use: str) -> None:
    """In a task these have what was there before."""
    notebook.run(GIVEN).ok()
    output = notebook.run(f"%%task a\nk = 5\ny = {use}")
    assert output.error is not None
    assert "comes with code that reads k, which the cell assigns" in output.error["evalue"]
    assert notebook.run(f"%%task a\ny = {use}\na.result()").error is None


def test_a_cell_that_comes_after_one_that_assigns_it_is_refused(notebook: Notebook) -> None:
    notebook.run(GATE + GIVEN).ok()
    notebook.run("%%task a\nwait_for_gate()\nk = 5").ok()
    output = notebook.run("%%task b after a\ny = f()")
    assert output.error is not None
    assert "reads k, which a assigns; wait for that task first (a.result())" in output.error["evalue"]
    notebook.run("gate.touch()\na.result(30)").ok()
    notebook.run("%%task b after a\ny = f()").ok()
    assert notebook.value("b.result(30), y") == "(None, 5)"


def test_a_cell_that_makes_its_functions_itself_can_run_again(notebook: Notebook) -> None:
    notebook.run(GIVEN).ok()
    cell = (
        "%%task a\nimport math\ndef even(n): return n == 0 or odd(n - 1)\nlimit = 8\n"
        "def odd(n): return n != 0 and even(n - 1)\nx = even(limit), area(0)"
    )
    for _ in range(2):
        notebook.run(cell).ok()
        assert notebook.value("a.result(30), x") == "(None, (True, 0.0))"
