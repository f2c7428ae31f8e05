"""The notebook about other libraries runs, and each library has the results that it has by itself."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.notebook
NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "05_ecosystem.ipynb"


EVERY = ("dask", "joblib", "sklearn", "pandas", "parsl", "scipy")


@pytest.mark.parametrize("names", [("dask", "pandas"), pytest.param(EVERY, marks=pytest.mark.long)], ids=len)
def test_every_library_has_its_own_results(executed: Any, names: tuple[str, ...]) -> None:
    """Every day without those whose import takes the kernel, and its workers, a second each."""
    document = nbformat.read(NOTEBOOK, as_version=4)
    (beginning,) = [cell for cell in document.cells if repr(EVERY).replace("'", '"') in cell.source]
    beginning.source = beginning.source.replace(repr(EVERY).replace("'", '"'), repr(names))
    (forests,) = [cell for cell in document.cells if "RandomForestClassifier(40" in cell.source]
    forests.source = forests.source.replace("Classifier(40", "Classifier(4")
    executed(document, 240)
    (output,) = document.cells[-1].outputs
    found = ast.literal_eval(output.data["text/plain"])
    assert {"multiprocessing", "asyncio", "pandas"} <= found.keys()
    assert ("scikit-learn" in found) is ("sklearn" in names)
    assert all(found.values()), found
