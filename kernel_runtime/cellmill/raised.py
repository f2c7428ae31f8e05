"""Exceptions on their way from a worker to the kernel.

What comes is a pickle of plain text and bytes, so that it can be read even where the exception itself cannot be
pickled, or not be loaded again.
"""

from __future__ import annotations

import os
import pickle
import traceback
from concurrent.futures.process import _RemoteTraceback
from typing import Any

from . import payload, read_only
from .errors import PayloadError, text_of


def encode_error(error: BaseException, name: str) -> bytes:
    """(pickled exception or b"", its remote traceback, type name, text, function): all of it plain."""
    read_only.explain(error)
    text = _traceback_of(error)
    BaseException.with_traceback(error, None)  # by its own class's methods nothing is safe to do
    try:
        encoded = payload.encode(error)
        data = encoded.data if not encoded.buffers else pickle.dumps(error)
        pickle.loads(data)  # exceptions with required arguments pickle but do not come back
    except BaseException:
        data = b""
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    return pickle.dumps((data, text, kind, text_of(error), name), 5)


def load_error(data: bytes | memoryview) -> BaseException:
    """The exception a task raised, its remote traceback as ``__cause__``."""
    pickled, text, type_name, words, name = pickle.loads(data)
    error: BaseException
    try:
        if not pickled:
            raise ValueError("it cannot be pickled and loaded again")
        error = pickle.loads(pickled)
        if not isinstance(error, BaseException):
            raise TypeError(f"it came back as a {type(error).__name__}")
    except BaseException as problem:  # whatever its __reduce__ names ran here
        error = PayloadError(
            f"{name} raised {type_name}: {words}. The exception itself could not be brought here "
            f"({text_of(problem)}); its text and traceback are the cause shown. Exceptions travel when all arguments "
            "of their __init__ are passed on to super().__init__."
        )
    set_cause(error, _RemoteTraceback(f"\n{text}"))  # type: ignore[arg-type]
    return error


def here_and_now(error: BaseException) -> BaseException:
    """An exception that a task raised in this process, as `load_error` would give it: its frames are let go of."""
    if isinstance(error.__cause__, _RemoteTraceback):  # another task raised it before
        set_cause(error, None)
    text = _traceback_of(error)
    BaseException.with_traceback(error, None)
    set_cause(error, _RemoteTraceback(f"\n{text}"))  # type: ignore[arg-type]
    return error


def set_cause(error: BaseException, cause: BaseException | None) -> None:
    """``error.__cause__ = cause``, also where its class refuses attributes."""
    BaseException.__dict__["__cause__"].__set__(error, cause)


def _traceback_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, _own_frames_left_out(error)))
    except BaseException:  # its notes or its causes cannot be shown
        frames = traceback.format_tb(_own_frames_left_out(error))
        return "".join(
            [
                "Traceback (most recent call last):\n",
                *frames,
                f"{type(error).__qualname__}: {text_of(error)}\n",
            ]
        )


def _own_frames_left_out(error: BaseException) -> Any:
    here = os.path.dirname(__file__) + os.sep
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(here) and tb.tb_next is not None:
        tb = tb.tb_next
    return tb
