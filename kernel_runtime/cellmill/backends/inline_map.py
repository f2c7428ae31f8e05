"""`map` where calls run in the caller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from ..by_value.references import constants_of
from ..diagnostics import notices
from ..diagnostics.short_text import name_element
from ..futures import Future
from ..task import RunCounts, known_length
from .map_iterator import MapIterator, Progress, reading
from .map_options import MapOptions
from .settled import settled
from .taking import LARGEST_BLOCK, Input, endless


class Counted(Protocol):
    """The part that is told when a map has ended."""

    def finish(self) -> None: ...


class InlineMap:
    """The calls of one map: made at once, or each when its result is asked for."""

    def __init__(
        self,
        call: Callable[[tuple[Any, ...]], Future],
        name: str,
        iterables: tuple[Iterable[Any], ...],
        run: Counted,
        how: MapOptions,
        constants: Mapping[str, Any],
    ) -> None:
        self.begun = False
        self.cancelled = False  # with its executor
        self._call = call
        self._name = name
        self._run = run
        self._star = how.star
        self._constants = constants
        self._input = Input(iterables, None)
        self._length = known_length(iterables)
        self._made: deque[Future] = deque()
        self._called = self._failed = self._read = 0
        self._instead = how.instead
        self._closed = self._left = False

    def run_whole(self) -> None:
        """Make all calls now."""
        while not self._input.exhausted:
            self._make(self._input.take(LARGEST_BLOCK)[0], self._made.append)
        self._run.finish()

    def _make(self, items: list[Any], keep: Callable[[Future], None]) -> None:
        for item in items:
            made = self._call_of(item)
            error = made.exception()
            if error is not None:
                self._failed += 1
                name_element(
                    error, self._name, self._called, item, star=self._star, constants=self._constants
                )
            self._called += 1
            keep(made)

    def _call_of(self, item: Any) -> Future:
        if not self._star or type(item) is tuple:
            return self._call(item if self._star else (item,))
        try:
            arguments = tuple(item)
        except Exception as error:
            return settled(_NO_OWNER, None, error)
        return self._call(arguments)

    def take_rest(self) -> None:
        """Nothing can be called later: what is left runs now, if it comes to an end."""
        if not self._input.exhausted:
            refusal = RuntimeError("cannot schedule new futures after shutdown")
            self._make(self._input.take_rest(refusal)[0], self._made.append)

    def run_out(self) -> None:
        """It is not read: what is left runs, if it comes to an end."""
        if not self._input.exhausted and not self.cancelled:
            self._make(self._input.take_rest(endless(self._name, 0))[0], _forget)
            if self._input.error is not None:
                notices.warn(str(self._input.error))
        self._run.finish()

    def read(self) -> MapIterator:
        """Results in their order. Of an input with an end all calls are made now; others run as results are read."""
        if self._length is not None:
            self.run_whole()
        return reading(self)

    def next_piece(self) -> list[Any]:
        """See `map_iterator.Source`: one result at a time. Raises the input's error in its place."""
        self.begun = True
        if self._closed:
            return []
        self.take_ahead()
        if not self._made:
            problem, self._input.error = self._input.error, None
            if problem is not None:
                raise problem
            return []
        future = self._made.popleft()
        self._read += 1
        error = future.exception()
        if error is None:
            return [future.result()]
        if self._instead is None:
            raise error
        return [self._instead(error)]

    def take_ahead(self) -> None:
        """See `map_iterator.Source`: one call."""
        if not self._made and not self._input.exhausted:
            self._make(self._input.take(1)[0], self._made.append)

    async def arrival(self) -> None:
        """See `map_iterator.Source`: there is no waiting, what is asked for is called then."""

    def progress(self) -> Progress:
        """See `map_iterator.Source`."""
        called, whole = self._called, self._input.exhausted
        counts = RunCounts(called, called - self._failed, self._failed)
        return Progress(self._name, counts, called if whole else self._length, self._read, self._left)

    def close(self) -> None:
        """Nothing more is called."""
        self._left = self._left or bool(self._made) or not self._input.exhausted
        self._closed = True
        self._input.exhausted = True
        self._run.finish()
        self._input.let_go()


_NO_OWNER: Any = None  # of futures that are over from the start


class _Uncounted:
    def finish(self) -> None:
        pass


def map_here(
    function: Callable[..., Any],
    name: str,
    iterables: tuple[Iterable[Any], ...],
    *,
    star: bool,
    return_exceptions: bool,
) -> MapIterator:
    """`map` of a parallel function in a task: its calls are part of the task."""

    def call(items: tuple[Any, ...]) -> Future:
        try:
            return settled(_NO_OWNER, function(*items))
        except Exception as error:
            return settled(_NO_OWNER, None, error)

    how = MapOptions(return_exceptions=return_exceptions, star=star or len(iterables) != 1)
    return InlineMap(call, name, iterables, _Uncounted(), how, constants_of(function)).read()


def _forget(_: Future) -> None:
    pass
