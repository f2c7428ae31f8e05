"""Cells of loops and tasks find in the user's modules what the notebook has set there, as plain cells do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.notebook import Notebook

SOURCE = """
scale = 2

def scaled(x):
    return scale * x

class Model:
    rate = 1

    def of(self, x):
        return self.rate * x
"""
USES = {
    "by name": "own.scaled(x), own.scale, own.Model().of(x)",
    "imported in the cell": "import cellmill_test_cells as here\nhere.scaled(x), here.scale, here.Model().of(x)",
    "names of it": "from cellmill_test_cells import scaled, scale, Model\nscaled(x), scale, Model().of(x)",
    "a variable": "scaled(x), own.scale, model.of(x)",
    "a helper": "helper(x), own.scale, model.of(x)",
}
SET_UP = """
import importlib, sys
sys.modules.pop("cellmill_test_cells", None)
import cellmill_test_cells as own
from cellmill_test_cells import scaled
model = own.Model()
x = 3
def helper(x):
    return own.scaled(x)
"""


@pytest.mark.parametrize("uses", USES.values(), ids=USES)
def test_loops_and_tasks(notebook: Notebook, tmp_path: Path, uses: str) -> None:
    (tmp_path / "cellmill_test_cells.py").write_text(SOURCE)
    notebook.run(f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{SET_UP}").ok()
    for scale in (2, 5):
        notebook.run(f"own.scale = own.Model.rate = {scale}").ok()
        expected = str((3 * scale, scale, 3 * scale))
        notebook.run(f"%%pfor x in [3, 3] -> out\n{uses}").ok()
        assert notebook.value("out") == f"[{expected}, {expected}]"
        notebook.run("x = 3").ok()
        notebook.run(f"%%task done\n{uses}").ok()
        assert notebook.value("done.result()") == expected
    notebook.run("sys.path.pop(0)").ok()


def test_builtins_and_names_of_packages(notebook: Notebook) -> None:
    notebook.run("import builtins, colorsys\nbefore = builtins.divmod, colorsys.rgb_to_hsv").ok()
    notebook.run("builtins.divmod = lambda *_: 'mine'\ncolorsys.rgb_to_hsv = lambda *_: 'mine, too'").ok()
    try:
        notebook.run("%%pfor x in range(2) -> out\ndivmod(x, 1), colorsys.rgb_to_hsv(x, x, x)").ok()
        assert notebook.value("out") == "[('mine', 'mine, too'), ('mine', 'mine, too')]"
    finally:
        notebook.run("builtins.divmod, colorsys.rgb_to_hsv = before").ok()
