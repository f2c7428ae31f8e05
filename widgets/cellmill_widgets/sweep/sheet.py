"""What is shown of a sweep, as plain data: its axes, its points that are over, and the lines to draw of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Places = tuple[int, ...]
COLOURS = (  # of a middle lightness: legible on white and on black
    *("#3b8fd9", "#e07b39", "#3fa55b", "#d0507f", "#8f7be0"),
    *("#b8962e", "#2aa6a6", "#c06ad0", "#7f8f9f", "#d9534f"),
)
REST = "#8a8a8a"
"""Of points on no line of their own."""
MOST_DOTS = 5_000
_LOG_FROM = 50.0  # between the largest and the smallest value of an axis


@dataclass(frozen=True)
class AxisView:
    """The values of a parameter as text, and as numbers where they all are; ``switch``: they are False and True."""

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    start: int
    switch: bool = False

    @property
    def ordered(self) -> bool:
        """Numbers that rise, or that fall."""
        values = self.numbers or ()
        return len(values) > 1 and (
            list(values) == sorted(values) or list(values) == sorted(values, reverse=True)
        )

    @property
    def log(self) -> bool:
        """Whether the values spread over orders of magnitude."""
        values = self.numbers or ()
        return len(values) > 2 and min(values) > 0 and max(values) / min(values) >= _LOG_FROM

    def position(self, place: int) -> float:
        """Where a value is in a plot."""
        return self.numbers[place] if self.numbers is not None else float(place)


@dataclass(frozen=True)
class RowView:
    """A point that is over: its place, a number or text for each column of the sheet, and when it came."""

    places: Places
    cells: tuple[float | str | None, ...]
    number: int
    failed: bool


@dataclass(frozen=True)
class Sheet:
    """A sweep at one moment; ``columns`` are those of ``names`` that can be plotted."""

    title: str
    progress: str
    axes: tuple[AxisView, ...]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]
    busy: bool

    @property
    def newest(self) -> int:
        """The number of the row that came last."""
        return max((row.number for row in self.rows), default=0)


@dataclass(frozen=True)
class Choice:
    """What a person chose: the axis along the plot, the axis whose values are lines, the column, the present point."""

    x: int
    by: int | None
    column: str
    at: Places


@dataclass(frozen=True)
class Line:
    """Points with one value of the second axis: joined are those that have the present values on all other axes."""

    label: str
    colour: str
    joined: tuple[tuple[float, float | None], ...]  # None: a failure, where the line has a gap
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Chart:
    """A plot without a library; ``ticks`` are labels of 0, 1, … where values are no numbers."""

    x: str
    y: str
    by: str  # the axis whose values are lines
    ticks: tuple[str, ...] | None
    log: bool
    lines: tuple[Line, ...]
    mark: tuple[float, float] | None
    note: str

    def dots(self) -> list[tuple[float, float]]:
        """All points."""
        return [dot for line in self.lines for dot in line.dots]


def first_choice(sheet: Sheet) -> Choice:
    """What is shown before anything was chosen."""
    axes = sheet.axes
    order = sorted(range(len(axes)), key=lambda i: (len(axes[i].labels) < 2, axes[i].numbers is None, i))
    x = order[0] if order else 0
    others = [i for i in range(len(axes)) if i != x and 1 < len(axes[i].labels) <= len(COLOURS)]
    return Choice(
        x,
        others[0] if others else None,
        sheet.columns[0] if sheet.columns else "",
        tuple(axis.start for axis in axes),
    )


def chart(sheet: Sheet, choice: Choice) -> Chart:
    """The plot of a sheet."""
    if not sheet.axes or choice.column not in sheet.names:
        return Chart("", choice.column, "", None, False, (), None, "")
    axis, by = sheet.axes[choice.x], choice.by
    column = sheet.names.index(choice.column)
    found: dict[int, list[tuple[float, float, bool]]] = {}
    gaps: dict[int, list[float]] = {}
    mark, left_out = None, 0
    for row in sheet.rows:
        y, x = row.cells[column], axis.position(row.places[choice.x])
        key = row.places[by] if by is not None else 0
        others = all(
            mine == present
            for i, (mine, present) in enumerate(zip(row.places, choice.at, strict=True))
            if i not in (choice.x, by)
        )
        if isinstance(y, str) or y is None or not math.isfinite(y):
            left_out += not row.failed
            if others:
                gaps.setdefault(key, []).append(x)
            continue
        y = float(y)
        found.setdefault(key, []).append((x, y, others))
        if row.places == choice.at:
            mark = x, y
    labels = sheet.axes[by].labels if by is not None else ("",)
    lines = [
        _line(label, COLOURS[key], found.get(key, ()), gaps.get(key, ()))
        for key, label in enumerate(labels[: len(COLOURS)])
    ]
    rest = [point for key, points in found.items() if key >= len(COLOURS) for point in points]
    if rest:
        more = f"{len(labels) - len(COLOURS)} more values"
        lines.append(Line(more, REST, (), tuple((x, y) for x, y, _ in rest)))
    lines, thinned = _thinned(lines)
    ticks = None if axis.numbers is not None else axis.labels
    note = _note(sheet, choice, left_out, thinned)
    second = sheet.axes[by].name if by is not None else ""
    return Chart(axis.name, choice.column, second, ticks, axis.log, tuple(lines), mark, note)


def _line(
    label: str, colour: str, points: Sequence[tuple[float, float, bool]], gaps: Sequence[float]
) -> Line:
    joined: list[tuple[float, float | None]] = [(x, y) for x, y, others in points if others]
    joined = sorted([*joined, *((x, None) for x in gaps)], key=lambda point: point[0])
    return Line(label, colour, tuple(joined), tuple((x, y) for x, y, _ in points))


def _thinned(lines: list[Line]) -> tuple[list[Line], int]:
    total = sum(len(line.dots) for line in lines)
    if total <= MOST_DOTS:
        return lines, 0
    step = math.ceil(total / MOST_DOTS)
    kept = [Line(line.label, line.colour, line.joined, line.dots[::step]) for line in lines]
    return kept, total - sum(len(line.dots) for line in kept)


def _note(sheet: Sheet, choice: Choice, left_out: int, thinned: int) -> str:
    held = [
        f"{axis.name} = {axis.labels[choice.at[i]]}"
        for i, axis in enumerate(sheet.axes)
        if i not in (choice.x, choice.by) and len(axis.labels) > 1
    ]
    said = [f"Lines: {', '.join(held)}; dots: all points."] if held else []
    if left_out:
        said.append(f"{left_out:,} without a finite number in {choice.column} not drawn.")
    if thinned:
        said.append(f"{thinned:,} dots left out.")
    return " ".join(said)


def plain(cell: float | str | None) -> str:
    """A cell as text."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else f"{cell:.6g}"


def by_arrival(sheet: Sheet, most: int) -> list[RowView]:
    """The newest rows, newest first."""
    return sorted(sheet.rows, key=lambda row: -row.number)[:most]


def json_cell(cell: float | str | None) -> Any:
    """A cell as JSON has it: numbers beyond JSON are text."""
    if isinstance(cell, str) or cell is None:
        return cell
    whole = isinstance(cell, int) and abs(cell) > 1 << 53
    return str(cell) if whole or not math.isfinite(cell) else cell
