"""Output of tasks, folded under the bars of their cell: pure functions of `cell_output.printed.Printed`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from cellmill.cell_output.printed import ALIKE, Line, Printed

LIVE_LINES = 200
"""The last so many are drawn while tasks still print."""
_WHO = 24
"""Characters of a function and its task before what it printed."""
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_FONT = "font:12px/1.5 var(--jp-code-font-family, monospace)"
_PRE = (
    f"{_FONT};margin:0;padding:4px 0 4px 14px;white-space:pre-wrap;overflow-wrap:anywhere;color:inherit;"
    "background:transparent"
)
_SCROLLED = "max-height:24em;overflow:auto;border-bottom:1px solid var(--jp-border-color2, #bbb)"
_PALE = "color:var(--jp-ui-font-color2, #767676)"
_ERROR = "background:var(--jp-rendermime-error-background, rgba(211, 47, 47, 0.15))"


def summary(printed: Printed) -> str:
    """Return how many lines were printed, and by which calls."""
    _, counts = printed.snapshot(1)
    lines, callers = counts["lines"], counts["callers"]
    names = sorted({_function(who) for who in callers})
    whose = " and ".join(names) if len(names) <= 2 else f"{len(names)} functions"
    calls = f"{len(callers):,} calls of {whose}" if len(callers) > 1 else (callers or [""])[0]
    return f"{lines:,} line{'s' * (lines != 1)} printed by {calls}"


def _function(who: str) -> str:
    return who.rpartition(" ")[0] or who


def html(printed: Printed, last: int | None = None) -> str:
    """Folded, as it stays in a notebook; or the last lines only."""
    head = f"<summary style='cursor:pointer'>{escape(summary(printed))}</summary>"
    style = f"{_FONT};margin-top:2px;padding-left:var(--jp-code-padding, 0)"
    return f'<details class="cellmill-printed" style="{style}">{head}{content(printed, last)}</details>'


def content(printed: Printed, last: int | None = None) -> str:
    """The lines, each behind whose it is; the last ones in a place that scrolls by itself."""
    lines, counts = printed.snapshot(last)
    rows = [_row(who, text, error) for who, text, error in _rows(lines)]
    style = _PRE if last else f"{_PRE};{_SCROLLED}"
    return f'<pre style="{style}">{"".join([*rows, *_rest(printed, counts["dropped"])])}</pre>'


def listing(printed: Printed) -> str:
    """Return the output as plain text."""
    lines, counts = printed.snapshot()
    rows = [f"{who}{text}" for who, text, _ in _rows(lines)]
    return "".join([f"{summary(printed)}:\n", *rows, *_rest(printed, counts["dropped"])])


def _rest(printed: Printed, dropped: int) -> list[str]:
    if not dropped:
        return []
    where = f"; {printed.where} has the last of them" if printed.where else ""
    return [f"... {dropped:,} more lines are not kept here{escape(where)}\n"]


def _rows(lines: Sequence[Line]) -> Iterator[tuple[str, str, bool]]:
    """Return for each line its task's label, padded, where that changes; its text; whether it went to stderr."""
    labels = [_label(line) for line in lines]
    width = max(map(len, labels), default=0)
    before = ""
    for line, label in zip(lines, labels, strict=True):
        who = f"{'' if label == before else label:{width}} │ "
        before = label
        text = _CODES.sub("", line.text.removesuffix("\n"))
        yield who, text + "\n", line.number == 2
        if line.times == ALIKE:
            yield f"{'':{width}} │ ", text + "\n", line.number == 2
        elif line.times > ALIKE:
            yield f"{'':{width}} │ ", f"... {line.times - 1:,} more lines like this\n", line.number == 2


def _label(line: Line) -> str:
    name = line.who if len(line.who) <= _WHO else f"{line.who[:8]}…{line.who[-(_WHO - 9) :]}"
    return f"{name} stderr" if line.number == 2 else name


def _row(who: str, text: str, error: bool) -> str:
    shown = escape(text[:-1])
    told = f'<span style="{_ERROR}">{shown}</span>\n' if error else f"{shown}\n"
    return f'<span style="{_PALE}">{escape(who)}</span>{told}'
