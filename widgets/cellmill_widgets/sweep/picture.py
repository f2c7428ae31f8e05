"""A sweep in a saved notebook: a plot as SVG and a table, as pure functions, legible on white and on black."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape

from cellmill_widgets import picture
from cellmill_widgets.sweep.sheet import Chart, Choice, Line, Sheet, by_arrival, chart, plain

WIDTH, HEIGHT = 640, 260
ROWS = 20
"""Rows of the table; the rest is a sentence."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 130, 12, 40
_INK = "#777"
_MOST_TICKS = 8
_LABEL = 16  # characters
_MOST_DOTS = 200  # of a line


def html(sheet: Sheet, choice: Choice, note: str = "") -> str:
    """Title, plot and the newest rows."""
    drawn = chart(sheet, choice)
    rows = [[plain(cell) for cell in row.cells] for row in by_arrival(sheet, ROWS)]
    more = len(sheet.rows) - len(rows)
    parts = [f"<div><b>{escape(sheet.title)}</b>: {escape(sheet.progress)}</div>", _image(drawn)]
    parts += [f"<div>{escape(text)}</div>" for text in (drawn.note, note) if text]
    if rows:
        parts.append(picture.grid(sheet.names, rows))
    if more > 0:
        parts.append(f"<div>The newest {len(rows)} of {len(sheet.rows):,} results.</div>")
    return f'<div class="cellmill-still">{"".join(parts)}</div>'


def text(sheet: Sheet, note: str = "") -> str:
    """The same in words."""
    return "\n".join(part for part in (f"{sheet.title}: {sheet.progress}", note) if part)


def _image(drawn: Chart) -> str:
    """The plot as an image: an SVG within HTML loses its tags, and leaves its words, where a page trusts no HTML."""
    found = svg(drawn)
    if not found:
        return ""
    told = escape(f"{drawn.y} against {drawn.x}", quote=True)
    data = base64.b64encode(found.encode()).decode()
    return f'<img alt="{told}" width="{WIDTH}" height="{HEIGHT}" src="data:image/svg+xml;base64,{data}">'


def svg(drawn: Chart) -> str:
    """The plot; nothing where there are no points."""
    dots = drawn.dots()
    if not dots:
        return ""
    scale_x, ticks_x = _scale([x for x, _ in dots], _LEFT, WIDTH - _RIGHT, drawn.ticks, log=drawn.log)
    scale_y, ticks_y = _scale([y for _, y in dots], HEIGHT - _BOTTOM, _TOP, None, log=False)
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}" fill="none" stroke="{_INK}"/>',
        *(_word(scale_x.at(x), HEIGHT - _BOTTOM + 16, label, "middle") for x, label in ticks_x),
        *(_word(_LEFT - 6, scale_y.at(y) + 4, label, "end") for y, label in ticks_y),
        _word((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 6, drawn.x, "middle"),
        f'<g transform="translate(12 {(HEIGHT - _BOTTOM) / 2}) rotate(-90)">{_word(0, 0, drawn.y, "middle")}</g>',
    ]
    if drawn.by:
        parts.append(_word(WIDTH - _RIGHT + 14, _TOP + 8, drawn.by, "start"))
    for place, line in enumerate(drawn.lines):
        parts += _drawn(line, place, scale_x, scale_y)
    if drawn.mark is not None:
        x, y = scale_x.at(drawn.mark[0]), scale_y.at(drawn.mark[1])
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{_INK}" stroke-width="2"/>'
        )
    told = escape(f"{drawn.y} against {drawn.x}, {len(dots):,} points", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><g style="font:12px sans-serif" fill="{_INK}">{"".join(parts)}</g></svg>'
    )


class _Scale:
    """From values to pixels."""

    def __init__(self, low: float, high: float, first: float, last: float, *, log: bool) -> None:
        self._log = log
        self._low, self._high = self._value(low), self._value(high)
        self._first, self._last = first, last

    def _value(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = (self._value(value) - self._low) / (self._high - self._low)
        return self._first + share * (self._last - self._first)


def _scale(
    values: Sequence[float], first: float, last: float, labels: Sequence[str] | None, *, log: bool
) -> tuple[_Scale, list[tuple[float, str]]]:
    """A scale around the values with a little room, and (value, label) of ticks."""
    low, high = min(values), max(values)
    if labels is not None:
        step = math.ceil(len(labels) / _MOST_TICKS)
        ticks = [(float(i), _short(labels[i])) for i in range(0, len(labels), step)]
        return _Scale(-0.5, len(labels) - 0.5, first, last, log=False), ticks
    if log:
        ticks = [(low, f"{low:.4g}"), (high, f"{high:.4g}")]
        between = range(math.floor(math.log10(low)) + 1, math.ceil(math.log10(high)))
        ticks[1:1] = [(10.0**power, f"{10.0**power:.4g}") for power in between]
        room = (high / low) ** 0.04 if high > low else 1.1
        return _Scale(low / room, high * room, first, last, log=True), ticks
    room = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    ticks = [(value, f"{value:.4g}") for value in _round_values(low, high)] or [(low, f"{low:.4g}")]
    return _Scale(low - room, high + room, first, last, log=False), ticks


def _round_values(low: float, high: float) -> list[float]:
    if not high > low:
        return []
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= _MOST_TICKS)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step) + 1)]


def _drawn(line: Line, place: int, scale_x: _Scale, scale_y: _Scale) -> list[str]:
    parts, way, joined = [], "", False
    for x, height in line.joined:
        if height is not None:
            way += f"{'L' if joined else 'M'}{scale_x.at(x):.1f} {scale_y.at(height):.1f}"
        joined = height is not None
    if "L" in way:
        dash = ("", "6 3", "2 3")[place % 3]
        style = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<path d="{way}" fill="none" stroke="{line.colour}" stroke-width="1.5"{style}/>')
    for x, y in line.dots[:: math.ceil(len(line.dots) / _MOST_DOTS) or 1]:
        parts.append(_marker(place, scale_x.at(x), scale_y.at(y), line.colour))
    if line.label:
        top = _TOP + 22 + 18 * place
        parts.append(_marker(place, WIDTH - _RIGHT + 18, top, line.colour))
        parts.append(_word(WIDTH - _RIGHT + 28, top + 4, line.label, "start"))
    return parts


def _marker(place: int, x: float, y: float, colour: str) -> str:
    """A shape for each line: they are told apart without colours."""
    shape = place % 3
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
    if shape == 1:
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 4:.1f}l4 7h-8z" fill="{colour}"/>'


def _word(x: float, y: float, label: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(_short(label))}</text>'


def _short(label: str) -> str:
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"
