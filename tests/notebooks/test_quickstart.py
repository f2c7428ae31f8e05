"""The quickstart runs from top to bottom in a real kernel, and shows what its text promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def _text(cell: Any) -> str:
    parts = []
    for output in cell.get("outputs", []):
        parts.append(output.get("text", ""))
        parts.append(output.get("data", {}).get("text/plain", ""))
    return "".join(parts)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.notebook
def test_the_quickstart_runs_and_shows_what_it_says(executed: Any) -> None:
    document = nbformat.read(EXAMPLES / "01_quickstart.ipynb", as_version=4)
    executed(document, 120)
    shown = {cell.source: _text(cell) for cell in document.cells if cell.cell_type == "code"}
    assert shown["future.result()"] == "111"
    assert shown["await collatz(97)"] == "118"
    assert shown["add(collatz(27), collatz(97)).result()"] == "229"
    assert shown["sum(square.map(range(100_000)))"] == "333328333350000"
    assert shown["lengths"] == "[5, 3, 4, 5, 8]"
    assert shown["widest"] == "86"
    error = next(text for source, text in shown.items() if "traceback.print_exc" in source)
    assert "ZeroDivisionError" in error
    assert "return 1 / x" in error, "the traceback shows the line of the cell"
    status = shown["%cellmill"]
    assert "worker" in status
