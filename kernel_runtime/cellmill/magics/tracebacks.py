"""Errors in cells end at the user's line, with the task's own traceback under one header."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import cellmill_widgets
from cellmill.diagnostics.tracebacks import add_folder
from cellmill.serialization.exceptions import RemoteTraceback

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HEADER = re.compile(rf"{RemoteTraceback.__name__}\s+Traceback \(most recent call last\)")

add_folder(os.path.dirname(os.path.abspath(str(cellmill_widgets.__file__))))


@contextlib.contextmanager
def one_header(ip: InteractiveShell) -> Iterator[None]:
    """While a traceback is shown: the shell puts a header before each exception, and a remote traceback has its own."""
    before, show = vars(ip).get("_showtraceback"), ip._showtraceback

    def show_without(kind: Any, value: Any, lines: list[str]) -> Any:
        return show(kind, value, _without_headers(lines))

    vars(ip)["_showtraceback"] = show_without
    try:
        yield
    finally:
        if vars(ip).get("_showtraceback") is show_without:
            del vars(ip)["_showtraceback"]
            if before is not None:
                vars(ip)["_showtraceback"] = before


def _without_headers(lines: list[str]) -> list[str]:
    if not any(RemoteTraceback.__name__ in part for part in lines):
        return lines
    kept = []
    for part in lines:
        inner = [line for line in part.split("\n") if not _HEADER.fullmatch(_COLOURS.sub("", line).strip())]
        if inner:
            kept.append("\n".join(inner))
    return kept
