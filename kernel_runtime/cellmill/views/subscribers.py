"""Receivers of a publisher: the views that show it, as long as they answer, and recorders.

A page that crashes, or whose machine sleeps, says no goodbye. So a page that is sent something repeats what it
watches every few seconds (see heartbeat.ts), and one that was sent frames and stays silent is dropped. No view has to
speak while nothing is sent: an idle kernel stays idle. A page that wakes repeats its wish and is a new listener then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

Wish = tuple[str, int | None]  # a section, and the run that it is to be of; None: all tasks
SILENCE = 20.0  # seconds without a word after a frame: then a page is gone; it speaks every five


@dataclass(slots=True)
class _Listener:
    sections: frozenset[Wish]
    lasting: bool  # no page, and never dropped
    between_cells: bool  # heard on the main thread: not while a cell runs
    unanswered: float | None = None  # when it was sent the first frame after its last word


class Listeners:
    """Subscribers by name; called from any thread. ``clock`` returns seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, _Listener] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def heard(
        self, name: str, sections: frozenset[Wish] | None = None, *, lasting: bool = False
    ) -> frozenset[Wish] | None:
        """Record a message from a subscriber, received on the calling thread. ``sections``: what it shows from now on;
        None keeps that.

        Returns what it showed before; None: it was not known.
        """
        on_main = threading.current_thread() is threading.main_thread()
        with self._lock:
            known = self._known.get(name)
            if known is None:
                self._known[name] = _Listener(sections or frozenset(), lasting, on_main)
                return None
            before = known.sections
            known.sections = before if sections is None else sections
            known.between_cells, known.unanswered = on_main, None
            return before

    def left(self, name: str) -> None:
        """Remove a subscriber that said goodbye."""
        with self._lock:
            self._known.pop(name, None)

    def told(self) -> None:
        """Note that a frame was sent to all."""
        with self._lock:
            for known in self._known.values():
                if known.unanswered is None:
                    known.unanswered = self._clock()

    def cell_ended(self) -> None:
        """Note that the cell ended: views that could not send while it ran can send from now on."""
        with self._lock:
            for known in self._known.values():
                if known.between_cells:
                    known.unanswered = None

    def drop_silent(self, in_cell: bool) -> list[str]:
        """Forget views that are gone; return their names. ``in_cell``: the main thread is in a cell and hears none."""
        oldest = self._clock() - SILENCE
        with self._lock:
            gone = [
                name
                for name, known in self._known.items()
                if not known.lasting
                and not (in_cell and known.between_cells)
                and known.unanswered is not None
                and known.unanswered < oldest
            ]
            for name in gone:
                del self._known[name]
        return gone

    def sections_of(self, name: str) -> frozenset[Wish]:
        """Return the sections that a subscriber shows."""
        with self._lock:
            known = self._known.get(name)
            return known.sections if known is not None else frozenset()

    def sections(self, but: str = "") -> frozenset[Wish]:
        """Return the sections that any subscriber shows, or any other than one."""
        with self._lock:
            return frozenset[Wish]().union(
                *(known.sections for name, known in self._known.items() if name != but)
            )
