"""What the process of a remote worker uses, as it reads it itself."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import NamedTuple

from ....process_context.cpus import available_cpus
from ....process_context.machine import is_bounded, left_and_total, sizes_of
from .. import clocks

NO_LIMIT = 1 << 62  # of memory: it is not known
_MARK = os.urandom(8)


class Answer(NamedTuple):
    """The answer to (MEASURE, token)."""

    process: tuple[bytes, int]  # equal in the same process alone
    running: dict[int, int]  # ticket of the task in hand, by lane; 0: none
    at: float  # monotonic seconds of this machine
    own: int  # bytes that are its own; 0: not known
    resident: int  # bytes in all
    seconds: float  # processor time so far
    host: str
    machine: str  # equal where memory and processors are the same
    cpus: int
    total: int  # bytes of the machine, or of its control group; 0: not known
    left: int


def process() -> tuple[bytes, int]:
    """Return what names this process; another one that was forked from it has another number."""
    return _MARK, os.getpid()


def machine() -> str:
    """Return what names the machine, or the control group where that has a limit of its own."""
    name = socket.gethostname()
    return name if is_bounded() else clocks.boot() or name


def measured(running: Mapping[int, int]) -> Answer:
    """Measure this process. ``running``: the task in hand, by lane."""
    own, resident = sizes_of(os.getpid())
    left, total = left_and_total()
    known = total < NO_LIMIT
    return Answer(
        process(),
        dict(running),
        time.monotonic(),
        own,
        resident,
        time.process_time(),
        socket.gethostname(),
        machine(),
        available_cpus(),
        total if known else 0,
        left if known else 0,
    )
