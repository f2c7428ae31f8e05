"""Variables that a cell changed in place in a worker without assigning them: they do not arrive in the notebook."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

MOST_BYTES = 1 << 26  # of one array that is kept for comparison


def watch(variables: Mapping[str, Any]) -> Callable[[], tuple[str, ...]]:
    """Note what variables hold; the function that is returned names those that hold something else by then."""
    captures = [found for name, value in variables.items() if (found := _capture(name, value)) is not None]

    def changed() -> tuple[str, ...]:
        names: dict[str, None] = {}
        for capture in captures:
            try:
                name = capture.changed()
            except Exception:
                continue  # its own code does not compare; nothing is said of it
            if name is not None:
                names[name] = None
        return tuple(sorted(names))

    return changed


def _capture(name: str, value: Any) -> Any:
    from ..by_value.capture import Capture
    from ..by_value.capture_entries import ATTRIBUTE
    from ..by_value.capture_kinds import ATOMS

    if type(value) in ATOMS:
        return None
    walk = _walk()
    try:
        walk.go(value, name)
        kept = [
            (entry, variable)
            for entry, variable in zip(walk.entries, walk.names, strict=True)
            if not (entry[0] == ATTRIBUTE and isinstance(entry[1], (types.FunctionType, type)))
        ]
        walk.entries, walk.names = [entry for entry, _ in kept], [variable for _, variable in kept]
        return Capture(walk, 0)
    except Exception:
        return None


def _walk() -> Any:
    from ..by_value.capture import memory_of
    from ..by_value.capture_kinds import Walk

    class Limited(Walk):
        """Without large arrays, which would be kept twice."""

        def memory(self, kind: int, value: Any, key: Any, name: str) -> None:
            if getattr(value, "nbytes", 0) <= MOST_BYTES:
                super().memory(kind, value, key, name)

    return Limited(memory_of, in_worker=True)
