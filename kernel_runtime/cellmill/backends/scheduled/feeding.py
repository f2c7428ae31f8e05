"""A map whose input is taken in a thread of its own, as `multiprocessing.Pool` takes that of its `imap`: an input that
blocks, or waits for an earlier result, holds up neither the call nor results.

One thread takes, element by element; another one sends what was taken while it took more.
"""

from __future__ import annotations

import threading
from typing import Any

from ...diagnostics import notices
from ...serialization.function_code import function_name
from ..taking import LARGEST_BLOCK, LONGEST_SEARCH_S, endless
from .mapping import MapResults

LOOK_S = 0.05  # for the cancellation of a map of which no element is under way


class FedResults(MapResults):
    """See `MapResults`; the reader takes nothing itself."""

    def __init__(self, *args: Any) -> None:
        self._changed = threading.Condition()
        self._taken: list[Any] = []  # and not sent
        self._taken_size = 0
        self._sending = False
        self._room = 0  # for what is taken and not sent
        self._fed = False
        super().__init__(*args)

    def _refill(self, *, wait: bool = False) -> None:
        """At first: begin to take. ``wait``: return when there are elements to be read, or no more will come."""
        if not self._fed:
            self._fed = True
            self._watch = (
                None  # readers and input run at the same time: each change holds from the next element on
            )
            self.stream.observe = self._observe
            for name, work in (("input", self._take), ("sender", self._send)):
                threading.Thread(target=work, name=f"cellmill-map-{name}", daemon=True).start()
        elif wait:
            while not (
                self._arrivals.first < self._added or self._all_taken() or self._cancelled_meanwhile()
            ):
                self.stream.host.gate.check_process()
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._arrivals.first < self._added or self._all_taken(), LOOK_S
                    )

    def take_ahead(self) -> None:
        """See `map_iterator.Source`: there may be room."""
        if not self._room and 2 * (self._added - self._arrivals.first) <= self._ahead.limit():
            self._notify()

    def close(self) -> None:
        """End the map; elements that have not begun are cancelled."""
        super().close()
        self._notify()

    def run_out(self) -> None:
        """Run everything to its end: its results will not be read."""
        if not (self._over or self._unwanted or self.stream.host.gate.foreign):
            self._unwanted = True
            self._arrivals.drop()
            self._ahead.lift()
            self._notify()

    def take_rest(self, refusal: Exception) -> None:
        """Nothing can be taken later: a map without a reader gets some time to end, what others wait for is refused."""
        if self._over or self._all_taken() or self._cancelled_meanwhile():
            return
        with self._changed:
            if self._unwanted and not self._changed.wait_for(lambda: self._input.exhausted, LONGEST_SEARCH_S):
                refusal = endless(function_name(self.stream.function), self._added)
                notices.warn(str(refusal))
            if not self._input.exhausted:
                self._refuse(refusal)
            self._changed.wait_for(self._all_taken, LONGEST_SEARCH_S)  # it is being sent

    def _all_taken(self) -> bool:
        return self._input.exhausted and not self._taken and not self._sending

    def _finish_run(self) -> None:
        if not self._sending:  # else it follows
            super()._finish_run()

    def _observe(self, count: int, run_ns: int) -> None:
        self._ahead.observe(count, run_ns)
        if not self._room:
            self._notify()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _refuse(self, error: BaseException) -> None:
        """End the input with this error."""
        with self._changed:
            self._input.error, self._input.exhausted = error, True
            self._changed.notify_all()

    def _take(self) -> None:
        """In a thread: take as long as there is room."""
        items: list[Any] = []
        size = 0
        while True:
            with self._changed:
                self._taken += items
                self._taken_size += size
                self._changed.notify_all()
                while len(self._taken) >= self._room and not self._ended():
                    self._changed.wait()
                if self._ended():
                    return
            try:
                items, size = self._input.take(1)
                self._input.rest()
            except BaseException as error:  # KeyboardInterrupt, raised by the input's own code
                self._refuse(error)
                return

    def _ended(self) -> bool:
        return self._over or self._input.exhausted

    def _send(self) -> None:
        """In another thread: send what was taken."""
        try:
            while (items_and_size := self._next_taken()) is not None:
                if not self._cancelled_meanwhile():
                    self._add(*items_and_size)
                if self._over or self._cancelled_meanwhile():
                    self.stream.cancel_all()
                self._sent()
        except BaseException as error:  # the backend is closed, or has no room
            self._refuse(error)
        finally:
            self._sent()

    def _next_taken(self) -> tuple[list[Any], int] | None:
        with self._changed:
            while not self._taken and not self._ended():
                self._room = max(
                    0, min(self._ahead.room(self._behind(), self.stream.unfinished), LARGEST_BLOCK)
                )
                self._changed.notify_all()
                self._changed.wait()
            if not self._taken or self._over:
                self._taken = []
                return None
            items, size, self._taken, self._taken_size = self._taken, self._taken_size, [], 0
            self._room, self._sending = 0, True
        return items, size

    def _sent(self) -> None:
        with self._changed:
            self._sending = False
            self._changed.notify_all()
        self._finish_run()
