"""A stream for what Dask draws in the other threads of a worker.

It samples lists to tell their sizes, and payloads before it compresses them. Drawn from the stream of `random`, that
would take numbers from a seeded task that runs meanwhile.
"""

from __future__ import annotations

import random
import sys
from types import ModuleType
from typing import Any

DRAWING = (
    "dask.sizeof",
    "distributed.comm.core",
    "distributed.protocol.compression",
    "distributed.utils_comm",
    "distributed.worker",
    "tornado.ioloop",
)
_stream = random.Random()


class _Module(ModuleType):
    """Stands for `random`: its functions draw from the engine's stream."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_stream if hasattr(_stream, name) else random, name)


_random = _Module("random")


def give_engine_a_stream() -> None:
    """Have the loaded modules of Dask that draw do so from a stream of their own; calling it again changes nothing."""
    for name in DRAWING:
        held = vars(sys.modules[name]) if name in sys.modules else {}
        for key, value in held.copy().items():
            if value is random:
                held[key] = _random
            elif getattr(value, "__self__", None) is random._inst:
                held[key] = getattr(_stream, value.__name__)
