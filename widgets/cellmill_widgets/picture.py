"""Final state of a run in a saved notebook: a map of states and a table of failures, as pure functions.

Pages that show notebooks of others take styles, scripts and pictures out of their HTML. The map is therefore written
in block characters, and the table has nothing but rows and cells: colours are added where styles survive, and
everything is told without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from cellmill.diagnostics.failure_counts import FailureCount
from cellmill.diagnostics.short_text import one_line

WIDTH = 60
"""Cells of a map."""
ROWS = 5
"""Types of errors in a table; the rest is one row."""
MESSAGE = 120
"""Characters of a message in the table."""

_GLYPHS = {"d": "█", "f": "▚", "l": "▌", "c": "▁", "r": "▓", "w": "░"}
_WORDS = {
    "d": "done",
    "f": "failed",
    "l": "lost",
    "c": "cancelled",
    "r": "running",
    "w": "waiting",
}
COLOURS = {  # as labextension/style/states.css has them
    "d": "var(--jp-success-color2, #81c784)",
    "f": "var(--jp-error-color0, #d32f2f)",
    "l": "var(--jp-warn-color1, #ef6c00)",
    "c": "var(--jp-ui-font-color3, #757575)",
    "r": "var(--jp-brand-color1, #1976d2)",
    "w": "var(--jp-layout-color3, #bdbdbd)",
}
# Of a middle lightness: legible on white and on black, since a picture does not know its page.
_PLAIN_COLOURS = {
    "d": "#66bb6a",
    "f": "#d32f2f",
    "l": "#ef6c00",
    "c": "#757575",
    "r": "#1e88e5",
    "w": "#bdbdbd",
}


def runs_of(states: str, width: int = WIDTH) -> list[tuple[str, int]]:
    """Cells for tasks in their order; a cell for several shows the one that matters most."""
    if not states:
        return []
    matters = "flrcwd"
    cells = []
    for place in range(min(width, len(states))):
        first = place * len(states) // min(width, len(states))
        last = (place + 1) * len(states) // min(width, len(states))
        cells.append(min(set(states[first:last]), key=matters.index))
    return [(state, len(list(group))) for state, group in groupby(cells)]


def strip(cells: Sequence[tuple[str, int]]) -> str:
    """The map as a line of HTML."""
    if not cells:
        return ""
    seen = ", ".join(_WORDS[state] for state in dict.fromkeys(state for state, _ in cells))
    blocks = "".join(
        f'<span style="color:{COLOURS[state]}">{_GLYPHS[state] * number}</span>' for state, number in cells
    )
    style = (
        "background:none;padding:0;letter-spacing:0;line-height:1.3;white-space:normal;word-break:break-all"
    )
    return f'<div title="{seen}"><code style="{style}">{blocks}</code></div>'


def merged(folds: Iterable[Sequence[FailureCount]]) -> tuple[FailureCount, ...]:
    """The failures of several runs as one table, the most frequent first."""
    kinds: dict[str, FailureCount] = {}
    for fold in folds:
        for failure_count in fold:
            known = kinds.get(failure_count.kind)
            count = failure_count.count + (known.count if known else 0)
            kinds[failure_count.kind] = FailureCount(
                failure_count.kind, count, (known or failure_count).message
            )
    return tuple(sorted(kinds.values(), key=lambda failure_count: -failure_count.count))


def rows(failures: Sequence[FailureCount]) -> list[tuple[str, str, str]]:
    """Error, number of tasks and first message, as the table has them."""
    shown = [
        (
            one_line(failure_count.kind, MESSAGE),
            f"{failure_count.count:,}",
            one_line(failure_count.message, MESSAGE),
        )
        for failure_count in failures[:ROWS]
    ]
    rest = failures[ROWS:]
    if rest:
        more = f"{len(rest)} more type{'s' if len(rest) != 1 else ''} of error"
        shown.append((more, f"{sum(failure_count.count for failure_count in rest):,}", ""))
    return shown


def table(failures: Sequence[FailureCount]) -> str:
    """The failures as HTML of the plainest kind."""
    return grid(("Error", "Tasks", "First message"), rows(failures)) if failures else ""


def grid(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table as HTML of the plainest kind."""
    pad = "text-align:left;padding:1px 16px 1px 0"
    cell = f'<td style="{pad}">%s</td>'
    table_rows = [[f"<b>{escape(word)}</b>" for word in head]]
    table_rows += [[escape(word) for word in line] for line in lines]
    body = "".join(f"<tr>{''.join(cell % word for word in row)}</tr>" for row in table_rows)
    return f'<table style="margin:4px 0;border-spacing:0">{body}</table>'


def words(failures: Sequence[FailureCount]) -> str:
    """The failures as lines of text."""
    return "\n".join(
        ": ".join(part for part in (f"{n} x {kind}", message) if part) for kind, n, message in rows(failures)
    )


def svg(
    lines: Sequence[tuple[str, Sequence[tuple[str, int]]]],
    failures: Sequence[FailureCount],
    notes: Sequence[str] = (),
) -> str:
    """Return a picture: for each line its text and its map, then the failures, then lines of notes."""
    parts: list[str] = []
    y = 0
    for text, cells in lines:
        y += 18
        parts.append(_label(text, y - 4))
        x = 0.0
        for state, number in cells:
            parts += _cells(state, number, x, y + 2)
            x += number * 8
        y += 20 if cells else 0
    for kind, count, message in rows(failures):
        y += 18
        parts.append(_label(f"{count} × {kind}: {message}".removesuffix(": "), y - 4))
    for note in notes:
        y += 18
        parts.append(_label(note, y - 4))
    style = "font:12px ui-monospace,monospace;fill:#777"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{y + 6}" viewBox="0 0 640 {y + 6}">'
        f'<g style="{style}">{"".join(parts)}</g></svg>'
    )


def _cells(state: str, number: int, x: float, y: int) -> list[str]:
    """Cells of one state in a picture. Without their colours, stripes tell what is lost, a line what is cancelled."""
    fill = f'fill="{_PLAIN_COLOURS[state]}"'
    if state == "l":
        return [f'<rect x="{x + 4 * i:g}" y="{y}" width="2" height="12" {fill}/>' for i in range(2 * number)]
    top, height = (y + 8, 4) if state == "c" else (y, 12)
    return [f'<rect x="{x:g}" y="{top}" width="{number * 8}" height="{height}" {fill}/>']


def _label(text: str, y: int) -> str:
    return f'<text x="0" y="{y}">{escape(one_line(text, MESSAGE))}</text>'
