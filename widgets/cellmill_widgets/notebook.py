"""Progress in a notebook: one output per cell, live as a widget and static when its runs have ended."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from cellmill_widgets.bars import View, html, listing, svg

LIVE = "application/vnd.cellmill.dashboard+json"
"""For JupyterLab's extension, which shows the HTML of an output where there is no widget."""
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
        self._widget: Any = None
        self._shown = False
        self._last = ""

    def draw(self, views: Sequence[View]) -> None:
        """Show the bars; sends nothing when they look as before."""
        markup = html(views)
        if markup == self._last:
            return
        self._last = markup
        if not self._shown:
            self._widget = _html_widget(markup)
            self._send("display_data", self._bundle(views, markup), self._parent)
            self._shown = True
        elif self._widget is not None:
            self._widget.value = markup
        else:
            self._send("update_display_data", self._bundle(views, markup), None)

    def settle(self, views: Sequence[View]) -> None:
        """Leave a static text in the notebook in the place of the bars."""
        content = {"text/plain": listing(views), "text/html": html(views), "image/svg+xml": svg(views)}
        if self._shown:
            self._send("update_display_data", content, None)
        else:
            self._send("display_data", content, self._parent)
        self._shown, self._last = True, ""
        if self._widget is not None:
            close_widget(self._widget)
            self._widget = None

    def _bundle(self, views: Sequence[View], markup: str) -> dict[str, Any]:
        content: dict[str, Any] = {"text/plain": listing(views), "text/html": markup}
        if self._widget is not None:
            content[LIVE] = {"version": 1}  # a page that was reloaded meanwhile finds no widget
            content[_WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
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
