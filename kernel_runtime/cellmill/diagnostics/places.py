"""Where a function is defined, as people call it."""

from __future__ import annotations

import os

from .tracebacks import cell_of


def place_of(file: str, line: int) -> str:
    """Return "In[5], line 2", or the end of a file's path and the line; empty where there is no file."""
    if not file:
        return ""
    cell = cell_of(file)
    if cell:
        return f"{cell}, line {line}"
    return f"{os.path.join(*file.split(os.sep)[-2:])}:{line}"
