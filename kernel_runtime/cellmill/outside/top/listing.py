"""A table of text with a cursor. Textual's own renders each cell by itself, which takes ten times as long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

__all__ = ["Listing", "Order", "Row"]

Row = dict[str, Any]
Order = tuple[str, Callable[[Row], Any]]
GAP = 2  # columns between two cells
HEAD, CURSOR, UNFOCUSED = Style(bold=True, underline=True), Style(reverse=True), Style(bold=True)


class Listing(ScrollView, can_focus=True):
    """Rows in one of several orders; the row under the cursor stays under it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("pagedown", "move(10)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
    ]

    def __init__(
        self,
        name: str,
        heads: tuple[str, ...],
        orders: Sequence[Order],
        key: Callable[[Row], str],
        cells: Callable[[Row], tuple[str, ...]],
        **more: Any,
    ) -> None:
        """``key``: what a row is known by; ``cells``: its text, by ``heads``."""
        super().__init__(**more)
        self._title, self._heads, self._orders, self._key, self._cells = name, heads, orders, key, cells
        self._order = self._cursor = 0
        self._rows: list[Row] = []
        self._lines: list[str] = []
        self._head = ""
        self.shown: list[tuple[str, ...]] = []  # the cells of all rows
        self._entitle()

    def _entitle(self) -> None:
        self.border_title = f"{self._title}, {self._orders[self._order][0]}"

    def reorder(self) -> None:
        """Take the next order."""
        self._order = (self._order + 1) % len(self._orders)
        self._entitle()
        self.show(self._rows)

    def show(self, rows: list[Row]) -> None:
        """Show these rows."""
        before, cursor = self.selected(), self._cursor
        self._rows = sorted(rows, key=self._orders[self._order][1])
        if before is not None and self._cursor:
            kept = self._key(before)
            at = next((at for at, row in enumerate(self._rows) if self._key(row) == kept), self._cursor)
            self._cursor = at
        self._cursor = max(0, min(self._cursor, len(self._rows) - 1))
        shown = [self._cells(row) for row in self._rows]
        if shown == self.shown and self._head:
            return
        self.shown = shown
        columns = list(zip(self._heads, *shown, strict=True))
        widths = [
            max(map(cell_len, column)) if any(column[1:]) else -GAP for column in columns
        ]  # empty ones go
        before_head, before_lines = self._head, self._lines
        self._head, *self._lines = (_line(cells, widths) for cells in (self._heads, *shown))
        self.virtual_size = Size(sum(widths) + GAP * len(widths), len(shown) + 1)
        if before_head != self._head or len(before_lines) != len(shown) or cursor != self._cursor:
            self.refresh()
            return
        for at, (line, was) in enumerate(zip(self._lines, before_lines, strict=True)):
            if line != was:
                self.refresh_lines(at + 1)

    def selected(self) -> Row | None:
        """Return the row under the cursor."""
        return self._rows[self._cursor] if self._cursor < len(self._rows) else None

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        self._go_to(self._cursor + by)

    def on_click(self, event: Click) -> None:
        """Put the cursor where the mouse is."""
        place = event.get_content_offset(self)
        if place is not None and place.y > 0:
            self._go_to(place.y - 1 + self.scroll_offset.y)

    def _go_to(self, row: int) -> None:
        self._cursor = max(0, min(row, len(self._rows) - 1))
        self.scroll_to_region(
            Region(0, self._cursor, 1, 2), animate=False
        )  # with the head, which covers a line
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line: the head, which stays, and the rows that are scrolled to."""
        at, style = y - 1 + self.scroll_offset.y, self.rich_style
        if y == 0:
            text, style = self._head, style + HEAD
        elif at < len(self._lines):
            text = self._lines[at]
            if at == self._cursor:
                style += CURSOR if self.has_focus else UNFOCUSED
        else:
            text = ""
        width = self.size.width
        return Strip([Segment(set_cell_size(text[self.scroll_offset.x :], width), style)], width)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "".join(set_cell_size(cell, width + GAP) for cell, width in zip(cells, widths, strict=True))
