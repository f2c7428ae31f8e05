"""The magics of the notebook: one module each, loaded by `%load_ext cellmill`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cellmill.magics.session import Session

_sessions: dict[int, Session] = {}


def load(ip: InteractiveShell) -> None:
    """Register everything in a shell; a second time does nothing."""
    if id(ip) not in _sessions:
        from cellmill.magics.session import Session

        _sessions[id(ip)] = Session(ip)


def unload(ip: Any) -> None:
    """Take everything out of a shell again; the workers stay until the kernel ends or `%cellmill stop`."""
    session = _sessions.pop(id(ip), None)
    if session is not None:
        session.close()
