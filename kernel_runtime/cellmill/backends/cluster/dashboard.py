"""The dashboard that a cluster has itself: its address is told once something answers there.

A cluster of Cellmill's own has none, and its engine may name an address nevertheless: that of a server for other
purposes.
"""

from __future__ import annotations

import contextlib
import threading
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from .engines.protocol import Engine

ANSWER_SECONDS = 5.0
PAUSES = (0.0, 1.0, 3.0, 10.0, 30.0)  # before each look: a server may start later than its cluster
MISSING = (404, 410)
FAILED = 500


class Dashboard:
    """Of one engine. `link` may be read from any thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._over = threading.Event()
        self.link = ""  # while there is none, or it is not known

    def find(self) -> None:
        """Look for it, in a thread of its own."""
        threading.Thread(target=self._find, name="cellmill-dashboard", daemon=True).start()

    def close(self) -> None:
        """The cluster goes."""
        self._over.set()
        self.link = ""

    def _find(self) -> None:
        for pause in PAUSES:
            if self._over.wait(pause):
                return
            found = self._engine.dashboard()
            if found and is_there(found):
                if not self._over.is_set():
                    self.link = found
                return


def is_there(link: str) -> bool:
    """Return whether a page is at this address; False for any that is not by http or https."""
    with contextlib.suppress(OSError, ValueError):
        if urlsplit(link).scheme not in ("http", "https"):
            return False
        try:
            asked = urllib.request.Request(link, method="HEAD")
            with urllib.request.urlopen(asked, timeout=ANSWER_SECONDS):
                return True
        except (
            urllib.error.HTTPError
        ) as error:  # most pages of Dask and Ray refuse HEAD, which says that they are there
            return error.code not in MISSING and error.code < FAILED
    return False
