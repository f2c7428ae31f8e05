"""Elements of a stream on their way into chunks: keys and items side by side, in spans as they were added."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

Span = tuple[Sequence[Any], list[Any]]
"""Keys (a range of places, or a list of futures) and as many items."""


class Elements:
    """A queue of elements. Whole spans are cut by slicing, so that an element costs next to nothing."""

    def __init__(self) -> None:
        self._spans: deque[Span] = deque()
        self._start = 0  # of what is left of the first span
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: Any) -> bool:
        return any(key is other for keys, _ in self._left() for other in keys)

    def add(self, keys: Sequence[Any], items: list[Any]) -> None:
        """More elements, behind the others; ``items`` is kept and may grow here."""
        if not items:
            return
        self._count += len(items)
        if self._spans and type(keys) is range:
            last_keys, last_items = self._spans[-1]
            if (
                type(last_keys) is range and last_keys.stop == keys.start
            ):  # one span: chunks keep ranges as keys
                self._spans[-1] = (range(last_keys.start, keys.stop), last_items)
                last_items.extend(items)
                return
        self._spans.append((keys, items))

    def put_back(self, keys: Sequence[Any], items: list[Any]) -> None:
        """These come next."""
        if items:
            self._spans = deque([(keys, items), *self._left()])
            self._start = 0
            self._count += len(items)

    def take(self, count: int) -> Span:
        """The next ``count`` elements; there must be as many."""
        keys, items = self._spans[0]
        start, end = self._start, self._start + count
        if end <= len(items):
            self._count -= count
            if end < len(items):
                self._start = end
            else:
                self._spans.popleft()
                self._start = 0
            return (keys, items) if count == len(items) else (keys[start:end], items[start:end])
        taken_keys: list[Any] = []
        taken_items: list[Any] = []
        while (missing := count - len(taken_items)) > 0:
            keys, items = self.take(min(missing, len(self._spans[0][1]) - self._start))
            taken_keys.extend(keys)
            taken_items.extend(items)
        return taken_keys, taken_items

    def remove(self, key: Any) -> bool:
        """Take one element out; False when it is not here."""
        for place, (keys, items) in enumerate(spans := self._left()):
            for i, other in enumerate(keys):
                if other is key:
                    spans[place] = ([*keys[:i], *keys[i + 1 :]], [*items[:i], *items[i + 1 :]])
                    self._spans = deque(span for span in spans if span[1])
                    self._start = 0
                    self._count -= 1
                    return True
        return False

    def keys(self) -> list[Any]:
        """Of all that are here, in order."""
        return [key for keys, _ in self._left() for key in keys]

    def clear(self) -> list[Any]:
        """Drop everything; returns the keys."""
        keys = self.keys()
        self._spans.clear()
        self._start = self._count = 0
        return keys

    def _left(self) -> list[Span]:
        spans = list(self._spans)
        if self._start:
            keys, items = spans[0]
            spans[0] = (keys[self._start :], items[self._start :])
        return spans
