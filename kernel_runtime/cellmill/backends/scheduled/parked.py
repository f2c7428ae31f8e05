"""Elements of a stream whose inputs the scheduler does not know: items of a batch, tasks of other executors.

Elements are packed by whichever thread has results, also by the one that settles futures, and Stop is held back
meanwhile. Waiting for an input there would wait for itself: the element is left out, and sent when its input is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from ...futures import OVER, Future


class ParkedElement(NamedTuple):
    """An element, the future that it waits for, and how it is to be sent: see `Stream._submit`."""

    awaits: Future
    item: Any
    attempt: int
    delay: float | None
    position: int | None


class _Waiter:
    """Hears of a future's end as those of `concurrent.futures.wait` do: under the future's lock, so it is quick."""

    def __init__(self, over: Callable[[], None]) -> None:
        self._over = over

    def add_result(self, future: Future) -> None:
        """It has a value, an error, or was cancelled."""
        self._over()

    add_exception = add_cancelled = add_result


class Parked:
    """The parked elements of one stream, by their keys. ``go_on``: called with the key of each whose input is over, to
    take the element and send it.
    """

    def __init__(self, go_on: Callable[[Any], None]) -> None:
        self._go_on = go_on
        self._elements: dict[Any, ParkedElement] = {}
        self._over: SimpleQueue[Any] = SimpleQueue()  # keys; None: some were taken
        self._lock = threading.Lock()
        self._served = False  # by a thread, which ends when nothing is parked

    def __len__(self) -> int:
        return len(self._elements)

    def __contains__(self, key: Any) -> bool:
        return key in self._elements

    def keys(self) -> list[Any]:
        """Return the keys of all elements."""
        return list(self._elements)

    def awaited_by(self, key: Any) -> Future | None:
        """Return the future that this element waits for; None when it is not here."""
        element = self._elements.get(key)
        return None if element is None else element.awaits

    def add(self, key: Any, element: ParkedElement) -> None:
        """Park an element until the future that it awaits is over."""
        with self._lock:
            self._elements[key] = element
            if not self._served:
                threading.Thread(target=self._serve, name="cellmill-inputs", daemon=True).start()
                self._served = True
        tell, future = partial(self._over.put, key), element.awaits
        with future._condition:
            over = future._state in OVER
            if not over:
                future._waiters.append(_Waiter(tell))
        if over:
            tell()

    def take(self, key: Any) -> ParkedElement | None:
        """Take one out; None when it is not here."""
        with self._lock:
            element = self._elements.pop(key, None)
        self._over.put(None)
        return element

    def clear(self) -> dict[Any, ParkedElement]:
        """Take all out."""
        with self._lock:
            elements, self._elements = self._elements, {}
        self._over.put(None)
        return elements

    def _serve(self) -> None:
        while True:
            key = self._over.get()
            if key is not None:
                self._go_on(key)
            del key
            with self._lock:
                if not self._elements:
                    self._served = False
                    return
