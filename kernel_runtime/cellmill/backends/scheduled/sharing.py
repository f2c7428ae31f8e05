"""Objects that tasks of one backend share: stored at the first use, as a function that is never called.

So it travels as functions do: once to each worker, ahead of the first task that refers to it, again to one that takes
the place of a dead worker; its block stays until no task needs it and no worker reads it. What refers to it (a task, a
function with it as a global or closure variable, another shared object) says so to the scheduler.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from typing import Any

from ...errors import PayloadError
from ...serialization import read_only
from ...serialization.foreign import is_of_ray
from ...serialization.payload import INLINE_MAX, Encoded
from ...serialization.shared import Shared, SharedPlace, ShareError, packing, reference
from ...serialization.unpicklable import explain_shared
from .gate import Gate
from .scheduler import DiskFull, Full, Scheduler, StaleInput, check, ffi, with_gil

IN_LINE, IN_MEMORY, IN_FILE = "messages", "shared memory", "a file"


class Sharing:
    """The shared objects of one backend, by number."""

    def __init__(self, scheduler: Scheduler, gate: Gate, dropped: Callable[[int], None]) -> None:
        """``dropped`` is told the number of an object that was closed: functions that refer to it go, too."""
        self.scheduler = scheduler
        self.gate = gate
        self._dropped = dropped
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._groups: dict[frozenset[int], int] = {}

    def number(self, shared: Shared) -> int:
        """Its number, put now if need be. Raises `ShareError` when it is closed or cannot be pickled."""
        place = shared._places.get(self)
        if place is None:
            with self._lock:
                place = shared._places.get(self)
                if place is None:
                    place = self._put(shared)
        if place.error:
            raise ShareError(place.error)
        return place.number

    def group(self, numbers: Collection[int]) -> int:
        """Return one number for all of these objects. Raises `StaleInput` when one was closed meanwhile."""
        if len(numbers) == 1:
            return next(iter(numbers))
        key = frozenset(numbers)
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = self.add(Encoded(b"", []), key)
        return found

    def add(self, encoded: Encoded, needs: Collection[int]) -> int:
        """A function, or what is like one, that refers to these. Raises `StaleInput` when one was closed meanwhile."""
        number = self.scheduler.add_function(encoded)
        rc = (
            with_gil.csched_function_needs(self.scheduler.handle, number, list(needs), len(needs))
            if needs
            else 0
        )
        if rc < 0:
            self.scheduler.drop_function(number)
        check(rc, "sharing an object")
        return number

    def foreign(self, thing: Any) -> tuple[tuple[Any, tuple[Any, ...]], Any]:
        """Return what replaces something of another runtime in arguments, and what is held until the task is over.

        Raises:
            ShareError: workers of this backend cannot reach it.
        """
        if is_of_ray(thing):
            raise ShareError(
                f"an argument is an {type(thing).__name__} of Ray, and what it stands for is not on these workers. "
                "Pass its value, ray.get(...), or have the task run there: Executor(backend='ray')."
            )
        raise ShareError(
            f"an argument is a {type(thing).__name__} of Dask, and what it stands for is not on these workers. Pass "
            "its value (.result() of a future, .compute() of a collection), or have the task run there: "
            "Executor(backend=client)."
        )

    def drop(self, place: SharedPlace) -> None:
        """See `shared.Keeper`."""
        if self.gate.foreign or os.getpid() != self._process:
            return
        for key in [key for key in list(self._groups) if place.number in key]:
            self._groups.pop(key, None)
        self._dropped(place.number)
        self.scheduler.drop_function(place.number)

    def refer(self, shared: Any, needs: set[int]) -> tuple[Any, tuple[Any, ...]]:
        """Return the reference that replaces a shared object in a pickle."""
        if type(shared) is not Shared:
            raise PayloadError(
                "a future cannot be pickled by itself; pass it as an argument of a call, or pass its result()"
            )
        number = self.number(shared)
        needs.add(number)
        return reference(shared, number)

    def _put(self, shared: Shared) -> SharedPlace:
        """Raises `ShareError`; one that has to do with the object is kept, so that it is not pickled for each call."""
        value, needs = shared.value, set[int]()
        kind = type(value).__qualname__
        try:
            with packing(lambda part: self.refer(part, needs)):
                encoded = read_only.encode(value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever code of the object's raises
            with packing(lambda part: self.refer(part, needs)):
                problem = explain_shared(value, error, (KeyboardInterrupt,))
            shared._places[self] = SharedPlace(0, 0, "", str(problem))
            raise ShareError(str(problem)) from error
        try:
            place = self._stored(encoded, needs)
        except (Full, DiskFull):
            raise ShareError(
                f"no room for the shared {kind} of {encoded.size:,} bytes, in memory or on disk. Free the disk, or "
                "name another by TMPDIR."
            ) from None
        except StaleInput:
            raise ShareError(f"the shared {kind} refers to another one, which was closed meanwhile") from None
        shared._places[self] = place
        if shared.closed:  # by another thread: it did not see the place
            shared._places.pop(self, None)
            self.drop(place)
            raise ShareError(f"the shared {kind} was closed meanwhile")
        return place

    def _stored(self, encoded: Encoded, needs: Collection[int]) -> SharedPlace:
        where = IN_LINE
        if encoded.buffers or encoded.size > INLINE_MAX:
            stats = ffi.new("csched_stats_t *")
            with_gil.csched_stats(self.scheduler.handle, stats)
            before = stats.file_used
            number = self.add(encoded, needs)
            with_gil.csched_stats(self.scheduler.handle, stats)
            where = IN_FILE if stats.file_used >= before + encoded.size else IN_MEMORY
        else:
            number = self.add(encoded, needs)
        return SharedPlace(number, encoded.content, where)
