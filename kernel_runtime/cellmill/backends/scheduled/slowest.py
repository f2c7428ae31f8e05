"""The tasks of the present piece of work that ran longest, with their arguments."""

from __future__ import annotations

from collections.abc import Mapping

from ...diagnostics.questions import SlowTask
from ...serialization.preview import preview
from .previews import shown
from .scheduler import NO_ELEMENT, Scheduler, ffi, with_gil

_BAD = (with_gil.CSCHED_ERROR, with_gil.CSCHED_TIMEOUT)


class Slowest:
    """Reads what the scheduler keeps of them as tasks end. ``names`` of the functions, by number; ``payloads``: see
    `ScheduledBackend`.
    """

    def __init__(self, scheduler: Scheduler, names: Mapping[int, str], payloads: bool) -> None:
        self._handle = scheduler.handle
        self._names = names
        self._payloads = payloads
        self._texts: dict[tuple[int, int], str | None] = {}  # of those that were asked for last

    def look(self) -> list[SlowTask]:
        """Return them, the longest first."""
        rows = ffi.new("csched_slow_t[]", with_gil.CSCHED_SLOWEST)
        found = [rows[i] for i in range(with_gil.csched_slowest(self._handle, rows))]
        known = self._texts
        self._texts = {}
        for row in found:
            key = int(row.ticket), int(row.element)
            self._texts[key] = known[key] if key in known else self._arguments(*key)
        return [
            SlowTask(
                task=int(row.ticket),
                element=None if row.element == NO_ELEMENT else int(row.element),
                function=self._names.get(int(row.function), "?"),
                seconds=int(row.ran) / 1e9,
                failed=row.status in _BAD,
                arguments=self._texts[int(row.ticket), int(row.element)],
            )
            for row in found
        ]

    def _arguments(self, ticket: int, element: int) -> str | None:
        if not self._payloads:
            return None
        size = int(with_gil.csched_slow_payload(self._handle, ticket, element, ffi.NULL, 0))
        if size < 0:
            return None
        data = ffi.new("char[]", max(1, size))
        if with_gil.csched_slow_payload(self._handle, ticket, element, data, size) != size:
            return None  # another one has its place meanwhile
        try:
            body = preview(memoryview(ffi.buffer(data, size))) if size else ()
            return shown(body, None if element == NO_ELEMENT else element)
        except Exception:
            return "<arguments that cannot be shown>"
