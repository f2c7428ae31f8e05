"""Threads that look at something now and then, for as long as a pool is open."""

from __future__ import annotations

import threading
from collections.abc import Callable

JOIN_SECONDS = 2.0


class Looking:
    """Those of one pool. They have ended when it has: a program that ends meanwhile keeps its globals, which such a
    thread refers to, and the files that it has not closed would not be written to their ends.
    """

    def __init__(self) -> None:
        self.over = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, name: str, look: Callable[[], float]) -> None:
        """Call ``look`` in a thread of its own, again after as many seconds as it returns."""
        thread = threading.Thread(target=self._run, args=(look,), name=f"cellmill-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, look: Callable[[], float]) -> None:
        while not self.over.wait(look()):
            pass

    def end(self) -> None:
        """Look no more."""
        self.over.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(JOIN_SECONDS)
        self._threads.clear()
