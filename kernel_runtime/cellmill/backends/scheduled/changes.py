"""What tasks change of the state that their function has captured, as workers tell it (`watched`)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from ... import notices


def hear(data: bytes, named: Callable[[str], Any]) -> None:
    """A worker's word: (name of the function, variable)."""
    name, variable = pickle.loads(data)
    notices.give(
        (name, variable),
        f"tasks of {name} change {variable}. {notices.stays_there(variable)}",
        named(name),
    )
