"""The execute_request that has the present code run, by which a page knows the cell."""

from __future__ import annotations

from collections.abc import Callable

_request_of: Callable[[], str | None] | None = None


def ask_requests(request_of: Callable[[], str | None] | None) -> None:
    """Set what returns the msg_id of the request that runs the calling code; None: nothing does."""
    global _request_of
    _request_of = request_of


def present_request() -> str | None:
    """Return the msg_id of the execute_request that has the calling code run; None where none is known."""
    return _request_of() if _request_of is not None else None
