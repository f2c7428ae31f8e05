"""Copies of syntax trees, of which parts are shared by all trees of a process."""

from __future__ import annotations

import ast
from pathlib import Path

from cellmill.magics import syntax
from tests.support.notebook import Notebook


def test_a_copy_is_equal_and_of_new_nodes() -> None:
    tree = ast.parse(Path(syntax.__file__).read_text()).body
    made = syntax.copied(tree)
    assert [ast.dump(each, include_attributes=True) for each in made] == [
        ast.dump(each, include_attributes=True) for each in tree
    ]
    known = {id(node) for each in tree for node in ast.walk(each) if node._fields}
    assert not known & {id(node) for each in made for node in ast.walk(each)}


def test_what_others_hang_on_shared_nodes_is_not_copied(notebook: Notebook) -> None:
    """IPython's errors have their file's tree there, and copies of that took seconds; here it has no copy at all."""
    notebook.run(
        "import ast, threading\nshared = ast.parse('a').body[0].value.ctx\nshared.parent = threading.Lock()\n"
        "total, rows = 0, []"
    ).ok()
    notebook.run("%%pfor x in range(3) -> out\ntotal += x\nrows.append(x)\nx").ok()
    notebook.run("%%speedup\nfor x in range(3):\n    rows.append(x)").ok()
    assert notebook.value("out, total, rows") == "([0, 1, 2], 3, [0, 1, 2, 0, 1, 2])"
    notebook.run("del shared.parent").ok()
