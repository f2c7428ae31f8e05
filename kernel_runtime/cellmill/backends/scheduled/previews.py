"""Previews of payloads as short text."""

from __future__ import annotations

from typing import Any

from ...diagnostics.short_text import short_arguments


def shown(body: Any, element: int | None) -> str:
    """Return the arguments in a payload's preview (`serialization.preview`), those of one element of a chunk."""
    if type(body) is dict:  # a chunk
        items = body.get("items", [])
        if element is None or element >= len(items):
            shown = short_arguments(tuple(items), {})
            return shown if len(items) == 1 else f"{len(items):,} elements: {shown}"
        return short_arguments(tuple(items[element]) if body.get("star") else (items[element],), {})
    return short_arguments(*body[-2:]) if type(body) is list else short_arguments(body, {})
