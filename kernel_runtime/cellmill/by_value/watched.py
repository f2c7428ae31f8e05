"""Detection, in a worker, of changes that tasks make to state that their function has captured, and to their process.

Such a change stays in that worker, and any worker may run the next task. So after a task, or a chunk of a
map, the captured state is compared with what it was, and a change is reported to the kernel before the
result. A variable that was None or missing may be set once per worker: a model loaded by the first task. One that is
set again and again is told, as it would go from each call to the next.
"""

from __future__ import annotations

import functools
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

from ..process_context.process_looks import ProcessLook, look_for
from .brought import Brought
from .capture import Capture, memory_of, walked
from .capture_entries import ATTRIBUTE, CELL, ITEM
from .capture_kinds import Walk
from .references import ABSENT, body_of, cell_value, helpers_of, names_used

MOST_SHARE = 0.1  # of a worker's time for what is costly to compare, after the first tasks
FIRST_LOOKS = 3
CHANGES = (
    2**32 - 2
)  # the number of a reply without a request: (function, variables, whether these are arguments)


class _Here(threading.local):
    # to the kernel: (function, variables, whether these are arguments of its calls)
    tell: Callable[[str, tuple[str, ...], bool], None] | None = None


here = _Here()


class Look:
    """Compares variables with what they were when this was made, as often as that is worth its time."""

    def __init__(
        self,
        variables: dict[str, Any],
        memory: Callable[[Any], bytes | None] = memory_of,
        code: types.CodeType | None = None,
    ) -> None:
        """``code``: that refers to the variables."""
        self._variables = variables
        self.first: str | None = None  # variable that was found changed
        self.skipped = False  # the latest comparison, as too costly
        self._code = code
        self._memory = memory
        self._said: set[str] = set()
        self._looks = 0
        self._due = 0.0
        self._walk = self._walked()
        self._capture = Capture(self._walk, 0)

    def changed(self, *, at_any_cost: bool = False) -> str | None:
        """Return a variable that has changed and was not reported before, or None.

        A costly comparison may be skipped, unless ``at_any_cost``.
        """
        capture = self._capture
        if not capture.light and not at_any_cost:
            self.skipped = self._looks >= FIRST_LOOKS and time.monotonic() < self._due
            if self.skipped:
                return None
            self._looks += 1
        start = time.monotonic()
        found = capture.changed()
        end = time.monotonic()
        self._due = end + (end - start) / MOST_SHARE
        if found is not None:
            self.first = self.first or found
            self._said.add(found)
            self._walk = self._walked()
            self._capture = Capture(self._walk, 0)
        return found

    def all_changed(self) -> set[str]:
        """All variables that have changed."""
        return set(all_changed(self._walk, self._capture.changed(), self._said))

    @property
    def light(self) -> bool:
        """Whether every change is seen at once."""
        return self._capture.light

    def _walked(self) -> Walk:
        walk = Walk(self._memory, in_worker=True)
        for name, value in self._variables.items():
            if self._code is None:
                walk.go(value, name)
            else:
                walk.go_as(self._code, value, name)
        return without_free(walk, self._said)


def process_look_of(function: Any) -> ProcessLook | None:
    """Return what of the process a function and its helpers could change, by the names in their code."""
    return look_for(all_names_used(function))


def all_names_used(function: Any) -> set[str]:
    """Return the names in the code of a function and its helpers. Of the body of a loop or a task: in its code, and in
    that of the variables that it refers to.
    """
    names = {getattr(function, "__name__", "")}
    roots = [function.__func__ if type(function) is types.MethodType else function]
    code, variables = body_of(function)
    if code is not None:
        names |= names_used(code)
        roots += variables.values()
    for root in roots:
        for helper in helpers_of(root):
            if type(helper) is types.FunctionType:
                names |= names_used(helper.__code__)
    return names


class Watched:
    """A call whose function's captured state, and the state of its process, are compared afterwards; for many calls
    there are `bare` and `look`.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        function: Any,
        name: str,
        process: ProcessLook | None = None,
        brought: Brought | None = None,
    ) -> None:
        """``brought``: data of modules that the function finds there, not before its first call."""
        self.__wrapped__ = call
        self._function = function
        self._process = process
        self._brought = brought
        self.__qualname__ = self.__name__ = name
        self._said: set[str] = set()
        self._walk: Walk | None = None
        self._capture: Capture | None = None
        self._unset: list[
            tuple[str, Callable[[], Any]]
        ] = []  # variables that were None, and how they are read
        self._first: dict[str, Any] = {}  # the values that they were given first
        self._looks = 0
        self._cost = self._due = 0.0  # of the latest look in seconds, and when the next one is

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._begin()
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            self.look()

    def bare(self) -> Callable[..., Any]:
        """Return the function itself, for many calls that one `look` follows."""
        self._begin()
        return self._noting if self._unset else self.__wrapped__

    def _noting(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            self._look_at_unset()

    def _look_at_unset(self) -> None:
        for name, read in self._unset:
            value = read()
            if value is None or self._first.setdefault(name, value) is value or name in self._said:
                continue
            self._said.add(name)
            if here.tell is not None:
                here.tell(self.__name__, (name,), False)

    def _begin(self) -> None:
        if self._capture is None and self._brought is not None:
            self._brought.begin()
            try:
                self._take()
            finally:
                self._brought.end()
        elif self._capture is None:
            self._take()
        if self._process is not None:
            self._process.note()

    def look(self) -> None:
        """Report to the kernel which variables have changed, each variable once."""
        if self._process is not None:
            changed_here = [each for each in self._process.changed() if each not in self._said]
            if changed_here and here.tell is not None:
                self._said.update(changed_here)
                here.tell(self.__name__, tuple(changed_here), False)
        self._look_at_unset()
        capture = self._capture
        if capture is None:
            return
        if capture.light:
            changed = capture.changed()
        else:
            changed = self._look_sometimes(capture)
        if changed is not None:
            self._tell(changed)

    def _look_sometimes(self, capture: Capture) -> str | None:
        start = time.monotonic()
        if self._looks >= FIRST_LOOKS and start < self._due:
            return None
        changed = capture.changed()
        now = time.monotonic()
        self._looks += 1
        self._due = now + (now - start) / MOST_SHARE
        return changed

    def _take(self) -> None:
        walk = walked(self._function, in_worker=True)
        self._unset = list(_unset(walk))
        self._walk = without_free(walk, self._said)
        self._capture = Capture(self._walk, 0)

    def _tell(self, variable: str) -> None:
        """Report this variable and all others that have changed, and capture the state again."""
        assert self._walk is not None
        changed = list(all_changed(self._walk, variable, self._said))
        if here.tell is not None:
            here.tell(self.__name__, tuple(sorted(changed)), False)
        self._take()


def _unset(walk: Walk) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the variables that are None and that code assigns, and how each is read."""
    for (kind, owner, key, value), name in zip(walk.entries, walk.names, strict=True):
        if value is None and kind == ITEM and key in walk.stores and "__name__" in owner:
            yield name, functools.partial(owner.get, key)
        elif value is None and kind == CELL:
            yield name, functools.partial(cell_value, owner)


def all_changed(walk: Walk, first: str | None, said: set[str]) -> Iterator[str]:
    """Yield the variables of a walk that have changed, this one first, and note them as ``said``."""
    while first is not None:
        yield first
        said.add(first)
        first = Capture(without_free(walk, said), 0).changed()


def without_free(walk: Walk, said: set[str]) -> Walk:
    """Return the same walk without entries that tasks may change and variables that were already reported."""
    kept = [
        (entry, name)
        for entry, name in zip(walk.entries, walk.names, strict=True)
        if name not in said and not _is_free(walk, *entry)
    ]
    walk.entries, walk.names = [entry for entry, _ in kept], [name for _, name in kept]
    return walk


def _is_free(walk: Walk, kind: int, owner: Any, key: Any, value: Any) -> bool:
    """Return whether tasks never change an entry, or may safely set it: a variable's first value."""
    if kind == ITEM:
        return (
            value is ABSENT
            or value is None
            or (type(key) is str and key not in walk.stores and "__name__" in owner)
        )
    if kind == CELL:
        return value is ABSENT or value is None
    return kind == ATTRIBUTE and issubclass(type(owner), (types.FunctionType, type))


def bare(function: Any) -> Any:
    """Return the function to call many times before one `look`."""
    return function.bare() if type(function) is Watched else function


def look(function: Any) -> None:
    """Report changes after many calls of the function that `bare` returned."""
    if type(function) is Watched:
        function.look()
