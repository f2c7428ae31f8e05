"""Errors in cells of a real kernel: they end at the user's line."""

from __future__ import annotations

import re

import pytest

from tests.support.notebook import Notebook

HALF = "%%parallel\ndef half(x):\n    if x % 2:\n        raise ValueError(f'{x} is odd')\n    return x // 2"
CELLS = {
    "a call": "half(3).result()",
    "a map": "list(half.map([2, 3]))",
    "through a helper": "def all_of(xs):\n    return sorted(half.map(xs))\nall_of([2, 3])",
    "a truth": "half(2) and 1",
    "a bad option": "half.options(retries=-1)",
    "a bad argument": "half.map(2)",
    "a time limit": "import time\ncellmill.parallel(time.sleep, timeout=0.05)(5).result()",
    "an input": "def inputs():\n    yield 2\n    raise KeyError('no more')\nlist(half.map(inputs()))",
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_no_line_of_the_library_is_shown(notebook: Notebook, cell: str) -> None:
    notebook.run("import cellmill").ok()
    notebook.run(HALF).ok()
    failed = notebook.run(cell)
    assert failed.status == "error"
    assert "kernel_runtime/cellmill" not in failed.traceback
    assert "site-packages/cellmill" not in failed.traceback
    assert f"----> {len(cell.splitlines())} " in failed.traceback


def test_one_header_and_the_numbers_of_cells(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef half(x):\n    return quarter(x)\ndef quarter(x):\n    return 1 / x").ok()
    failed = notebook.run("half(0).result()").traceback
    number = int(notebook.value("len(In) - 1")) - 1
    assert failed.count("RemoteTraceback") == 1
    assert failed.count("(most recent call last)") == 1
    assert f"Cell In[{number - 1}], line 3, in half\n    return quarter(x)\n" in failed
    assert f"Cell In[{number - 1}], line 5, in quarter\n    return 1 / x\n" in failed
    assert f"Cell In[{number}], line 1\n----> 1 half(0).result()" in failed
    assert failed.endswith("ZeroDivisionError: division by zero\nin half(0)")
    assert "failed resolving arguments" not in failed
    printed = notebook.run(
        "import traceback\ntry: half(0).result()\nexcept ArithmeticError: traceback.print_exc()"
    )
    assert f"Cell In[{number - 1}], line 5, in quarter" in printed.stderr


def test_every_kind_of_cell_names_its_item(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef half(x):\n    return 1 / x").ok()
    assert "in half(0)" in notebook.run("half(0).result()").traceback
    assert "in element 1 of a map: half(0)" in notebook.run("list(half.map([1, 0]))").traceback
    assert "in half(0)" in notebook.run("half.options(batch=True)(0).result()").traceback
    assert "item 1 (0)" in notebook.run("%%pfor x in [1, 0]\n1 / x").traceback
    notebook.run("%%task prep\n1 / 0").ok()
    failed = notebook.run("prep.result()").traceback
    assert failed.endswith("in prep()")
    notebook.run("%%task fit after prep\n2").ok()
    assert "the task did not run: its input prep(), task #" in notebook.run("fit.result()").traceback


def test_a_cancelled_task_says_by_whom(notebook: Notebook) -> None:
    notebook.run("%%task long\nimport time\ntime.sleep(600)").ok()
    assert notebook.value("long.cancel(force=True)") == "True"
    failed = notebook.run("long.result()").traceback
    assert re.search(
        r"CancelledError: %%task long, task #\d+, was cancelled by cancel\(.*\) of its future$", failed
    )
    notebook.run("%%parallel\ndef half(x):\n    return 1 / x").ok()
    notebook.run("%cellmill pause\nlater = half(2)\nmany = half.map(range(1, 3001))").ok()
    notebook.run("%cellmill stop").ok()
    failed = notebook.run("later.result()").traceback
    assert re.search(r"CancelledError: half\(2\), task #\d+, was cancelled by %cellmill stop$", failed)
    failed = notebook.run("list(many)").traceback
    assert (
        "half(1), element 0 of a map, was cancelled by %cellmill stop: 0 of 3,000 elements were done"
        in failed
    )
    notebook.run("%cellmill resume").ok()


def test_the_number_of_a_task_leads_to_it(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef half(x):\n    return 1 / x").ok()
    failed = notebook.run("half(0).result()").traceback
    found = re.search(r"RemoteTraceback: task #(\d+), most recent call last", failed)
    assert found is not None
    for line in (f"%why {found[1]}", f"%why #{found[1]}"):
        said = notebook.run(line).ok().stdout
        assert (
            f"It does not wait: task #{found[1]}, half(0), failed with ZeroDivisionError: division by zero"
            in said
        )


def test_all_lines_on_demand(notebook: Notebook) -> None:
    notebook.run(HALF).ok()
    assert "with lines of Cellmill's own" in notebook.run("%cellmill traceback full").ok().stdout
    try:
        assert "cellmill/futures.py" in notebook.run("half(3).result()").traceback
    finally:
        notebook.run("%cellmill traceback short").ok()
    assert "cellmill/futures.py" not in notebook.run("half(3).result()").traceback
    wrong = notebook.run("%cellmill traceback ful")
    assert "traceback is full or short, not 'ful'" in (wrong.traceback or "") + wrong.stderr


def test_the_debugger_stands_at_the_users_line(notebook: Notebook) -> None:
    notebook.run(HALF).ok()
    assert notebook.run("half(3).result()").status == "error"
    notebook.run("import sys, traceback").ok()
    assert "half(3).result()" in notebook.value("traceback.extract_tb(sys.last_traceback)[-1].line")


@pytest.mark.parametrize("magic", ["speedup", "parallel"])
def test_a_magic_that_runs_the_cell_does_not_stand_between(notebook: Notebook, magic: str) -> None:
    failed = notebook.run(f"%%{magic}\ndef bad(x):\n    return 1 / x\n\ny = bad.__name__\n1 / 0")
    assert "----> 6 1 / 0" in failed.traceback
    assert "run_cell_magic" not in failed.traceback
    notebook.run("import sys, traceback").ok()
    names = notebook.value("[frame.name for frame in traceback.extract_tb(sys.last_traceback)]")
    assert "run_cell_magic" not in names
    assert names.count("<module>") == 1
