"""Messages between a watcher and a server: JSON both ways, a request and its answer."""

from __future__ import annotations

import json
from typing import Any

from ..errors import UsageError

VERSION = 1
MOST_REQUEST = 4096  # bytes
LOOK, PAUSE, RESUME, CANCEL = "look", "pause", "resume", "cancel"
ACTIONS = (LOOK, PAUSE, RESUME, CANCEL)


def request(do: str, **more: Any) -> bytes:
    """Return a request."""
    return json.dumps({"version": VERSION, "do": do, **more}).encode()


def read_request(data: bytes) -> dict[str, Any]:
    """Return what is asked for. Raises `UsageError` for anything else than a request."""
    try:
        found = json.loads(data) if len(data) <= MOST_REQUEST else None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("do") not in ACTIONS:
        raise UsageError("this is no request")
    if found.get("version") != VERSION:
        raise UsageError(
            f"this Cellmill speaks version {VERSION} of the messages, the other one {found.get('version')!r}"
        )
    for name in ("run", "executor", "journeys"):
        value = found.get(name)
        if value is not None and (type(value) is not int or not 0 <= value < 2**63):
            raise UsageError(f"{name} is a whole number, not {value!r}")
    return found


def answer(found: Any = None, error: str = "") -> bytes:
    """Return the answer to a request."""
    return json.dumps({"error": error} if error else {"found": found}).encode()
