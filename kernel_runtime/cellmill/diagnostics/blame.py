"""The causes of cancellations: named where the action begins, read where it is carried out, for error messages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

OUTSIDE = "cancel() from another process"  # see `cellmill.attach`

_here = threading.local()


@contextlib.contextmanager
def cancelling(by: str) -> Iterator[None]:
    """Name the cause of what this thread cancels in the block; that of the outermost block counts."""
    outer = getattr(_here, "by", "")
    _here.by = outer or by
    try:
        yield
    finally:
        _here.by = outer


def who(default: str) -> str:
    """Return the cause that the outermost block of this thread names; ``default`` outside of any."""
    return getattr(_here, "by", "") or default
