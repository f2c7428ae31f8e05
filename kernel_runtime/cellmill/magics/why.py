"""`%why`: why a task waits, in words."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import cellmill
from cellmill.magics.lines import Line

USAGE = "%why TASK (a future, or a task's number)"

HELP = """Say why a task waits, and what helps; or how it failed.

    %why TASK        TASK is a future (`result`, `futures[3]`), or the number of a task as errors and the panel
                     show it: 12, #12
"""


def run_why(ip: InteractiveShell, text: str) -> None:
    """The magic: `text` is the rest of its line."""
    line = Line("%why", text, USAGE)
    named = text.strip()
    if not named:
        raise line.error("which task? name a future, or give a task's number")
    task = _number(named) or _value(ip, line, named)
    try:
        print(cellmill.why(task))
    except cellmill.CellmillError as error:
        raise line.error(str(error), 0, len(text.rstrip())) from None


def _number(text: str) -> int:
    digits = text.removeprefix("#")
    return int(digits) if digits.isdecimal() and len(digits) < 20 else 0


def _value(ip: InteractiveShell, line: Line, text: str) -> Any:
    try:
        value = ip.ev(text)  # type: ignore[no-untyped-call]
    except Exception as error:
        reason = f"{text} names no task here ({type(error).__name__}: {error})"
        raise line.error(reason, 0, len(line.text.rstrip())) from None
    if not isinstance(value, Future):
        reason = f"{text} is no task but of type {type(value).__name__}; a task is named by its future or its number"
        raise line.error(reason, 0, len(line.text.rstrip())) from None
    return value
