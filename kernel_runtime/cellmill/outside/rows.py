"""Rows of a table: a list of dicts that shows itself as one."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


class Rows(list[dict[str, Any]]):
    """Dicts with the same keys; some of these are columns of its picture."""

    def __init__(self, rows: Iterable[dict[str, Any]], columns: tuple[str, ...]) -> None:
        super().__init__(rows)
        self.columns = columns

    def _cells(self) -> list[list[str]]:
        return [list(self.columns), *([_text(row.get(name)) for name in self.columns] for row in self)]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[at]) for row in cells) for at in range(len(self.columns))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells
        )
        return "\n".join(line.rstrip() for line in lines) if self else "none"

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        names = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    return str(value)
