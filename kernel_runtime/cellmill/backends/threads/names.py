"""Numbers for functions that travel by reference: one for each name, for views and journeys."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...serialization.function_code import function_name
from ...serialization.functions import FunctionTable, Pinned
from ...serialization.payload import Encoded

MOST_NAMES = 4096
_NO_CODE = Encoded(b"\x80\x05N.", [])  # the scheduler keeps something for each


class Names(FunctionTable):
    """Functions by number. A redefined function has the number of the one before it; nothing is pickled."""

    def __init__(self, add: Callable[..., int], drop: Callable[[int], None]) -> None:
        super().__init__(add, drop)
        self._numbers: dict[tuple[str, str], int] = {}
        self._latest: dict[int, Callable[[], Any]] = {}
        self._known: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._naming = threading.Lock()

    def number(self, function: Any) -> int:
        """The number of its name; 0 once there are too many."""
        try:
            return self._known[function]
        except Exception:  # not seen before, or not hashable, or a method, which is another one each time
            return self._number(function)

    def _number(self, function: Any) -> int:
        name = function_name(function)
        key = (str(getattr(function, "__module__", "")), name)
        with self._naming:
            number = self._numbers.get(key, 0)
            if not number and len(self._numbers) < MOST_NAMES:
                number = self._numbers[key] = self._add(_NO_CODE)
                self.names[number] = name
            try:
                self._known[function] = number
                self._latest[number] = weakref.ref(function)
            except TypeError:  # no weak references to it
                self._latest[number] = _constant(function)
        return number

    def pin(self, function: Any) -> Pinned:
        """Nothing has versions, and generators and other objects stay themselves."""
        return Pinned(self.number(function))

    def unpin(self, number: int) -> None:
        """Nothing was kept."""

    def drawing(self, function: Any) -> tuple[int, Sequence[Any]]:
        """Its number; generators stay themselves."""
        return self.number(function), ()

    def by_number(self, number: int) -> Any:
        """The newest function of that name, if it is there still."""
        found = self._latest.get(number)
        return found() if found is not None and number else None

    def look_up_again(self) -> None:
        """Nothing is looked up by name."""

    def modules(self) -> set[str]:
        """None that workers would have to load again: they share those of this process."""
        return set()


def _constant(value: Any) -> Callable[[], Any]:
    return itertools.repeat(value).__next__
