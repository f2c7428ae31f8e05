"""The part of a result's key that comes from settings which values depend on: locale and time zone, and, where they are
not as their library begins with, decimal precision, numpy's, pandas', scikit-learn's and RDKit's, and filters that make
errors of warnings.
"""

from __future__ import annotations

import functools
import locale
import os
import threading
import time
import warnings
from typing import Any

from ..backends.scheduled.settings_watch import SettingsWatch
from ..process_context.settings import Settings

_NO_VALUES = (  # they decide whether a call ends in an error, where its files are, or how figures look
    "recursion",
    "digits",
    "figures",
    "files",
    "sockets",
)
_lock = threading.Lock()
_watch: SettingsWatch | None = None
_latest: tuple[Settings, bytes, bytes] | None = None


def told(*, figures: bool) -> bytes:
    """Those of this process and thread, in bytes. ``figures``: with matplotlib's parameters."""
    global _watch, _latest
    with _lock:
        if _watch is None:
            _watch = SettingsWatch()
        now = _watch.now()
        latest = _latest
        if latest is None or latest[0] is not now:
            latest = _latest = now, _bytes_of(now), repr(now.figures).encode() if now.figures else b""
    found = latest[1] + latest[2] if figures else latest[1]
    errors = [each for each in warnings.filters if each[0] == "error"]  # a warning ends a call then
    if errors:
        found += repr(errors).encode()
    return found + _of_process(locale.setlocale(locale.LC_ALL), time.tzname, time.timezone, time.altzone)


@functools.lru_cache(maxsize=16)
def _of_process(*settings: Any) -> bytes:
    return repr(settings).encode()


def _bytes_of(settings: Settings) -> bytes:
    molecules = () if settings.molecules is ... else settings.molecules
    set_anew = settings._replace(
        molecules=tuple((name, on) for name, on in molecules if not name.startswith("rdApp."))
    )
    found = [
        (name, value)
        for name, value in set_anew._asdict().items()
        if name not in _NO_VALUES and value not in (None, ())
    ]
    return repr(found).encode() if found else b""


os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]
