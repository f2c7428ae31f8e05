"""A sweep in a notebook: its widgets are told of results as they come, five times a second at most.

What controls ask for is done in a thread of its own, so that the kernel is free for cells meanwhile. At rest the saved
notebook gets the present picture.
"""

from __future__ import annotations

import contextvars
import numbers
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from cellmill_widgets.notebook import LIVE, parent_of, publish
from cellmill_widgets.sweep import picture
from cellmill_widgets.sweep.controls import Controls
from cellmill_widgets.sweep.sheet import AxisView, RowView, Sheet, first_choice

from ..diagnostics.short_text import short_repr
from ..errors import in_words
from .axes import Axis
from .results import Outcome, Table

_VIEW = "application/vnd.jupyter.widget-view+json"
_PACE = 0.2  # seconds between two looks of the page at the least
_LOOK = 0.5  # seconds after which points that have begun meanwhile are looked for
_SHARE = 5  # of the time at most a fifth is spent on drawing
_LABEL, _CELL = 24, 60  # characters


class Swept(Protocol):
    """What is shown of a sweep, and done with it."""

    name: str

    def state(self) -> tuple[Table, list[tuple[tuple[int, ...], Outcome]]]: ...
    def plan_axes(self) -> tuple[Axis, ...]: ...
    def progress(self) -> str: ...
    def busy(self) -> bool: ...
    def begin_at(self, places: tuple[int, ...]) -> None: ...
    def run(self, wait: bool = True) -> Any: ...
    def retry(self, wait: bool = True) -> Any: ...
    def stop(self) -> int: ...
    def on_change(self, callback: Callable[[], None]) -> None: ...


def show(sweep: Swept, display: Display | None) -> Display | None:
    """Draw a sweep in the output of this cell, with the widgets of before if there are; what draws it from now on."""
    try:
        from IPython import get_ipython

        ip = get_ipython()
    except ImportError:
        ip = None
    parent = parent_of(ip)
    if parent is None:
        print(repr(sweep))
        return display
    display = display or Display(ip, sweep)
    display.draw(parent)
    return display


class Display:
    """The widgets of one sweep, and its picture in the saved notebook."""

    def __init__(self, ip: Any, sweep: Swept) -> None:
        self._ip, self._sweep = ip, sweep
        self._id = f"cellmill-{uuid.uuid4().hex}"
        self._axes = tuple(_axis(axis) for axis in sweep.plan_axes())
        self._note, self._said = "", ""
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._looker: threading.Timer | None = None
        self._shown = ""  # how far it was when it was drawn
        self._drawing = threading.RLock()
        self._took = 0.0
        self._todo: deque[Callable[[], object]] = deque()
        self._working = False
        self._controls: Controls | None = None
        try:
            self._controls = Controls(self._sheet(), self)
        except ImportError as error:
            self._note = str(error)
        sweep.on_change(self.redraw)

    def draw(self, parent: dict[str, Any]) -> None:
        """Show it in the output of this cell."""
        sheet = self._sheet()
        if self._controls is not None:
            self._controls.show(sheet, self._said)
        publish(self._ip.kernel, "display_data", self._bundle(sheet), self._id, parent)

    # What controls ask for: not in the thread that hears them, which is the one that runs cells.

    def point(self, places: tuple[int, ...]) -> None:
        """Run one point, unless it is known."""
        self._do(lambda: self._sweep.begin_at(places))

    def run(self) -> None:
        """Run all that is open."""
        self._do(lambda: self._sweep.run(wait=False))

    def retry(self) -> None:
        """Run again what failed."""
        self._do(lambda: self._sweep.retry(wait=False))

    def stop(self) -> None:
        """End what goes on; at once, whatever is being begun."""
        self._sweep.stop()
        self.redraw()

    def redraw(self) -> None:
        """Something has changed: it is shown a moment later, with what else comes until then."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(max(_PACE, _SHARE * self._took), self._show)
                self._timer.daemon = True
                self._timer.start()

    def _do(self, act: Callable[[], object]) -> None:
        context = contextvars.copy_context()
        with self._lock:
            self._todo.append(lambda: context.run(act))
            begin, self._working = not self._working, True
        if begin:
            threading.Thread(target=self._work, name="cellmill-sweep", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._todo:
                    self._working = False
                    return
                act = self._todo.popleft()
            try:
                act()
                self._said = ""
            except Exception as error:
                self._said = in_words(error)
            self.redraw()

    def _show(self) -> None:
        with self._lock:
            self._timer = None
        with self._drawing:
            began = time.monotonic()
            sheet = self._sheet()
            if self._controls is not None:
                self._controls.show(sheet, self._said)
            if not sheet.busy or self._controls is None:
                publish(self._ip.kernel, "update_display_data", self._bundle(sheet), self._id, None)
            self._took = time.monotonic() - began
            self._shown = sheet.progress
        if sheet.busy:
            self._look_later()

    def _look_later(self) -> None:
        """Points tell when they end and not when they begin: while some go on, look whether others have begun."""
        with self._lock:
            if self._looker is None:
                self._looker = threading.Timer(_LOOK, self._look)
                self._looker.daemon = True
                self._looker.start()

    def _look(self) -> None:
        with self._lock:
            self._looker = None
        if self._sweep.progress() != self._shown:
            self.redraw()
        elif self._sweep.busy():
            self._look_later()

    def _sheet(self) -> Sheet:
        busy = self._sweep.busy()
        table, points = self._sweep.state()
        rows = tuple(
            RowView(
                places,
                tuple(_cell(row[name]) for name in table.names),
                outcome.number,
                outcome.error is not None,
            )
            for (places, outcome), row in zip(points, table.rows, strict=True)
        )
        numeric = tuple(
            name
            for name in table.columns
            if any(isinstance(row.cells[table.names.index(name)], (int, float)) for row in rows)
        )
        failed = any(row.failed for row in rows)
        names = table.names if failed else table.names[:-1]
        if not failed:
            rows = tuple(RowView(row.places, row.cells[:-1], row.number, False) for row in rows)
        return Sheet(
            f"Sweep of {self._sweep.name}", self._sweep.progress(), self._axes, names, numeric, rows, busy
        )

    def _bundle(self, sheet: Sheet) -> dict[str, Any]:
        choice = self._controls.choice if self._controls is not None else first_choice(sheet)
        content: dict[str, Any] = {
            "text/plain": picture.text(sheet, self._note),
            "text/html": picture.html(sheet, choice, self._note),
        }
        if self._controls is not None:
            content[LIVE] = {"version": 1}
            content[_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self._controls.box.model_id}
        return content


def _axis(axis: Axis) -> AxisView:
    labels: list[str] = []
    for value in axis.values:
        label = _label(value)
        count = sum(label == known or known.startswith(f"{label} (") for known in labels)
        labels.append(f"{label} ({count + 1})" if count and label in labels else label)
    figures = tuple(_number(value) for value in axis.values)
    known = [figure for figure in figures if figure is not None]
    return AxisView(
        axis.name,
        tuple(labels),
        tuple(known) if len(known) == len(figures) else None,
        axis.start,
        [value is True for value in axis.values] == [False, True] and axis.values[0] is False,
    )


def _label(value: Any) -> str:
    found = _cell(value)
    return f"{found:.6g}" if isinstance(found, float) else str(found)[:_LABEL]


def _number(value: Any) -> float | None:
    found = _cell(value)
    return None if isinstance(found, str) or found is None or found != found else float(found)


def _cell(value: Any) -> float | str | None:
    """A number, or text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value if len(value) <= _CELL else f"{value[: _CELL - 1]}…"
    kind = type(value).__name__
    if isinstance(value, bool) or kind in ("bool", "bool_"):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        try:
            return float(value)
        except (OverflowError, TypeError):
            return short_repr(value, _CELL)
    name = getattr(value, "name", None) if hasattr(type(value), "__members__") else None
    return name if isinstance(name, str) else short_repr(value, _CELL)
