"""Single tasks that are over when they are submitted: an input had failed, and the scheduler knows it no longer."""

from __future__ import annotations

from ...futures import Future, FutureOwner


class NotRunFuture(Future):
    """The future of such a task. Its arguments are not packed: what views show of them is kept here."""

    def __init__(self, owner: FutureOwner, cause: Future, function: str, arguments: str) -> None:
        super().__init__(owner)
        self._inputs = (cause,)
        self.function = function
        self.arguments = arguments
