"""Plain submits: calls with small arguments, sent by C without a line of Python between (csched/python/submit.c)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from operator import is_
from typing import Any

from ... import futures
from ...cell_output import present_cell
from ...diagnostics.signatures import check_call
from ...futures import Future, FutureOwner
from ...randomness import streams
from ...serialization.functions import FunctionTable
from .context_watch import ContextWatch
from .gate import Gate
from .processor_use import CallerTime
from .protocols import WorkerPool
from .scheduler import Scheduler, check, ffi, with_gil
from .settings_watch import SettingsWatch
from .slots import SlotTable

# The kernel's directory, environment, path, filters of warnings and log levels are looked at before each call, so that
# what was changed a moment ago reaches this very task. Calls that follow each other so fast that no change could be
# made between them do without.
# How long a glance is enough: with a C library that gives a new variable an old one's address, not for ever.
LOOK_NS = 1 << 62 if os.confstr_names.get("CS_GNU_LIBC_VERSION") else 1_000_000

_NOW = time.monotonic_ns
_MAIN = threading.main_thread()


def _time_for_a_change() -> int:
    """Nanoseconds: less than what setting a variable or the directory takes on this machine, with the loop around it.

    Asking for the directory takes about as long as the shortest of them, and changes nothing.
    """
    least = LOOK_NS
    for _ in range(20):
        start = _NOW()
        try:  # noqa: SIM105  (`suppress` costs as much as the call)
            os.getcwd()
        except FileNotFoundError:
            pass
        least = min(least, _NOW() - start)
    return least * 2 // 3


IN_A_ROW_NS = _time_for_a_change()


class PlainSubmit:
    """Two ways in: ``call(function, args, run, form)`` gives the future of a plain call, or None where it needs the
    long way; ``submit(function, args, kwargs)`` gives a future in any case, of a task in no run and without options.
    ``form``: the address of its csched_options_t, which outlives the call, or 0.

    The C works with borrowed references, to things that live as long as this object.
    """

    def __init__(
        self,
        owner: FutureOwner,
        gate: Gate,
        scheduler: Scheduler,
        functions: FunctionTable,
        slots: SlotTable,
        long_way: Callable[..., Future],
    ) -> None:
        self.pool: WorkerPool  # set once there are workers
        self.form = ffi.new("csched_plain_t *")
        self.form.s = scheduler.handle
        self.form.look_ns, self.form.in_a_row_ns = LOOK_NS, IN_A_ROW_NS
        self.settings = SettingsWatch()
        self._stats = ffi.new("csched_stats_t *")
        self.form.settings = self.settings.form
        self._waited = ffi.new("uint64_t *")
        self.form.waited = self._waited
        self._waiting = 0  # nanoseconds of the main thread
        self._noted: list[tuple[Any, ...] | None] = [None]
        self._kept: dict[str, Any] = {
            "owner": owner,
            "gate": gate,
            "captures": functions.captures,
            "check": check_call,
            "number": functions.number,
            "future": Future,
            "table": slots.entries,
            "pop": slots.free.pop,
            "append": slots.free.append,
            "long_way": long_way,
            "noted": self._noted,
        }
        for name, thing in self._kept.items():
            setattr(self.form, name, ffi.cast("void *", id(thing)))
        made: list[Any] = []
        owner, out = (ffi.cast("void *", id(thing)) for thing in (self, made))
        check(with_gil.csched_plain_submit(self.form, owner, out), "preparing to submit")
        self.call: Callable[[Any, tuple[Any, ...], int, int], Future | None]
        self.submit: Callable[..., Future]
        self.call, self.submit, futures.track = made
        present_cell.watch(self)
        streams.watch(self)

    def seeded(self, on: bool) -> None:
        """See `drawing.watch`: a task that is seeded is no plain call."""
        self.form.look_ns = 0 if on else LOOK_NS

    def new_cell(self) -> None:
        """See `present_cell.watch`: the next call looks at everything, and the time before it is no one's."""
        self.look_again()
        self.form.left = 0

    def look_again(self) -> None:
        """The next call looks at everything."""
        self.form.asked += 1  # a look that has begun in another thread is none of after now
        self.form.path = ffi.NULL

    def waited(self, since: int) -> None:
        """The caller has been given results that it waited for."""
        self._waited[0] = now = _NOW()
        if threading.current_thread() is _MAIN:
            self._waiting += now - since

    def caller_time(self) -> CallerTime:
        """Return what is known of the callers so far."""
        form = self.form
        return CallerTime(form.calls, form.pauses * 1e-9, tuple(form.gaps), self._waiting * 1e-9)

    def _count(self, start: int) -> None:
        """Count what the caller did by itself before a call that goes the long way."""
        with_gil.csched_plain_count(self.form, start)

    def look(self) -> int:
        """Have workers told of a changed context, if it may have changed; the time before."""
        start, form, pool = _NOW(), self.form, self.pool
        asked = form.asked
        self._count(start)
        if not form.path:
            self._rebase()
        if (
            not form.path
            or start - form.looked > LOOK_NS
            or (start - form.left > IN_A_ROW_NS and pool.touched())
        ):
            pool.sync_context()
            form.looked = start
        self._note(pool.context, asked)
        return start

    def _rebase(self) -> None:
        """Workers get the present settings for good, where no task is left that was sent without its own."""
        stats = self._stats
        check(with_gil.csched_stats(self.form.s, stats), "asking for figures")
        if stats.waiting + stats.queued + stats.running == 0:
            self.settings.rebase()
        self.pool.context.settings = self.settings.base

    def _note(self, context: ContextWatch, asked: int) -> None:
        """Give C what workers have, to compare before each call."""
        form, seen, noted = self.form, context.reporting, self._noted[0]
        parts = (context.path, context.arguments, *seen.parts())
        numbers = (context.digest, seen.filter_count, seen.handler_count)
        if (
            form.path
            and noted is not None
            and numbers == (form.digest, form.filter_count, form.handler_count)
            and all(map(is_, parts, noted))
        ):
            return
        rc = with_gil.csched_plain_note(form, ffi.cast("void *", id(parts)), *numbers, asked)
        check(rc, "noting the context of tasks")
