"""The dashboard as an anywidget, and its still where no widget is drawn."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from cellmill.telemetry import schema
from cellmill_widgets import picture
from cellmill_widgets.bars import View, duration, pace, text

STATIC = Path(__file__).parent / "static"
VIEW = "application/vnd.jupyter.widget-view+json"

_class: Any = None


def make(title: str, heard: Callable[[Mapping[str, Any]], None]) -> Any:
    """A widget that shows what is sent to it and calls ``heard`` with what its views say.

    Raises ImportError with a message for people where it cannot be made.
    """
    widget = _widget_class()(title=title, key=uuid.uuid4().hex)
    widget.on_msg(lambda _, content, buffers: heard(content))
    return widget


def _widget_class() -> Any:
    """The class, made when it is first needed: anywidget takes a moment to load."""
    global _class
    if _class is not None:
        return _class
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise ImportError("a live view needs anywidget: pip install anywidget") from None
    script = STATIC / "dashboard.js"
    if not script.exists():
        raise ImportError("this installation was built without node and has no live view inside notebooks")

    class Dashboard(anywidget.AnyWidget):
        _esm = script.read_text()
        _css = (STATIC / "dashboard.css").read_text()
        title = traitlets.Unicode().tag(sync=True)
        key = traitlets.Unicode().tag(sync=True)

    _class = Dashboard
    return _class


def view_of(title: str, snapshot: schema.Snapshot | None) -> View:
    """A snapshot as the bars and pictures take it."""
    if snapshot is None:
        return View(title, done=0, total=None)
    counts, elapsed = snapshot["counts"], snapshot["elapsed"]
    return View(
        title,
        done=counts["done"] - counts["cancelled"],
        total=counts["total"],
        failed=counts["failed"],
        lost=counts["lost"] or 0,
        cancelled=counts["cancelled"],
        elapsed=elapsed,
        rate=(counts["done"] - counts["cancelled"]) / elapsed if elapsed > 0 else 0.0,
        finished=counts["done"] >= counts["total"],
        running=counts["running"],
    )


def still(title: str, snapshot: schema.Snapshot | None, note: str = "") -> dict[str, Any]:
    """The dashboard without a script: a map of states and a table, as displays carry them."""
    notes = f"<div>{escape(note)}</div>" if note else ""
    if snapshot is None or not snapshot["counts"]["total"]:
        words = f"{title}: no tasks yet"
        plain = "\n".join(part for part in (words, note) if part)
        return {"text/plain": plain, "text/html": f"<div>{escape(words)}</div>{notes}"}
    view, counts = view_of(title, snapshot), snapshot["counts"]
    names = ("Tasks", "Done", "Failed", "Lost", "Cancelled", "Running", "Waiting", "Workers", "Rate", "Time")
    figures = [f"{counts['total']:,}", f"{view.done - view.failed:,}", f"{view.raised:,}", f"{view.lost:,}"]
    figures += [f"{counts[name]:,}" for name in ("cancelled", "running", "queued")]
    figures += [f"{snapshot['workers']} {snapshot['backend']}", pace(view.rate), duration(view.elapsed)]
    html = f"<div><b>{escape(title)}</b></div>{picture.strip(view.cells)}{picture.grid(names, [figures])}"
    return {
        "text/plain": "\n".join(part for part in (text(view), note) if part),
        "text/html": f'<div class="cellmill-still">{html}{notes}</div>',
        "image/svg+xml": picture.svg([(text(view), view.cells)], ()),
    }
