"""A worker of a cluster that the kernel started ends with the kernel, whatever runs in it.

Dask's own watch over it is a thread of Python's, which waits while a task keeps the GIL; this one is not.
"""

from __future__ import annotations

import contextlib
import os

_watched: set[int] = set()  # kernels that this process ends with: those that it was started by


def end_with(kernel: int) -> None:
    """End this process, and what it has started, when the kernel that started it ends. Another one's does nothing."""
    if kernel in _watched or os.getppid() != kernel:
        return
    with contextlib.suppress(ImportError, OSError):
        from .... import _csched

        if _csched.lib.csched_end_with(os.pidfd_open(kernel), 0, b"") == 0:
            _watched.add(kernel)
