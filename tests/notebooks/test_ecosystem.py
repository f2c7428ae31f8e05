"""The notebook about other libraries runs, and each library has the results that it has by itself."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.notebook
NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "05_ecosystem.ipynb"


def test_every_library_has_its_own_results(executed: Any) -> None:
    document = nbformat.read(NOTEBOOK, as_version=4)
    (forests,) = [cell for cell in document.cells if "RandomForestClassifier(40" in cell.source]
    forests.source = forests.source.replace("Classifier(40", "Classifier(4")
    executed(document, 240)
    (output,) = document.cells[-1].outputs
    found = ast.literal_eval(output.data["text/plain"])
    assert {"multiprocessing", "asyncio", "pandas", "scikit-learn"} <= found.keys()
    assert all(found.values()), found
