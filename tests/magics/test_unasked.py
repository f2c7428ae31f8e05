"""Failures whose results were not asked for, in a notebook: told once, in the cell that made the call."""

from __future__ import annotations

import pytest

from tests.magics.test_waiting import run_by_program
from tests.support.notebook import Notebook, Output

ODD = """
%%parallel
def odd(x, name=""):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x
"""
ASKED = "and its result was not asked for"


@pytest.fixture(autouse=True)
def defined(notebook: Notebook) -> None:
    notebook.run("import cellmill").ok()
    notebook.run(ODD.strip()).ok()


def told(notebook: Notebook, output: Output, words: str = ASKED) -> str:
    """Wait until the cell says so."""
    if words not in output.stderr:
        notebook.wait(lambda _: words in output.stderr)
    return output.stderr


def test_a_dropped_one_is_told_in_its_cell(notebook: Notebook) -> None:
    said = told(notebook, notebook.run("odd(3, name='a.csv'); None").ok())
    assert said.startswith("cellmill: odd(3, name='a.csv'), task #")
    assert "ValueError: 3 is odd. To see it fail under the debugger: %cellmill debug " in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("cell", ["odd(5)", "kept = odd(5)"])
def test_one_that_is_kept_is_told_once_the_kernel_idles(notebook: Notebook, cell: str) -> None:
    output = notebook.run(cell).ok()
    said = told(notebook, output)
    assert "odd(5), task #" in said
    assert ".result() of its future" in said
    notebook.run("_ = 1").ok()
    assert output.stderr.count(ASKED) == 1


def test_a_later_cell_hears_nothing_of_it(notebook: Notebook) -> None:
    first = notebook.run("odd(7); None").ok()
    second = notebook.run("import time; time.sleep(0.3)").ok()
    told(notebook, first)
    assert second.stderr == ""


def test_what_the_next_cell_asks_for_is_not_told(notebook: Notebook) -> None:
    first = notebook.start("futures = [odd(x) for x in range(6)]")
    second = notebook.start("print([type(f.exception()).__name__ for f in futures])")
    notebook.finish(first)
    assert notebook.finish(second).stdout.count("ValueError") == 3
    mark = notebook.run("odd(9); None").ok()  # told later than those would be
    told(notebook, mark)
    assert first.stderr == second.stderr == ""


def test_tasks_and_loops_tell_by_themselves(notebook: Notebook) -> None:
    cells = ["%%task t\n1 / 0", "%%pfor x in range(2) -> out\n1 // x", "list(odd.map([1, 2]))"]
    outputs = [notebook.run(cell) for cell in cells]
    told(notebook, notebook.run("odd(11); None").ok())
    assert not any(ASKED in output.stderr for output in outputs)


def test_where_a_program_runs_the_notebook(notebook: Notebook) -> None:
    output = run_by_program(notebook, "for x in range(4): odd(x)").ok()
    said = output.stderr
    assert "2 tasks of odd failed" in said or ("odd(1), task #" in said and "odd(3), task #" in said)


def test_inner_calls_leave_the_kernel_silent(notebook: Notebook) -> None:
    notebook.run(
        "%%parallel\ndef outer(x):\n    import cellmill, warnings\n    warnings.simplefilter('ignore')\n"
        "    cellmill.Executor().submit(int, 'no number')\n    return x"
    ).ok()
    output = notebook.run("print(outer(1).result())").ok()
    told(notebook, notebook.run("odd(13); None").ok())
    assert (output.stdout, output.stderr) == ("1\n", "")
