"""The texts of pickles, among which are the names of what they refer to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LEAST = 2048  # bytes of a pickle that is searched as it is, in the time that it takes to find its texts


def _from_c() -> Callable[[Any], Any]:
    try:
        from .. import _csched_with_gil
    except ImportError:  # on a machine that the C scheduler is not for
        return lambda data: data
    made: list[Any] = []
    _csched_with_gil.lib.csched_pickle_texts(_csched_with_gil.ffi.cast("void *", id(made)))
    (texts,) = made
    found: Callable[[Any], Any] = texts
    return found


_texts = _from_c()


def texts_of(data: bytes) -> bytes:
    """What of a pickle is to be searched for names: its texts, with the opcodes that make names of them.

    Its numbers and large contents took several times as long to search as to pickle. Of what is no pickle, all of it.
    """
    found: bytes = _texts(data) if len(data) > LEAST else data
    return found
