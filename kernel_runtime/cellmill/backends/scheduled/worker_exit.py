"""Ends of worker processes."""

from __future__ import annotations

import os


class Exit:
    """End of a worker process; ``status`` is its wait status, None where only a dead zygote could have known it."""

    def __init__(self, status: int | None, peak_rss: int | None) -> None:
        self.signal = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        self.exitcode = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
        self.peak_rss = peak_rss
        self.task: int | None = None  # the one it ran
        self.output = ""  # the last of what that printed
        self.shared = False  # whether other workers' tasks ran in its process
        self.reason = ""  # why we ended it, in words that follow "the worker"
