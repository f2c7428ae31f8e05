"""The notebook that compares backends runs on all that are installed, and draws their journeys side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = [pytest.mark.notebook, pytest.mark.usefixtures("chemistry")]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _shown(document: Any, line: str) -> Any:
    """The outputs of the cell that begins with this line."""
    return next(c for c in document.cells if c.cell_type == "code" and c.source.startswith(line)).outputs


EVERY = "local threads dask ray"


@pytest.mark.parametrize("names", ["local threads", pytest.param(EVERY, marks=pytest.mark.long)])
def test_the_backends_side_by_side(executed: Any, names: str) -> None:
    """Every day without clusters, whose workers take seconds to import what the model needs."""
    from docking.compare import available

    document = nbformat.read(EXAMPLES / "03_backends.ipynb", as_version=4)
    parameters = document.cells[2]
    assert "MOLECULES = 2_000" in parameters.source
    assert "WORKERS = 2" in parameters.source
    parameters.source = parameters.source.replace("2_000", "200").replace("WORKERS = 2", "WORKERS = 1")
    (making,) = [cell for cell in document.cells if "model = inference.model()" in cell.source]
    if names != EVERY:  # one worker process imports the chemistry packages, not two
        making.source = making.source.replace("Executor(WORKERS)", "Executor(WORKERS, backend='threads')")
    (chosen,) = [cell for cell in document.cells if cell.source.startswith("reasons = compare.available()")]
    chosen.source = chosen.source.replace("available()", f"available({names.split()})")
    executed(document, 240)
    reasons = available(names.split())
    ready = [name for name, reason in reasons.items() if not reason]
    assert "local" in ready
    # bars are between the lines
    printed = "".join(output.get("text", "") for output in _shown(document, "measured = []"))
    assert [line.split()[0] for line in printed.splitlines()] == ready
    (same,) = _shown(document, "all(m.scores")
    assert same.data["text/plain"] == "True"
    (chart,) = _shown(document, "compare.chart")
    assert len(chart.data["image/png"]) > 10_000
    (table,) = _shown(document, "compare.table")
    for name in (*ready, "deliver", "collect", "molecules/s"):
        assert name in table.data["text/plain"]
    missing = [f"{name}: {reason}" for name, reason in reasons.items() if reason]
    if missing:
        pytest.skip(f"without {'; '.join(missing)}")
