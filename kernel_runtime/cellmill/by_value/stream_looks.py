"""Detection, in a worker, of calls that draw from the streams of `random` and `numpy.random` in the code of packages.

Draws in the user's own code show there (`randomness.own_streams`); those of `table.sample()` and the like do not.
"""

from __future__ import annotations

import contextlib
import pickle
import random
import sys
from typing import Any

RANDOM, NUMPY = "random", "numpy.random"
STREAM_SHOWN = {RANDOM: "the stream of random", NUMPY: "the stream of numpy.random"}

# Streams from which no other thread of this process draws: its draws would look like those of a call.
looked_at: frozenset[str] = frozenset()


def states() -> dict[str, Any]:
    """Return the states of the streams that are looked at, to be compared after a call; takes about 30 us."""
    found: dict[str, Any] = {RANDOM: random.getstate()} if RANDOM in looked_at else {}
    numpy = sys.modules.get(NUMPY)
    if numpy is not None and NUMPY in looked_at:
        with contextlib.suppress(Exception):  # the user may have another function there
            found[NUMPY] = pickle.dumps(numpy.get_state(legacy=False))
    return found


def drawn_since(before: dict[str, Any]) -> list[str]:
    """Return the streams that have another state than before, in words."""
    if not before:
        return []
    now = states()
    return [STREAM_SHOWN[stream] for stream, state in before.items() if now.get(stream) != state]
