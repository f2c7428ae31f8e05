"""Waiting for what comes by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.support.helpers import SECONDS


def until(ask: Callable[[], Any]) -> Any:
    """What `ask` says once it says anything."""
    deadline = time.monotonic() + SECONDS
    while not (found := ask()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
    return found
