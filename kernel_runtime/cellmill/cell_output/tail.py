"""The end of a long text, in bounded memory."""

from __future__ import annotations

from collections import deque


class Tail:
    """Keeps the last ``most`` bytes of what is added, cut at a line where there is one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: deque[bytes] = deque()
        self._size = 0
        self.dropped = 0  # bytes

    def add(self, data: bytes) -> None:
        """More of it."""
        if len(data) > self._most:
            self.dropped += len(data) - self._most
            data = data[-self._most :]
        if (
            self._parts and len(self._parts[-1]) + len(data) < 4096
        ):  # lines one by one would cost an object each
            self._parts[-1] += data
        else:
            self._parts.append(data)
        self._size += len(data)
        while self._size - len(self._parts[0]) >= self._most:
            gone = len(self._parts.popleft())
            self._size -= gone
            self.dropped += gone

    @property
    def text(self) -> str:
        """The kept text; its first line says how much is missing."""
        data = b"".join(tuple(self._parts))
        if not self.dropped:
            return data.decode("utf-8", "backslashreplace")
        first = data.find(b"\n") + 1
        note = f"... {self.dropped + first:,} bytes before this are not kept\n"
        return note + data[first:].decode("utf-8", "backslashreplace")
