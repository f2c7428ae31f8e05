"""`map` where calls run in the caller."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from ..futures import Future, settled
from ..task import known_length, name_element
from .taking import LARGEST_BLOCK, Input, endless


class Counted(Protocol):
    """What the calls of a map are counted with."""

    def finish(self) -> None: ...


class InlineMap:
    """The calls of one map: made at once, or each when its result is asked for."""

    def __init__(
        self,
        call: Callable[[tuple[Any, ...]], Future],
        name: str,
        iterables: tuple[Iterable[Any], ...],
        run: Counted,
    ) -> None:
        self.begun = False
        self._call = call
        self._name = name
        self._run = run
        self._star = len(iterables) != 1
        self._input = Input(iterables, None)
        self._length = known_length(iterables)
        self._made: deque[Future] = deque()
        self._called = 0

    def run_whole(self) -> None:
        """Make all calls now."""
        while not self._input.exhausted:
            self._make(self._input.take(LARGEST_BLOCK)[0], self._made.append)
        self._run.finish()

    def _make(self, items: list[Any], keep: Callable[[Future], None]) -> None:
        for item in items:
            made = self._call(item if self._star else (item,))
            error = made.exception()
            if error is not None:
                name_element(error, self._name, self._called, item, star=self._star)
            self._called += 1
            keep(made)

    def take_rest(self) -> None:
        """Nothing can be called later: what is left runs now, if it comes to an end."""
        if not self._input.exhausted:
            refusal = RuntimeError("cannot schedule new futures after shutdown")
            self._make(self._input.take_rest(refusal)[0], self._made.append)

    def run_out(self) -> None:
        """Nobody reads: what is left runs, if it comes to an end."""
        if not self._input.exhausted:
            self._make(self._input.take_rest(endless(self._name, 0))[0], _forget)
            if self._input.error is not None:
                warnings.warn(str(self._input.error), RuntimeWarning, stacklevel=3)
        self._run.finish()

    def read(self, return_exceptions: bool) -> Iterator[Any]:
        """Results in their order. Of an input with an end all calls are made now; others run as results are read."""
        if self._length is not None:
            self.run_whole()
        return _results(self, return_exceptions, _Reader(self))

    def next(self) -> Future | None:
        """The next call, over; None behind the last one. Raises the input's error in its place."""
        if not self._made and not self._input.exhausted:
            self._make(self._input.take(1)[0], self._made.append)
        if self._made:
            return self._made.popleft()
        error, self._input.error = self._input.error, None
        if error is not None:
            raise error
        return None

    def close(self) -> None:
        """Nothing more is called."""
        self._input.exhausted = True
        self._run.finish()


_NO_HOME: Any = None  # of futures that are over from the start


class _Uncounted:
    def finish(self) -> None:
        pass


def map_here(
    function: Callable[..., Any], name: str, iterables: tuple[Iterable[Any], ...], return_exceptions: bool
) -> Iterator[Any]:
    """`map` of a parallel function in a task: its calls are part of the task."""

    def call(items: tuple[Any, ...]) -> Future:
        try:
            return settled(_NO_HOME, function(*items))
        except Exception as error:
            return settled(_NO_HOME, None, error)

    return InlineMap(call, name, iterables, _Uncounted()).read(return_exceptions)


def _forget(_: Future) -> None:
    pass


def _results(calls: InlineMap, return_exceptions: bool, mine: _Reader) -> Iterator[Any]:
    calls.begun = True
    try:
        while (future := calls.next()) is not None:
            error = future.exception()
            if error is not None and not return_exceptions:
                raise error
            yield future.result() if error is None else error
    finally:
        calls.close()


class _Reader:
    """Goes with the iterator, also with one that was never begun."""

    __slots__ = ("_calls",)

    def __init__(self, calls: InlineMap) -> None:
        self._calls = calls

    def __del__(self) -> None:
        if not self._calls.begun and not sys.is_finalizing():
            self._calls.run_out()
