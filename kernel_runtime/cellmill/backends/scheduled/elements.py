"""Elements of a stream on their way into chunks: keys and items side by side, in spans as they were added."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

FREED_AT_ONCE = 1 << 16  # about a millisecond

Span = tuple[Sequence[Any], list[Any], int | None]
"""Keys (a range of places, or a list of futures), as many items, and the first one's position in the state map: those
that were sent before and come back have one already, one after the other."""


class Dropped(NamedTuple):
    """A span that was dropped: the first ``gone`` of its items had been taken before."""

    keys: Sequence[Any]
    items: list[Any]
    gone: int
    position: int | None

    def let_go(self) -> None:
        """Free the items, with turns for other threads in between."""
        while self.items:
            del self.items[-FREED_AT_ONCE:]


class Elements:
    """A queue of elements. Whole spans are cut by slicing, so that an element costs next to nothing."""

    def __init__(self) -> None:
        self._spans: deque[Span] = deque()
        self._start = 0  # of what is left of the first span
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: Any) -> bool:
        return any(key is other for keys, _, _ in self._left() for other in keys)

    def add(self, keys: Sequence[Any], items: list[Any]) -> None:
        """More elements, behind the others; ``items`` is kept and may grow here."""
        if not items:
            return
        self._count += len(items)
        if self._spans and type(keys) is range:
            last_keys, last_items, position = self._spans[-1]
            if position is None and type(last_keys) is range and last_keys.stop == keys.start:
                # one span: chunks keep ranges as keys
                self._spans[-1] = (range(last_keys.start, keys.stop), last_items, None)
                last_items.extend(items)
                return
        self._spans.append((keys, items, None))

    def put_back(self, keys: Sequence[Any], items: list[Any], position: int) -> None:
        """These come next, by themselves; they were sent before."""
        if items:
            self._spans = deque([(keys, items, position), *self._left()])
            self._start = 0
            self._count += len(items)

    def first_key(self) -> Any:
        """Key of the next element; there must be one."""
        return self._spans[0][0][self._start]

    def take(self, count: int) -> Span:
        """The next ``count`` elements, fewer only where some come back; there must be as many."""
        keys, items, position = self._spans[0]
        start, end = self._start, self._start + count
        if position is not None:
            end = min(end, len(items))
            position, count = position + start, end - start
        if end <= len(items):
            self._count -= count
            if count == len(items):
                self._spans.popleft()
                return keys, items, position
            taken = keys[start:end], items[start:end], position
            self._leave(end)
            return taken
        taken_keys: list[Any] = []
        taken_items: list[Any] = []
        while (missing := count - len(taken_items)) > 0 and self._spans[0][2] is None:
            keys, items, _ = self.take(min(missing, len(self._spans[0][1]) - self._start))
            taken_keys.extend(keys)
            taken_items.extend(items)
        return taken_keys, taken_items, None

    def _leave(self, end: int) -> None:
        """So much of the first span was taken: not much of it is held on to, and an endless one does not grow."""
        keys, items, position = self._spans[0]
        if end == len(items):
            self._spans.popleft()
            self._start = 0
        elif position is None and 4 * end > len(items):
            del items[:end]
            self._spans[0] = (keys[end:], items, None)
            self._start = 0
        else:
            self._start = end

    def remove(self, key: Any) -> Span | None:
        """Take one element out; None when it is not here."""
        for place, (keys, items, position) in enumerate(spans := self._left()):
            for i, other in enumerate(keys):
                if other is key:
                    rest = _part(spans[place], i + 1, len(items))
                    spans[place : place + 1] = [_part(spans[place], 0, i), rest]
                    self._spans = deque(span for span in spans if span[1])
                    self._start = 0
                    self._count -= 1
                    return [key], [items[i]], None if position is None else position + i
        return None

    def keys(self) -> list[Any]:
        """Return the keys of all elements, in order."""
        return [key for keys, _, _ in self._left() for key in keys]

    def clear(self) -> list[Dropped]:
        """Drop everything; returns what was here."""
        spans, gone = self._spans, self._start
        self._spans, self._start, self._count = deque(), 0, 0
        dropped = []
        for keys, items, position in spans:  # millions of items are not copied
            dropped.append(Dropped(keys[gone:], items, gone, None if position is None else position + gone))
            gone = 0
        return dropped

    def _left(self) -> list[Span]:
        spans = list(self._spans)
        if self._start:
            spans[0] = _part(spans[0], self._start, len(spans[0][1]))
        return spans


def _part(span: Span, start: int, end: int) -> Span:
    keys, items, position = span
    return keys[start:end], items[start:end], None if position is None else position + start
