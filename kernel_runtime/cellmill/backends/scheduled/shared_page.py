"""The page in shared memory on which other processes see this scheduler (csched_outside.h)."""

from __future__ import annotations

import os
import weakref

from .scheduler import Scheduler, check, ffi, with_gil

__all__ = ["SharedPage"]


class SharedPage:
    """One page, made with this object; it lasts as long as the scheduler, which has one at most."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        out = ffi.new("int *")
        check(with_gil.csched_outside_open(scheduler.handle, out), "showing figures to other processes")
        self.descriptor = int(out[0])
        weakref.finalize(self, os.close, self.descriptor)
        self.most_text = int(with_gil.CSCHED_OUTSIDE_TEXT)

    def tell(self, text: bytes) -> None:
        """Replace what the page says in words; one thread at a time."""
        check(
            with_gil.csched_outside_tell(self._scheduler.handle, text, len(text)), "telling other processes"
        )
