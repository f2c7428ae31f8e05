"""What cancels: said where the action begins, and read where it is carried out, for the errors of what is cancelled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_here = threading.local()


@contextlib.contextmanager
def cancelling(by: str) -> Iterator[None]:
    """What is cancelled in this block, by this thread, was cancelled by this; the outermost block says it."""
    outer = getattr(_here, "by", "")
    _here.by = outer or by
    try:
        yield
    finally:
        _here.by = outer


def who(default: str) -> str:
    """What the outermost block of this thread says; ``default`` outside of any."""
    return getattr(_here, "by", "") or default
