"""The page of all figures: how far each is from what is wanted, the table, the reports. Importing this needs bokeh."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from cellmill.bench.harness import figure as number
from cellmill.bench.page import OURS_COLOR, WIDTH, block, document_of, parts, write

from .figures import NAME, QUESTION, Figures, Row, text

_models, _plotting = (import_module(f"bokeh.{part}") for part in ("models", "plotting"))
_MET_COLOR = "#2e7d32"


def write_page(figures: Figures, path: Path) -> None:
    """Write the page."""
    blocks = [block(f"<h1>figures</h1><p>{html.escape(QUESTION)}</p>"), _chart(figures.rows)]
    blocks.append(block(f"<pre>{html.escape(text(figures))}</pre>"))
    for report in figures.reports:
        blocks += parts(report)
    write(path, document_of(blocks, NAME))


def _chart(rows: Sequence[Row]) -> Any:
    """How far each figure is beyond what is wanted (right of the line) or short of it."""
    names, ratios = [], []
    for place, row in enumerate(rows, 1):
        if row.value:
            value, wanted = row.value, row.goal.wanted
            names.append(f"{place}: {row.goal.what}"[:60])
            ratios.append(value / wanted if row.goal.better == "higher" else wanted / value)
    plot = _plotting.figure(
        title="reached, over what is wanted (right of the line: met)",
        y_range=list(reversed(names)) or ["-"],
        x_axis_type="log",
        width=WIDTH,
        height=90 + 24 * len(names),
        toolbar_location=None,
    )
    colors = [_MET_COLOR if ratio >= 1 else OURS_COLOR for ratio in ratios]
    source = _models.ColumnDataSource(
        {"name": names, "ratio": ratios, "text": [f"{number(r)}x" for r in ratios], "color": colors}
    )
    plot.scatter("ratio", "name", source=source, color="color", size=11)
    plot.text("ratio", "name", "text", source=source, x_offset=8, y_offset=-4, text_font_size="11px")
    plot.add_layout(_models.Span(location=1, dimension="height", line_dash="dashed"))
    return plot
