"""The plots of a report, by Bokeh. They have no colours of text and grid: the page sets these by its look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from .figures import BARS, MOST_FUNCTIONS, Figures

COLOURS = ("#3b82c4", "#d9822b", "#3a9d5d", "#b5508c", "#8a6fc9", "#b8a12a", "#4aa3a2", "#c0504d")
_FAILED = "#c03030"
_TOOLS = "xpan,xwheel_zoom,box_zoom,reset"


def _figure(title: str, x: str, y: str, height: int = 240, **how: Any) -> Any:
    made = figure(
        title=title,
        height=height,
        sizing_mode="stretch_width",
        tools=_TOOLS,
        toolbar_location="right",
        background_fill_alpha=0,
        border_fill_alpha=0,
        x_axis_label=x,
        y_axis_label=y,
        output_backend="canvas",
        **how,
    )
    made.outline_line_alpha = 0.2
    if y:
        made.yaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
    made.toolbar.logo = None
    return made


def _legend(made: Any) -> None:
    for legend in made.legend:
        legend.background_fill_alpha = 0
        legend.border_line_alpha = 0
        legend.location = "top_right"


def throughput(sides: Sequence[tuple[str, Figures]]) -> Any:
    """Tasks a second over time."""
    made = _figure(
        "Throughput", "seconds since the first call", "tasks a second", y_range=_from_zero("rate", sides)
    )
    for (name, figures), colour in zip(sides, COLOURS, strict=False):
        more = {"legend_label": name} if len(sides) > 1 else {}
        made.line(figures.curves["at"], figures.curves["rate"], color=colour, line_width=2, **more)
    _legend(made)
    return made


def queue(sides: Sequence[tuple[str, Figures]]) -> Any:
    """Waiting and running tasks over time."""
    made = _figure("Queue", "seconds since the first call", "tasks", y_range=_from_zero("waiting", sides))
    for at, (name, figures) in enumerate(sides):
        prefix = f"{name}: " if len(sides) > 1 else ""
        curves = figures.curves
        made.line(
            curves["at"],
            curves["waiting"],
            color=COLOURS[2 * at],
            line_width=2,
            legend_label=f"{prefix}waiting",
        )
        made.line(
            curves["at"],
            curves["running"],
            color=COLOURS[2 * at + 1],
            line_width=2,
            legend_label=f"{prefix}running",
        )
    _legend(made)
    return made


def _from_zero(name: str, sides: Sequence[tuple[str, Figures]]) -> Range1d:
    most = max(float(figures.curves[name].max(initial=0)) for _, figures in sides)
    if name == "waiting":
        most = max(most, *(float(figures.curves["running"].max(initial=0)) for _, figures in sides))
    return Range1d(start=0, end=1.1 * most or 1)


def histogram(name: str, sides: Sequence[tuple[str, np.ndarray]]) -> Any:
    """How many tasks of a function ran how long, on a logarithmic scale."""
    every = np.concatenate([seconds for _, seconds in sides])
    low, high = max(float(every.min()), 1e-9), max(float(every.max()), 1e-9)
    edges = np.geomspace(low, max(high, 1.0001 * low), BARS + 1)
    made = _figure(f"Run times of {name}", "seconds", "tasks", 200, x_axis_type="log")
    for (label, seconds), colour in zip(sides, COLOURS, strict=False):
        counts, _ = np.histogram(np.clip(seconds, edges[0], edges[-1]), edges)
        more = {"legend_label": label} if len(sides) > 1 else {}
        made.quad(
            left=edges[:-1],
            right=edges[1:],
            bottom=0,
            top=counts,
            fill_color=colour,
            fill_alpha=0.6,
            line_color=colour,
            **more,
        )
    made.y_range.start = 0
    _legend(made)
    return made


def timeline(figures: Figures, title: str = "Timeline") -> Any:
    """What each worker did when: each task, or the share of the time that it was busy."""
    workers = [f"worker {number}" for number in figures.workers]
    height = min(700, 120 + 22 * len(workers))
    made = _figure(title, "seconds since the first call", "", height, y_range=workers[::-1] or [""])
    if not figures.drawn_one_by_one:
        made.hbar(
            y="worker",
            left="begin",
            right="end",
            height=0.8,
            fill_alpha="share",
            line_color=None,
            fill_color=COLOURS[0],
            source=ColumnDataSource(figures.shares),
        )
        return made
    bars = dict(figures.bars)
    order = [each.name for each in figures.functions[:MOST_FUNCTIONS]]
    bars["colour"] = [
        _FAILED
        if status not in ("done", "retried")
        else COLOURS[order.index(name)]
        if name in order
        else "#888888"
        for name, status in zip(bars["function"], bars["status"], strict=True)
    ]
    made.hbar(
        y="worker",
        left="begin",
        right="end",
        height=0.8,
        fill_color="colour",
        line_color=None,
        source=ColumnDataSource(bars),
    )
    return made
