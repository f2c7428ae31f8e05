"""Dask's scheduler, set for a whole session."""

from __future__ import annotations

from typing import Any

from . import scheduler

_set: Any = None  # what undoes it


def on() -> None:
    """Make Dask compute with the default executor from now on."""
    global _set
    if _set is None:
        _set = scheduler()


def off() -> bool:
    """Make Dask compute as before; return whether it was on."""
    global _set
    was, _set = _set, None
    if was is not None:
        was.__exit__(None, None, None)
    return was is not None
