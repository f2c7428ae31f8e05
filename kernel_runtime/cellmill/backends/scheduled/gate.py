"""Whether a backend takes tasks, and the error that says why it does not."""

from __future__ import annotations

from typing import NoReturn

from ...errors import CellmillError, WorkerLostError
from .. import forked_backend


class Gate:
    """The state of one backend: open until it is shut down, breaks, or is found in a forked child."""

    __slots__ = ("broken", "closed", "foreign")

    def __init__(self) -> None:
        self.broken: CellmillError | None = None  # why no worker can be had
        self.closed = False  # by shutdown
        self.foreign = False  # in a forked child: everything of the backend is its parent's

    def check(self) -> None:
        """Raise the reason when no task can be taken."""
        if self.closed or self.broken is not None:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Raise why no task can be taken; it is closed or broken."""
        self.check_process()
        if self.closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        assert self.broken is not None
        raise WorkerLostError(f"this executor is broken: {self.broken}") from self.broken

    def check_process(self) -> None:
        """Raise in a forked child: waiting there would last for ever, and draining would take the parent's results."""
        if self.foreign:
            raise forked_backend.error()
