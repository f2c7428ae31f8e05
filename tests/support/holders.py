"""What keeps an object that was to go: the words of a failure that does not come again."""

from __future__ import annotations

import gc
import sys
import traceback
import types
from collections.abc import Iterable
from typing import Any
from weakref import ref

DEPTH = 6
MOST = 200  # lines


def told(left: Iterable[ref[Any]]) -> str:
    """Return which objects refer to those that are left, by steps, and where each thread is."""
    lines: list[str] = []
    for one in left:
        if (kept := one()) is not None:
            lines.append(f"{_name(kept)} is kept by")
            _tell(kept, 1, {id(kept), id(left), id(lines)}, lines)
    for frame in sys._current_frames().values():
        lines += ["a thread at", *traceback.format_stack(frame)[-3:]]
    return "\n".join(lines)


def _tell(kept: object, depth: int, seen: set[int], lines: list[str]) -> None:
    found = gc.get_referrers(kept)
    seen.add(id(found))
    for each in found:
        if id(each) in seen or len(lines) > MOST or _is_ours(each):
            continue
        seen.add(id(each))
        lines.append("  " * depth + _name(each))
        if depth < DEPTH and not isinstance(each, types.ModuleType):
            _tell(each, depth + 1, seen, lines)


def _is_ours(each: object) -> bool:
    if isinstance(each, types.FrameType):
        return each.f_code.co_filename == __file__
    return type(each).__name__ == "list_iterator"


def _name(each: object) -> str:
    if isinstance(each, types.FrameType):
        return f"frame {each.f_code.co_name} at {each.f_code.co_filename}:{each.f_lineno}"
    if isinstance(each, dict):
        return f"dict {[str(key)[:30] for key in list(each)[:6]]}"
    return f"{type(each).__module__}.{type(each).__qualname__} {getattr(each, '__qualname__', '')}"
