"""A report as one self-contained HTML page. Importing this needs bokeh."""

from __future__ import annotations

import html
from importlib import import_module
from pathlib import Path
from typing import Any

from .harness import OURS, Metric, Report, table
from .harness import figure as number

_embed, _layouts, _models, _plotting, _resources = (
    import_module(f"bokeh.{part}") for part in ("embed", "layouts", "models", "plotting", "resources")
)
OURS_COLOR, _RIVAL_COLOR = "#d35400", "#607d8b"
WIDTH = 900


def write_page(report: Report, path: Path) -> None:
    """Write the page of a benchmark."""
    write(path, document(report))


def write(path: Path, page: str) -> None:
    """Write a page; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def document(report: Report) -> str:
    """The page: a dot with its range per runtime for each metric, the table, and what it was measured on."""
    return document_of(parts(report), report.benchmark)


def document_of(blocks: list[Any], name: str) -> str:
    """A page of bokeh models, one below the other."""
    page: str = _embed.file_html(_layouts.column(*blocks), _resources.INLINE, f"Cellmill benchmark: {name}")
    return page


def frame(report: Report, height: int = 600) -> str:
    """The page as an HTML element for a notebook, which needs no extension to draw it."""
    return (
        f'<iframe srcdoc="{html.escape(document(report))}" width="100%" height="{height}" '
        'style="border: 0; background: white"></iframe>'
    )


def parts(report: Report) -> list[Any]:
    """The blocks of a report's page."""
    charts = [_chart(report, metric) for metric in report.metrics]
    return [block(_heading(report)), *charts, block(_details(report))]


def block(content: str) -> Any:
    """HTML as a block of a page."""
    return _models.Div(text=content, width=WIDTH)


def _heading(report: Report) -> str:
    return f"<h1>{html.escape(report.benchmark)}</h1><p>{html.escape(report.question)}</p>"


def _chart(report: Report, metric: Metric) -> Any:
    rows = [r for r in report.results if r.metric == metric]
    names = [report.titles[r.runtime] for r in rows]
    log = bool(rows) and all(r.low > 0 for r in rows)
    low, high = min((r.low for r in rows), default=0.0), max((r.high for r in rows), default=1.0)
    plot = _plotting.figure(
        title=f"{metric.title.strip()} ({metric.unit}; {metric.better} is better)",
        y_range=list(reversed(names)) or ["-"],
        x_axis_type="log" if log else "linear",
        x_range=(low / 2, high * 4) if log else (0.0, 1.3 * high or 1.0),  # room for the figures
        width=WIDTH,
        height=90 + 30 * len(rows),
        toolbar_location=None,
    )
    source = _models.ColumnDataSource(
        {
            "name": names,
            "median": [r.median for r in rows],
            "low": [r.low for r in rows],
            "high": [r.high for r in rows],
            "color": [OURS_COLOR if r.runtime == OURS else _RIVAL_COLOR for r in rows],
            "text": [number(r.median) for r in rows],
            "ratio": ["" if (x := report.ratio(r)) is None else f"{number(x)}x" for r in rows],
        }
    )
    plot.segment("low", "name", "high", "name", source=source, color="color", line_width=3)
    dots = plot.scatter("median", "name", source=source, color="color", size=11)
    plot.text("median", "name", "text", source=source, x_offset=8, y_offset=-4, text_font_size="11px")
    tips = [("", "@name"), ("median", "@text"), ("Cellmill is better by", "@ratio")]
    plot.add_tools(_models.HoverTool(renderers=[dots], tooltips=tips))
    return plot


def _details(report: Report) -> str:
    facts = {**report.machine, **report.versions, "commit": report.commit, "created": report.created}
    listed = "".join(f"<li>{html.escape(str(k))}: {html.escape(str(v))}</li>" for k, v in facts.items())
    return f"<pre>{html.escape(table(report))}</pre><ul>{listed}</ul>"
