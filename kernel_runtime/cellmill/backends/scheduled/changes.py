"""Changes that tasks make to captured state, as workers report them (`watched`)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from ...diagnostics import notices


def hear(data: bytes, named: Callable[[str], Any]) -> None:
    """A worker's word: (name of the function, variables). Each is told once."""
    name, variables = pickle.loads(data)
    new = [variable for variable in variables if notices.is_new((name, variable))]
    if new:
        shown = notices.listed(new)
        notices.warn(f"tasks of {name} change {shown}. {notices.stays_there(shown, len(new))}", named(name))
