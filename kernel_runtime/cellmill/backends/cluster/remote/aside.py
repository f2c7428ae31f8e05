"""Packs that come while a task of their lane waits for others and has left its place on the worker to them."""

from __future__ import annotations

import contextlib
import sys
import threading


def wait_aside(turn: threading.Lock) -> None:
    """Take ``turn`` once it is free. Until then this pack gives its place away, too: what is waited for may need it."""
    if "distributed" in sys.modules:
        with contextlib.suppress(Exception):  # a thread that is none of the worker's places
            from distributed import secede

            secede()
    turn.acquire()
