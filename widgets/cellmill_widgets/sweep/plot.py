"""The live plot, by Bokeh, and the table beside it: a widget of anywidget's that loads BokehJS from the kernel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from cellmill_widgets.sweep.sheet import Chart, Choice, Places, Sheet, by_arrival, json_cell

_HERE = Path(__file__).parent
_MARKERS = ("circle", "square", "triangle")
_DASHES = ("solid", "dashed", "dotted")
_ROWS = 200
_class: Any = None


def make() -> Any:
    """The widget.

    Raises:
        ImportError: something that it needs is not installed; the message says what to do.
    """
    global _class
    if _class is None:
        try:
            import anywidget
            import bokeh
            import traitlets
            from bokeh.resources import Resources
        except ImportError as error:
            raise ImportError(
                f"controls and a live plot need {error.name or 'Bokeh'}: pip install 'cellmill[sweep]'"
            ) from None

        class SweepPlot(anywidget.AnyWidget):
            _esm = (_HERE / "plot.js").read_text()
            _css = (_HERE / "plot.css").read_text()
            version = traitlets.Unicode(bokeh.__version__).tag(sync=True)
            item = traitlets.Dict().tag(sync=True)
            data = traitlets.Dict().tag(sync=True)
            table = traitlets.Dict().tag(sync=True)
            note = traitlets.Unicode().tag(sync=True)

        def heard(widget: Any, content: Any, buffers: Any) -> None:
            if content.get("kind") == "library":
                script = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
                widget.send({"kind": "library"}, [script.encode()])

        def made() -> Any:
            widget = SweepPlot()
            widget.on_msg(heard)
            return widget

        _class = made
    return _class()


def shape(drawn: Chart) -> tuple[Any, ...]:
    """What a figure is made for; while it stays the same, new data are enough."""
    lines = tuple((line.label, line.colour) for line in drawn.lines)
    return drawn.x, drawn.y, drawn.by, drawn.ticks, drawn.log, lines


def figure(drawn: Chart) -> Any:
    """The figure as Bokeh's JSON; its sources have the names that `data` fills."""
    from bokeh.embed import json_item
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool
    from bokeh.plotting import figure as new_figure

    kind: Any = "log" if drawn.log else "linear"
    made: Any = new_figure(
        height=300,
        sizing_mode="stretch_width",
        x_axis_type=kind,
        x_axis_label=drawn.x,
        y_axis_label=drawn.y,
        tools="pan,box_zoom,wheel_zoom,reset,save",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
    )
    made.grid.grid_line_color = "#8886"
    made.toolbar.logo = None
    made.toolbar.autohide = True
    if drawn.ticks is not None:
        made.xaxis.ticker = FixedTicker(ticks=[*range(len(drawn.ticks))])
        made.xaxis.major_label_overrides = dict(enumerate(drawn.ticks))
    filled = data(drawn)
    dots: list[Any] = []
    for i, line in enumerate(drawn.lines):
        legend = {"legend_label": line.label} if line.label else {}
        way = filled[f"line-{i}"]
        heights = [math.nan if y is None else y for y in way["y"]]
        joined = ColumnDataSource({"x": way["x"], "y": heights}, name=f"line-{i}")
        made.line(
            "x", "y", source=joined, color=line.colour, line_width=2, line_dash=_DASHES[i % 3], **legend
        )
        source = ColumnDataSource(filled[f"dots-{i}"], name=f"dots-{i}")
        marker = _MARKERS[i % 3]
        dots.append(
            made.scatter(
                "x", "y", source=source, color=line.colour, size=8, alpha=0.8, marker=marker, **legend
            )
        )
    mark = ColumnDataSource(filled["mark"], name="mark")
    made.scatter("x", "y", source=mark, size=17, fill_color=None, line_width=2, marker="circle", name="ring")
    made.add_tools(HoverTool(renderers=dots, tooltips=[(drawn.x, "$x"), (drawn.y, "@y")]))
    if made.legend:
        made.add_layout(made.legend[0], "right")
        made.legend[0].title = drawn.by
        made.legend[0].title_text_font_style = "normal"
        made.legend[0].background_fill_alpha = 0
        made.legend[0].border_line_color = None
        made.legend[0].click_policy = "hide"
    return json_item(made)


def data(drawn: Chart) -> dict[str, Any]:
    """Columns of the sources of a figure, as JSON has them: None is a gap."""
    found: dict[str, Any] = {}
    for i, line in enumerate(drawn.lines):
        found[f"line-{i}"] = {"x": [x for x, _ in line.joined], "y": [y for _, y in line.joined]}
        found[f"dots-{i}"] = {"x": [x for x, _ in line.dots], "y": [y for _, y in line.dots]}
    marks = [drawn.mark] if drawn.mark is not None else []
    found["mark"] = {"x": [x for x, _ in marks], "y": [y for _, y in marks]}
    return found


def table(sheet: Sheet, choice: Choice) -> dict[str, Any]:
    """The newest rows, as the page draws them."""
    rows = by_arrival(sheet, _ROWS)
    at: Places = choice.at
    return {
        "names": list(sheet.names),
        "rows": [
            {
                "cells": [json_cell(cell) for cell in row.cells],
                "newest": row.number == sheet.newest,
                "present": row.places == at,
                "failed": row.failed,
            }
            for row in rows
        ],
        "total": len(sheet.rows),
    }
