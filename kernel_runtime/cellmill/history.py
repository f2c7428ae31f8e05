"""The runs of this process as records: what was called where, how long it took, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from html import escape

from .diagnostics.short_text import duration_text

__all__ = ["RunRecord", "Runs"]

_COLUMNS = ("run", "cell", "name", "began", "wall", "succeeded", "failed", "cancelled", "your code")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: a map, a cell's calls of one function, or a ``%%task``."""

    id: int  # the number that `cellmill.cancel` and `cellmill.account` take
    name: str  # of the function
    cell: str  # such as "In[3]"; "" outside of notebooks
    began: datetime  # local time
    wall: float  # seconds from its begin to its end, or to now
    finished: bool  # all its tasks are over, and it gets no more
    submitted: int
    succeeded: int
    failed: int
    cancelled: int
    busy: (
        float | None
    )  # share of the workers' time in user code, without what other runs used; None: not known

    @property
    def outstanding(self) -> int:
        """Number of tasks that are not over."""
        return max(0, self.submitted - self.succeeded - self.failed - self.cancelled)


class Runs(list[RunRecord]):
    """Records of runs, oldest first; a notebook shows them as a table."""

    def __repr__(self) -> str:
        rows = [_COLUMNS, *map(_cells, self)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        )
        return "\n".join(line.rstrip() for line in lines) if self else "no runs"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no runs</p>"
        body = "".join(_row(_cells(record)) for record in self)
        return f"<table><thead>{_row(_COLUMNS, 'th')}</thead><tbody>{body}</tbody></table>"


def _cells(record: RunRecord) -> tuple[str, ...]:
    counts = (record.succeeded, record.failed, record.cancelled)
    return (
        str(record.id),
        record.cell,
        record.name,
        f"{record.began:%H:%M:%S}",
        duration_text(record.wall)
        if record.finished
        else f"{duration_text(record.wall)}, {record.outstanding:,} to go",
        *(f"{count:,}" if count else "" for count in counts),
        "" if record.busy is None else f"{100 * record.busy:.0f} %",
    )


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
