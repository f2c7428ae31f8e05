"""Two runs beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellmill.errors import UsageError
from cellmill.executor import Executor
from cellmill.records.catalogue import compare
from cellmill.telemetry import schema
from cellmill.telemetry.comparison import Table


def compare_runs(executor: Executor, command: Mapping[str, Any]) -> schema.Comparison:
    """Compare two runs, which may be of other executors."""
    before, after = command.get("before"), command.get("after")
    if type(before) is not int or type(after) is not int:
        raise UsageError(f"two numbers of runs are compared, not {before!r} and {after!r}")
    found = compare(before, after)
    return {
        "cellmill": schema.VERSION,
        "kind": "comparison",
        "request": int(command["request"]),
        "before": found.before.label,
        "after": found.after.label,
        "sentence": f"{found.sentence}.",
        "tables": [_told(table) for table in found.tables],
        "notes": list(found.notes),
    }


def _told(table: Table) -> schema.ComparedTable:
    return {
        "title": table.title,
        "rows": [
            {"what": what, "before": before, "after": after, "change": change}
            for what, before, after, change in table.rows
        ],
    }
