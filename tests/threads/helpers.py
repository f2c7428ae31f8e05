"""What tests of threads share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

SOON = 60.0


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


class Thing:
    """Something that cannot be pickled, and can be watched."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
