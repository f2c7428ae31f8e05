"""Errors in cells of a real kernel: they end at the user's line."""

from __future__ import annotations

import pytest

from tests.magics.notebook import Notebook

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
