"""What a `%%task` cell is given of the notebook, and what refers to it when the cell is over, in a real kernel."""

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


def test_parts_of_the_notebook_s_variables_are_its_own(notebook: Notebook) -> None:
    notebook.run(
        "import numpy as np\nrows, cells = [[1], [2]], np.arange(5)\ndef f(): return 1\n"
        "class Box:\n    def add(self): return 2\nbox = Box()\nbox.rows = rows\nother = rows\nadds = {'of': Box().add}"
    ).ok()
    notebook.run(
        "%%task a\nimport copy\nrows = rows[:1]\ninner = other[1]\nview = cells[1:]\nheld = [f, box.add]\n"
        "twin = copy.copy(box)\nalike = dict(adds)"
    ).ok()
    assert notebook.value("a.result(30), rows[0] is other[0], inner is other[1]") == "(None, True, True)"
    assert notebook.value("held[0] is f, held[1] == box.add, twin.rows is other, alike == adds") == str(
        (True,) * 4
    )
    notebook.run("view[0] = 7").ok()
    assert notebook.value("cells.tolist()") == "[0, 7, 2, 3, 4]"


def test_an_array_that_a_task_leaves_can_be_written_to(notebook: Notebook) -> None:
    """Also where it is no view of the notebook's."""
    notebook.run("import numpy as np\ngrid = np.zeros((4, 4)).T[1:]").ok()
    notebook.run("%%task a\nrow = grid[1]\ngrid = None").ok()
    assert (
        notebook.value("a.result(30), row.flags.writeable, row.tolist()")
        == "(None, True, [0.0, 0.0, 0.0, 0.0])"
    )


def test_what_is_changed_while_a_task_runs_is_the_same_part(notebook: Notebook) -> None:
    notebook.run(GATE + "rows = [[1], [2], [3]]\nlast = rows[2]").ok()
    notebook.run("%%task a\nwait_for_gate()\nfound = rows[2]").ok()
    notebook.run("del rows[0]\nrows.append([4])\ngate.touch()\na.result(30)").ok()
    assert notebook.value("found is last") == "True"


def test_functions_that_a_task_makes_read_the_notebook_s_variables(notebook: Notebook) -> None:
    """Wherever they are."""
    notebook.run("k = 1").ok()
    notebook.run(
        "%%task a\nimport functools\nclass C:\n    def m(self): return k\ntable = {'f': lambda: k}\n"
        "@functools.cache\ndef cached(): return k"
    ).ok()
    notebook.run("a.result(30)\nk = 7").ok()
    assert notebook.value("C().m(), table['f'](), cached()") == "(7, 7, 7)"


def test_what_a_task_takes_of_one_before_is_the_same_object(notebook: Notebook) -> None:
    notebook.run(GATE + "rows = [[0], [0]]").ok()
    notebook.run(
        "%%task a\nwait_for_gate()\ntable = [1, [2]]\nheads = {'rows': rows[:1]}\ndef f(): return table"
    ).ok()
    notebook.run(
        "%%task b after a\nmodel = {'table': table, 'f': f}\nbest = table\npart = table[1]\nhead = heads['rows'][0]"
    ).ok()
    notebook.run("rows.insert(0, 'new')").ok()
    notebook.run("%%task c after b\nsame = best is model['table']\nbest = model").ok()
    assert notebook.value("gate.touch(), c.result(30), model['table'] is table") == "(None, None, True)"
    assert notebook.value("model['f'] is f, best is model, same, f() is table") == "(True, True, True, True)"
    assert notebook.value("part is table[1], head is rows[1]") == "(True, True)"


def test_a_change_of_what_another_name_has_is_said_where_the_cell_binds_its_name_anew(
    notebook: Notebook,
) -> None:
    notebook.run(GATE + "rows, alone = [1], [1]\nother = rows").ok()
    task = "rows.append(2)\nalone.append(2)\nrows, alone = list(rows), list(alone)"
    notebook.run(f"%%task a\nwait_for_gate()\n{task}").ok()
    said = notebook.run("gate.touch()\na.result(30)").ok().stderr
    assert "task a changed rows in place, in its worker" in said
    assert notebook.value("rows, alone, other") == "([1, 2], [1, 2], [1])"


def test_after_a_task_means_after_those_before_it(notebook: Notebook) -> None:
    notebook.run(GATE + "x = y = 'old'").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1").ok()
    notebook.run("%%task b after a\ny = x + 1").ok()
    notebook.run("%%task c after b\nz = x, y, 'a' in globals()").ok()
    assert notebook.value("gate.touch(), c.result(30), z") == "(None, None, (1, 2, False))"


def test_of_tasks_before_the_later_cell_s_value_holds(notebook: Notebook) -> None:
    notebook.run(GATE + "x = 'old'").ok()
    notebook.run("%%task a\nwait_for_gate()\nx = 1").ok()
    notebook.run("%%task b\nwait_for_gate()\nx = 2").ok()
    notebook.run("%%task c after b, a\nz = x").ok()
    assert notebook.value("gate.touch(), c.result(30), z, x") == "(None, None, 2, 2)"


def test_a_global_that_a_function_of_the_cell_sets_arrives(notebook: Notebook) -> None:
    notebook.run("k = 1").ok()
    notebook.run("%%task a\ndef count():\n    global k\n    k += 1\ncount()").ok()
    assert notebook.run("a.result(30)\nprint(k)").ok().stdout == "2\n"


def test_a_function_of_a_task_before_that_reads_what_has_changed_since_is_refused(notebook: Notebook) -> None:
    notebook.run(GATE + "k = 1").ok()
    notebook.run("%%task a\nwait_for_gate()\ndef inner(): return k\ndef f(): return inner()").ok()
    notebook.run("%%task b after a\nx = f()").ok()
    notebook.run("k = 2").ok()
    output = notebook.run("%%task c after a\ny = f()")
    assert output.error is not None
    assert "f, which a defines, reads k, which has another value since" in output.error["evalue"]
    notebook.run("gate.touch()\nb.result(30)").ok()
    notebook.run("%%task d after a\ny = f()").ok()
    assert notebook.value("d.result(30), x, y") == "(None, 1, 2)"
    notebook.run("%%task a\ntable = 5").ok()
    notebook.run("%%task b after a\ndef f(): return table").ok()
    notebook.run("%%task c after b\ny = f()").ok()
    assert notebook.value("c.result(30), y") == "(None, 5)"
