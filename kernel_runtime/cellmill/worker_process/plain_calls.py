"""Plain calls: the tasks that a worker runs one after another in C (csched/python/calls.c)."""

from __future__ import annotations

import pickle
from typing import Any

from ..backends.scheduled.scheduler import ffi
from ..serialization import payload


class PlainCalls:
    """State of the C loop over plain calls: borrowed references to objects that this object keeps alive.

    ``functions`` are by number; ``printed`` is not empty while something a call printed is to go out before its
    result. What a call raised or returned that needs more care is found in ``aside``.
    """

    def __init__(self, functions: dict[int, Any], printed: list[Any]) -> None:
        self.aside: list[Any] = []
        self.form = ffi.new("csched_calls_t *")
        self._kept = {
            "functions": functions,
            "printed": printed,
            "aside": self.aside,
            "loads": pickle.loads,
            "encode": payload.encode_simple,
        }
        for name, thing in self._kept.items():
            setattr(self.form, name, ffi.cast("void *", id(thing)))
