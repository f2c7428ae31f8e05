"""The notebook of the benchmarks runs from top to bottom, with tables, charts and the figures it read from them."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.benchmarks.test_benchmarks import SIZES

pytestmark = pytest.mark.notebook
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


BESIDE = """\
from dataclasses import replace

def beside(name):
    return quick if name == "throughput" else replace(quick, rivals=())
"""
"""One benchmark has rivals: each of them starts processes, and tests/bench has all."""


def _text(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs if output.get("name") == "stdout")


def _pages(cell: Any) -> list[str]:
    return [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]


def test_the_benchmarks_run_and_show_what_they_found(executed: Any) -> None:
    pytest.importorskip("bokeh")
    document = nbformat.read(EXAMPLES / "04_benchmarks.ipynb", as_version=4)
    (measure,) = [cell for cell in document.cells if "def measure(name)" in cell.source]
    assert "benchmarks.run(name, quick)" in measure.source
    source = measure.source.replace("run(name, quick)", f"run(name, beside(name), {SIZES}[name])")
    measure.source = f"{BESIDE}\n\n{source}"
    executed(document, 120)
    cells = {cell.source: cell for cell in document.cells if cell.cell_type == "code"}
    measured = {source: cell for source, cell in cells.items() if source.startswith("measure(")}
    assert len(measured) == 4
    for cell in measured.values():
        assert "cellmill is" in _text(cell)
        (page,) = _pages(cell)
        inside = html.unescape(page)
        assert "Bokeh" in inside
        assert not re.findall(r"<(?:script|link)[^>]+(?:src|href)=[\"']https?://[^\"']+", inside)
    wanted = next(_text(cell) for source, cell in cells.items() if "figures.read" in source)
    assert re.search(r"^1 +no-op submit, one future each .*[0-9] x +(met|NOT MET)$", wanted, re.MULTILINE)
    assert "Quick run: small sizes, not for quoting." in wanted
    last = document.cells[-1].outputs[0].data["text/plain"]
    assert {"cellmill", "ppe", "pool", "bare-ring"} <= set(re.findall(r"'([\w-]+)': \d+", last))
