"""Progress in a notebook: one output per cell, live as a widget and static when its runs have ended."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

from cellmill.cell_output.printed import Printed
from cellmill_widgets import printed as drawn
from cellmill_widgets.bars import View, html, listing, svg
from cellmill_widgets.printed import html as printed_html
from cellmill_widgets.printed import listing as printed_text

LIVE = "application/vnd.cellmill.dashboard+json"
"""For JupyterLab's extension, which shows the HTML of an output where there is no widget."""
LINES_EVERY = 1.0
"""Seconds between two pictures of what tasks print."""
_WIDGET = "application/vnd.jupyter.widget-view+json"


def parent_of(ip: Any) -> dict[str, Any] | None:
    """The request whose cell runs now in this thread, or None where nothing can be shown.

    Nothing is shown either where the outputs of the cell are captured (`%%capture`).
    """
    kernel = getattr(ip, "kernel", None)
    if kernel is None or getattr(ip.display_pub, "pub_socket", None) is None:
        return None
    parent: dict[str, Any] = kernel.get_parent()
    if not parent.get("header") or parent.get("content", {}).get("silent"):
        return None
    return parent


def publish(
    kernel: Any, kind: str, data: dict[str, Any], display_id: str, parent: dict[str, Any] | None
) -> None:
    """Send a display or its update, from any thread. Without a parent it goes by its display id alone."""
    kernel.session.send(
        kernel.iopub_socket,
        kind,
        {"data": data, "metadata": {}, "transient": {"display_id": display_id}},
        parent=parent if parent is not None else kernel.get_parent(),
        ident=kernel._topic(kind),
    )


def close_widget(widget: Any) -> None:
    """Close a widget and what ipywidgets made for it: each of them has a comm of its own."""
    for part in (widget, widget.layout, getattr(widget, "style", None)):
        if part is not None:
            part.close()


class CellOutput:
    """The bars of the runs that one cell started, in the output of that cell.

    The messages carry the cell's own request as their parent, so that they reach it from any
    thread and after the cell has ended.
    """

    def __init__(self, ip: Any, parent: dict[str, Any]) -> None:
        self._kernel = ip.kernel
        self._parent = parent
        self._display_id = f"cellmill-{uuid.uuid4().hex}"
        self._widget: Any = None  # of the bars
        self._whole: _Whole | None = None  # bars and what was printed, once something was
        self._shown = False
        self._lock = threading.Lock()
        self._last = ""
        self._told, self._due = 0, 0.0  # version of what was printed, and when a newer one may be shown

    def draw(self, views: Sequence[View], printed: Printed, note: str = "") -> None:
        """Show the bars, a note and what tasks have printed; sends nothing when they look as before."""
        markup, now = html(views, note), time.monotonic()
        spoke = printed.count > 0 and printed.version != self._told and now >= self._due
        if markup == self._last and not spoke:
            return
        self._last = markup
        if spoke:
            self._told, self._due = printed.version, now + LINES_EVERY
        if not self._shown:
            self._widget = _html_widget(markup)
        elif self._widget is not None:
            self._widget.value = markup
        grown = False
        if spoke and self._widget is not None:
            grown = self._whole is None
            self._whole = self._whole or _whole_widget(self._widget)
            if self._whole is not None:
                self._whole.show(printed)
        if not self._shown:
            self._send("display_data", self._bundle(views, printed, markup), self._parent)
            self._shown = True
        elif self._widget is None or (grown and self._whole is not None):
            self._send("update_display_data", self._bundle(views, printed, markup), None)

    def settle(self, views: Sequence[View], printed: Printed, note: str = "") -> None:
        """Leave a static text in the notebook in the place of the bars, with a note below it."""
        with self._lock:
            told = bool(printed.count)
            content = {
                "text/plain": "\n".join(
                    [listing(views, note)] * bool(views) + [printed_text(printed)] * told
                ),
                "text/html": html(views, note) * bool(views) + (printed_html(printed) if told else ""),
            }
            if not told:
                content["image/svg+xml"] = svg(views, note)
            if self._shown:
                self._send("update_display_data", content, None)
            else:
                self._send("display_data", content, self._parent)
            self._shown, self._last = True, ""
            if self._whole is not None:
                self._whole.close()
                self._whole = None
            if self._widget is not None:
                close_widget(self._widget)
                self._widget = None

    def _bundle(self, views: Sequence[View], printed: Printed, markup: str) -> dict[str, Any]:
        if printed.count and self._widget is None:
            markup += printed_html(printed, drawn.LIVE_LINES)
        content: dict[str, Any] = {"text/plain": listing(views), "text/html": markup}
        widget = self._whole.box if self._whole is not None else self._widget
        if widget is not None:
            content[LIVE] = {"version": 1}  # a page that was reloaded meanwhile finds no widget
            content[_WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        return content

    def _send(self, kind: str, data: dict[str, Any], parent: dict[str, Any] | None) -> None:
        """Publish. An update goes by its display id; under the request of now every client sees it."""
        publish(self._kernel, kind, data, self._display_id, parent)


def _html_widget(markup: str) -> Any:
    """A widget that draws the bars, or None where ipywidgets is missing or not usable."""
    try:
        from ipywidgets import HTML

        return HTML(value=markup)
    except Exception:  # bars are never the reason why a cell fails
        return None


class _Whole:
    """The bars, and below them what was printed, which opens at a click and stays open while more comes."""

    def __init__(self, bars: Any) -> None:
        from ipywidgets import HTML, Accordion, VBox

        # the place that scrolls is the widget's own, and stays where it is when the text is another one
        self._text = HTML(layout={"max_height": "24em", "overflow": "auto"})
        self._fold = Accordion(children=[self._text], selected_index=None)
        self.box = VBox([bars, self._fold])

    def show(self, printed: Printed) -> None:
        """Show the present lines."""
        self._text.value = drawn.content(printed, drawn.LIVE_LINES)
        self._fold.set_title(0, drawn.summary(printed))

    def close(self) -> None:
        """It is replaced by what stays."""
        for each in (self.box, self._fold, self._text):
            close_widget(each)


def _whole_widget(bars: Any) -> _Whole | None:
    try:
        return _Whole(bars)
    except Exception:  # as for the bars
        return None
