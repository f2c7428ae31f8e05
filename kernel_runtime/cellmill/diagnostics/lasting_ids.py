"""Numbers of objects that no later object gets: `id` gives that of one that is gone to the next at its place."""

from __future__ import annotations

import itertools
import threading
from weakref import WeakKeyDictionary

_numbers: WeakKeyDictionary[object, int] = WeakKeyDictionary()
_next = itertools.count(1)
_lock = threading.Lock()


def lasting_id(thing: object) -> int:
    """Return a number of this object alone, also after its end. It must be hashable and allow weak references."""
    with _lock:
        found = _numbers.get(thing)
        if found is None:
            found = _numbers[thing] = next(_next)
        return found
