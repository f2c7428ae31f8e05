"""Variables that a cell changed in place in a worker without assigning them: they do not arrive in the notebook."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

MOST_BYTES = 1 << 26  # of one array that is kept for comparison


class Watched:
    """What variables held at first."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._captures: dict[str, Any] = {}
        self.unknown: set[str] = set()  # of these not all is compared
        for name, value in variables.items():
            capture, whole = _capture(name, value)
            if capture is not None:
                self._captures[name] = capture
            if not whole:
                self.unknown.add(name)

    def changed(self) -> tuple[str, ...]:
        """Return the names of what has changed in place since."""
        names: dict[str, None] = {}
        for variable, capture in self._captures.items():
            try:
                name = capture.changed()
            except Exception:
                self.unknown.add(variable)  # its own code does not compare; nothing is said of it
                continue
            if name is not None:
                names[name] = None
        return tuple(sorted(names))


def _capture(name: str, value: Any) -> tuple[Any, bool]:
    """Return what compares a variable, None where there is nothing to compare; and whether that is all of it."""
    from ..by_value.capture import Capture
    from ..by_value.capture_entries import ATOMS, ATTRIBUTE

    if type(value) in ATOMS:
        return None, True
    walk = _walk()
    try:
        walk.go(value, name)
        kept = [
            (entry, variable)
            for entry, variable in zip(walk.entries, walk.names, strict=True)
            if not (entry[0] == ATTRIBUTE and isinstance(entry[1], (types.FunctionType, type)))
        ]
        walk.entries, walk.names = [entry for entry, _ in kept], [variable for _, variable in kept]
        return Capture(walk, 0), walk.whole
    except Exception:
        return None, False


def _walk() -> Any:
    from ..by_value.capture import memory_of
    from ..by_value.capture_kinds import Walk

    class Limited(Walk):
        """Without large arrays, which would be kept twice."""

        whole = True  # nothing was left out

        def memory(self, kind: int, value: Any, key: Any, name: str) -> None:
            if getattr(value, "nbytes", 0) <= MOST_BYTES:
                super().memory(kind, value, key, name)
            else:
                self.whole = False

    return Limited(memory_of, in_worker=True)
