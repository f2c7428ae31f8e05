"""The controls of a sweep, by ipywidgets: one for each axis, buttons, what the plot shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from cellmill_widgets.sweep import plot
from cellmill_widgets.sweep.sheet import AxisView, Choice, Places, Sheet, chart, first_choice

_NONE = "(none)"


class Acts(Protocol):
    """What the controls ask for; none of these waits."""

    def point(self, places: Places) -> None:
        """Run one point, unless it is known."""

    def run(self) -> None:
        """Run all that is open."""

    def retry(self) -> None:
        """Run again what failed."""

    def stop(self) -> None:
        """End what goes on."""

    def redraw(self) -> None:
        """Another plot was chosen."""


class Controls:
    """The widgets in a box. They are told of a sheet by `show`, from any thread."""

    def __init__(self, sheet: Sheet, acts: Acts) -> None:
        import ipywidgets

        self._plot = plot.make()  # first: it says what is missing
        self._acts = acts
        self.choice = first_choice(sheet)
        self._shape: tuple[Any, ...] = ()
        self._axes = [_control(ipywidgets, axis) for axis in sheet.axes]
        for control in self._axes:
            control.observe(self._moved, "value")
        buttons = [
            _button(ipywidgets, "Run all", "Run all points that are open", acts.run),
            _button(ipywidgets, "Stop", "Cancel what waits and interrupt what runs", acts.stop),
            _button(ipywidgets, "Run failed again", "Run all failed points again", acts.retry),
        ]
        self._retry = buttons[2]
        self._progress = ipywidgets.HTML()
        names: list[Any] = [(axis.name, i) for i, axis in enumerate(sheet.axes)]
        small = {"layout": {"width": "auto"}, "style": {"description_width": "initial"}}
        self._x = ipywidgets.Dropdown(options=names or [_NONE], description="Along:", **small)
        self._by = ipywidgets.Dropdown(options=[(_NONE, None), *names], description="Lines:", **small)
        self._column = ipywidgets.Dropdown(options=[_NONE], description="Result:", **small)
        if names:
            self._x.value, self._by.value = self.choice.x, self.choice.by
        for chosen in (self._x, self._by, self._column):
            chosen.observe(self._chosen, "value")
        wrap = {"layout": {"flex_flow": "row wrap"}}
        self.box = ipywidgets.VBox(
            [
                ipywidgets.HBox(self._axes, **wrap),
                ipywidgets.HBox([*buttons, self._progress], **wrap),
                ipywidgets.HBox([self._x, self._by, self._column], **wrap),
                self._plot,
            ]
        )
        self.box.add_class("cellmill-sweep-box")

    def show(self, sheet: Sheet, note: str = "") -> None:
        """Show the present state."""
        self._columns(sheet.columns)
        self._progress.value = _line(" ".join(part for part in (sheet.progress, note) if part))
        self._retry.layout.display = None if any(row.failed for row in sheet.rows) else "none"
        drawn = chart(sheet, self.choice)
        with self._plot.hold_sync():
            self._plot.data = plot.data(drawn)
            if drawn.dots() and plot.shape(drawn) != self._shape:
                self._shape = plot.shape(drawn)
                self._plot.item = plot.figure(drawn)
            self._plot.table = plot.table(sheet, self.choice)
            self._plot.note = drawn.note

    def _columns(self, columns: tuple[str, ...]) -> None:
        if tuple(self._column.options) == (columns or (_NONE,)):
            return
        kept = self.choice.column if self.choice.column in columns else ""
        self._column.unobserve(self._chosen, "value")
        self._column.options = columns or (_NONE,)
        self._column.value = kept or self._column.options[0]
        self._column.observe(self._chosen, "value")
        self.choice = replace(self.choice, column=self._column.value if columns else "")

    def _moved(self, _: object) -> None:
        """A control of an axis was moved."""
        self.choice = replace(self.choice, at=tuple(int(control.value) for control in self._axes))
        self._acts.point(self.choice.at)
        self._acts.redraw()

    def _chosen(self, _: object) -> None:
        """Another plot was chosen."""
        by = self._by.value if self._by.value != self._x.value else None
        column = "" if self._column.value == _NONE else str(self._column.value)
        x = self._x.value if isinstance(self._x.value, int) else 0
        self.choice = Choice(x, by, column, self.choice.at)
        self._acts.redraw()


def _control(ipywidgets: Any, axis: AxisView) -> Any:
    """The control of an axis; its value is the place of a value, True being 1."""
    look = {"description": axis.name, "style": {"description_width": "initial"}}
    if axis.switch:
        return ipywidgets.Checkbox(value=bool(axis.start), indent=False, **look)
    options = [(label, place) for place, label in enumerate(axis.labels)]
    if axis.ordered:
        return ipywidgets.SelectionSlider(options=options, value=axis.start, continuous_update=False, **look)
    return ipywidgets.Dropdown(options=options, value=axis.start, **look)


def _button(ipywidgets: Any, text: str, title: str, act: Callable[[], None]) -> Any:
    made = ipywidgets.Button(description=text, tooltip=title, layout={"width": "auto"})
    made.on_click(lambda _: act())
    return made


def _line(text: str) -> str:
    from html import escape

    return f'<span class="cellmill-sweep-progress">{escape(text)}</span>'
