"""Results of a map that have come and were not read yet, in pieces as chunks end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from . import outcomes
from .sizes import ReadAhead

LIGHT = 4096  # bytes of results that are not counted


class Failed:
    """Among results, in the place of one: the error of an element."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Cancelled:
    """A piece of elements that were cancelled before they were sent."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


class Arrivals:
    """In order, or as they come. The resolver stores them while another thread takes them, one at a time.

    ``ahead`` is told of what comes and what is taken.
    """

    def __init__(self, ahead: ReadAhead, *, ordered: bool) -> None:
        self.first = 0  # elements taken
        self.closed = False  # whether nothing is taken any more
        self.tell: Callable[[], object] | None = None  # wakes a reader in an event loop
        self._ahead = ahead
        self._ordered = ordered
        self._unwanted = False
        # By the place of the first element: the piece to be taken next begins at `first`. Unordered: as they came.
        self._pieces: dict[int, list[Any] | _Cancelled] = {}
        self._arrived: deque[list[Any] | _Cancelled] = deque()
        self._weights: dict[int, int] = {}  # bytes of the larger pieces, by their identity

    def receive(self, keys: Sequence[Any], values: list[Any], size: int = 0) -> None:
        """See `Receiver`."""
        if self._unwanted:
            return
        self._ahead.came(len(values), 0)
        if not self._ordered:
            self._weigh(values, size)
            self._arrived.append(values)
        elif type(keys) is range:
            self._weigh(values, size)
            self._pieces[keys.start] = values
        else:
            for key, value in zip(keys, values, strict=True):
                self._pieces[key] = piece = [value]
                self._weigh(piece, size // len(values))
        self.stir()

    def receive_error(self, key: Any, error: BaseException) -> None:
        """See `Receiver`."""
        self.receive(range(key, key + 1), [Failed(error)])

    def receive_cancelled(self, keys: Sequence[Any]) -> None:
        """See `Receiver`: a million elements are one piece until they are taken."""
        if self.closed or self._unwanted:
            return
        if not self._ordered:
            self._arrived.append(_Cancelled(len(keys)))
        elif type(keys) is range:
            self._pieces[keys.start] = _Cancelled(len(keys))
        else:
            self._pieces.update((key, _Cancelled(1)) for key in keys)
        self.stir()

    def there(self) -> bool:
        """Whether the next piece has come."""
        return self.first in self._pieces if self._ordered else bool(self._arrived)

    def take(self) -> list[Any]:
        """Return the next piece, which has come; `Failed` is one of its own."""
        found = self._pieces.pop(self.first) if self._ordered else self._arrived.popleft()
        piece = self._first_of(found) if isinstance(found, _Cancelled) else found
        self.first += len(piece)
        if self._weights:
            self._ahead.read(self._weights.pop(id(piece), 0))
        return piece

    def drop(self) -> None:
        """Nothing will be taken: what has come goes, and what comes is not kept."""
        self._unwanted = True
        self._pieces.clear()
        self._arrived.clear()

    def stir(self) -> None:
        """Wake the reader in an event loop, if there is one."""
        tell = self.tell
        if tell is not None:
            tell()

    def _weigh(self, piece: list[Any], size: int) -> None:
        if size > LIGHT:
            self._ahead.came(0, size)
            self._weights[id(piece)] = size

    def _first_of(self, cancelled: _Cancelled) -> list[Any]:
        """Return the first of these elements; the others follow."""
        if cancelled.count > 1:
            rest = _Cancelled(cancelled.count - 1)
            if self._ordered:
                self._pieces[self.first + 1] = rest
            else:
                self._arrived.appendleft(rest)
        return [Failed(outcomes.cancelled())]
