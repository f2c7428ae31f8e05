"""Where tasks run. `create` picks by name; each backend is imported on first use."""

from __future__ import annotations

import difflib
from typing import Any

from ..errors import BackendError, UsageError
from ._protocol import Backend

KNOWN = ("local", "inline")

__all__ = ["KNOWN", "Backend", "create"]


def create(name: Any, max_workers: int | None, **options: Any) -> Backend:
    """The backend of this name; raises `BackendError` when it is unknown or cannot run here."""
    if name == "local":
        from .local.backend import LocalBackend

        return LocalBackend(max_workers, **options)
    if name == "inline":
        from .inline import InlineBackend

        return InlineBackend(max_workers, **options)
    if not isinstance(name, str):
        raise UsageError(f"backend must be a name, not a {type(name).__name__}")
    close = difflib.get_close_matches(name, KNOWN, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise BackendError(f"unknown backend {name!r}; this version has: {', '.join(KNOWN)}.{hint}")
