"""`sweep`: a function over all points of its axes, as tasks of one run, or point by point."""

from __future__ import annotations

import importlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future as BaseFuture
from typing import Any

from ..backends.settled import settled
from ..diagnostics import notices
from ..diagnostics.blame import cancelling
from ..diagnostics.boundary import bounded
from ..diagnostics.short_text import counted
from ..errors import CellmillError, UsageError
from ..executor import Executor, default_executor
from ..futures import Future
from ..memo.calls import Memo, memo_of
from ..memo.function_key import FunctionKey
from ..memo.recording import argument, unpacked
from ..memo.structure import Unkeyed
from ..parallel import ParallelFunction, parallel
from ..process_context.interrupts import uninterrupted
from ..run_registry import Run
from ..task import TaskOptions, path_of
from . import results
from .axes import Axis, Plan, axes_given, place_of, plan_of
from .results import KNOWN, Outcome, SweepCounts
from .run_end import Rest

Places = tuple[int, ...]
_HERE = ("threads", "inline")  # backends whose tasks change what the function refers to, here


@bounded
def sweep(
    function: Callable[..., Any],
    /,
    *,
    path: str | os.PathLike[str] | None = None,
    axes: Mapping[str, Any] | None = None,
    **values: Any,
) -> Sweep:
    """A sweep over the points that these axes span: ``cellmill.sweep(f, lr=[0.1, 0.01], depth=range(2, 6)).run()``.

    A keyword is an axis where it has several values (a list, range, array, Enum class), and else the one value of that
    parameter. Of others the signature tells: a default or annotation of bool has both values, ``Literal`` and ``Enum``
    have their choices, and every other default stays as it is.

    ``path`` names a folder that keeps results, as ``memo=`` of a parallel function does: the same sweep goes on from
    there in another process. ``axes={"path": […]}`` is for parameters by the names of this function's own. Options and
    the executor are those of a parallel function: ``cellmill.sweep(f.options(retries=2, executor=ex), …)``.
    """
    return Sweep(function, axes_given(axes, values), path)


class Sweep:
    """A function, its axes, and what is known of its points. Safe to use from several threads."""

    def __init__(
        self,
        function: Callable[..., Any],
        given: Mapping[str, Any],
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        called: ParallelFunction = parallel(function)
        options: TaskOptions = called._options
        if options.batch:
            raise UsageError(f"{called.name} is a batch function: sweep takes a function of one point")
        if options.checkpoint:
            raise UsageError("a sweep keeps its results by path=, not by checkpoint=")
        if path is not None:
            folder = path_of("path", path, "the name of a folder")
            if os.path.isfile(folder):
                raise UsageError(f"path names a folder in which results are kept, and {folder} is a file")
            options = options.changed(memo=folder)
        self._plan: Plan = plan_of(called.__wrapped__, called.name, given)
        self._called, self._options = called, options
        self._function = called._sent()
        self.name = called.name
        self._key = FunctionKey(self._function, options.depends_on, generators=True)
        self._digests: tuple[bytes, bytes] | None = None  # of the function that results are of
        self._memo: Memo | None = memo_of(self._function, options) if options.memo else None
        self._beginning = threading.RLock()  # held while points are begun; never taken after the next one
        self._changed = threading.Condition(threading.RLock())
        self._outcomes: dict[Places, Outcome] = {}
        self._futures: dict[Places, Future] = {}
        self._runs: list[Run] = []
        self._numbers = itertools.count(1)
        self._stops = 0  # how often it was stopped: what is being begun ends, too
        self._watchers: list[Callable[[], None]] = []
        self._display: Any = None
        if self._memo is not None:
            self._digests = self._state()
            self._find(self._all())

    # -- what there is

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The values of each parameter that varies."""
        return {axis.name: list(axis.values) for axis in self._plan.axes}

    @property
    def fixed(self) -> dict[str, Any]:
        """The other parameters: those of one given value, and defaults."""
        return {**self._plan.given, **self._plan.defaults}

    def __len__(self) -> int:
        """Number of points."""
        total = 1
        for axis in self._plan.axes:
            total *= len(axis.values)
        return total

    def counts(self) -> SweepCounts:
        """Points by their state."""
        self._look()
        return self._counts()

    def _counts(self) -> SweepCounts:
        with self._changed:
            self._note_all()
            failed = sum(each.error is not None for each in self._outcomes.values())
            begun, over, runs = len(self._futures), len(self._outcomes), list(self._runs)
        running = min(begun, sum(run.running() for run in runs))
        return SweepCounts(len(self) - begun - over, begun - running, running, over - failed, failed)

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each point that is over, in the order of the axes: parameters, columns of the result, "error".

        A dict, namedtuple or dataclass as a result has a column for each field, any other the column "result". Where a
        parameter is called "error", the last column is "sweep.error".
        """
        return self._known()[0].rows

    @bounded
    def frame(self) -> Any:
        """The same as a pandas DataFrame."""
        return results.frame(self._known()[0])

    def errors(self) -> list[tuple[dict[str, Any], BaseException]]:
        """(parameters, error) of each point that failed."""
        over = self._known()[1]
        return [
            (self._plan.parameters(at), outcome.error) for at, outcome in over if outcome.error is not None
        ]

    # -- what it does

    @bounded
    def run(self, wait: bool = True) -> Sweep:
        """Run all points that are open, as tasks of one run; without ``wait``, return at once.

        Failed points are not run again: that is `retry`.
        """
        self._begin(
            lambda: [at for at in self._all() if at not in self._outcomes and at not in self._futures]
        )
        return self.wait() if wait else self

    @bounded
    def retry(self, wait: bool = True) -> Sweep:
        """Run again all points that failed."""
        self._begin(lambda: [at for at in self._all() if at in self._outcomes and self._outcomes[at].error])
        return self.wait() if wait else self

    @bounded
    def __call__(self, **values: Any) -> Future:
        """The future of one point, which is run unless it is known or runs; axes not named are at their defaults."""
        places = self._places(values)
        while True:
            begun = self._begin(
                lambda: [places][: places not in self._outcomes and places not in self._futures]
            )
            with self._changed:
                known, future = self._outcomes.get(places), begun.get(places) or self._futures.get(places)
            if future is not None:
                return future
            if known is not None:
                return settled(KNOWN, known.value, known.error)

    point = __call__

    @bounded
    def wait(self, timeout: float | None = None) -> Sweep:
        """Return when no point runs.

        Raises:
            TimeoutError: some still do after so many seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        try:
            with self._changed:
                while self._futures:
                    left = None if end is None else end - time.monotonic()
                    if left is not None and left <= 0:
                        raise TimeoutError(
                            f"{counted(len(self._futures), 'point')} of {self.name} not over yet"
                        )
                    self._changed.wait(left)
        except KeyboardInterrupt:
            self.stop()
            raise
        if self._memo is not None:
            self._memo.store.write()
        return self

    @bounded
    def stop(self) -> int:
        """Cancel points that have not begun and interrupt those that run; how many that were. They are open again."""
        with self._changed:
            runs = list(self._runs)
            self._stops += 1
        with cancelling(f"stop() of the sweep over {self.name}"):
            return sum(run.stop() for run in runs)

    def __repr__(self) -> str:
        self._look()
        axes = ", ".join(f"{axis.name}: {counted(len(axis.values), 'value')}" for axis in self._plan.axes)
        return f"<cellmill.Sweep {self.name}({axes}): {self.progress()}>"

    def _ipython_display_(self) -> None:
        self._look()
        # by name: drawing needs it, and nothing here needs drawing before the first time
        display = importlib.import_module("cellmill.sweeping.display")
        self._display = display.show(self, self._display)

    # -- for its display

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call this, from any thread, whenever a point begins or ends."""
        self._watchers.append(callback)

    def plan_axes(self) -> tuple[Axis, ...]:
        """The axes with the places of defaults."""
        return self._plan.axes

    def state(self) -> tuple[results.Table, list[tuple[Places, Outcome]]]:
        """What is over, as rows, and (places, outcome) of each row."""
        with self._changed:
            self._note_all()
            found = sorted(self._outcomes.items(), key=lambda each: each[0])
        return self._table_of(found), found

    def progress(self) -> str:
        """Points by their state, in words."""
        state = self._counts()
        told = [f"{state.done:,} of {counted(len(self), 'point')} done"]
        others = [(word, getattr(state, word)) for word in ("failed", "running", "waiting")]
        return ", ".join([*told, *(f"{count:,} {word}" for word, count in others if count)])

    def busy(self) -> bool:
        """Whether a point runs or waits."""
        return bool(self._futures)

    def begin_at(self, places: Places) -> None:
        """Run the point at these places of the axes, unless it is known or runs."""
        self._begin(lambda: [places][: places not in self._outcomes and places not in self._futures])

    # -- its points

    def _all(self) -> Iterator[Places]:
        return itertools.product(*(range(len(axis.values)) for axis in self._plan.axes))

    def _places(self, values: Mapping[str, Any]) -> Places:
        names = [axis.name for axis in self._plan.axes]
        for name in values:
            if name not in names:
                raise UsageError(
                    f"{name!r} is no axis of this sweep: "
                    + (f"its axes are {', '.join(names)}" if names else "it has none")
                )
        return tuple(
            place_of(axis, values[axis.name]) if axis.name in values else axis.start
            for axis in self._plan.axes
        )

    def _known(self) -> tuple[results.Table, list[tuple[Places, Outcome]]]:
        self._look()
        return self.state()

    def _table_of(self, found: list[tuple[Places, Outcome]]) -> results.Table:
        names = (*(axis.name for axis in self._plan.axes), *self._plan.given)
        return results.table(names, [(self._plan.parameters(places), outcome) for places, outcome in found])

    def _state(self) -> tuple[bytes, bytes] | None:
        """Digests of the function with all that it refers to, without and with settings; None where it has none."""
        try:
            return self._key.of_function(), self._key.digest()
        except Unkeyed:
            return None

    def _look(self) -> None:
        """Before results are told: those of another function are results no more. Settings of the moment are let be."""
        if (known := self._digests) and (now := self._state()) and known[0] != now[0]:
            self._forget_stale(now)

    def _forget_stale(self, now: tuple[bytes, bytes] | None) -> None:
        """Results of the function as it was before something it refers to changed are results no more."""
        with self._changed:
            stale = now is not None and self._digests is not None and now != self._digests
            count = len(self._outcomes) + len(self._futures)
            if stale:
                self._outcomes.clear()
                self._futures.clear()
                self._changed.notify_all()
            self._digests = now  # last: where Stop comes before it, the next look finds them stale again
        if stale and count:
            notices.warn(
                f"{self.name}, or something that it refers to, has changed: the sweep shows {counted(count, 'result')} "
                "from before no more, and these points are open again"
            )

    def _find(self, points: Iterator[Places]) -> None:
        """Take over what the folder, or memory, has."""
        memo = self._memo
        assert memo is not None
        for places in points:
            kept = memo.find(memo.key(*self._plan.call(places)))
            if kept is not None:
                self._outcomes[places] = Outcome(next(self._numbers), unpacked(kept))

    def _begin(self, choose: Callable[[], list[Places]]) -> dict[Places, Future]:
        """Run the points that ``choose`` picks from the present state, as tasks of one run; their futures."""
        executor: Executor = self._called._executor or default_executor()
        with self._beginning:
            self._forget_stale(self._state() if executor.backend not in _HERE else None)
            with self._changed:
                self._note_all()
                points = choose()
                if self._memo is not None:
                    self._find(iter(points))
                    over = self._outcomes
                    points = [at for at in points if at not in over or over[at].error is not None]
            begun = self._submit(executor, points) if points else {}
        self._tell()
        return begun

    def _submit(self, executor: Executor, points: list[Places]) -> dict[Places, Future]:
        rest = Rest(self._runs)
        begun: dict[Places, Future] = {}
        stops = self._stops
        try:
            with uninterrupted():
                run = executor.open_run(self._options.name or self.name, self._function, len(points))
                rest.of(run)
            for places in points:
                if self._stops != stops:
                    break
                args, kwargs = self._plan.call(places)
                called = self._function
                try:
                    if self._memo is not None:
                        called, args = self._memo.run, (argument(self._memo.key(args, kwargs)), *args)
                    future = executor.submit_in(run, called, args, self._options, kwargs)
                except CellmillError as error:  # its arguments cannot be sent
                    future = settled(KNOWN, None, error)
                with uninterrupted():  # a point that is under way is waited for: its end has to be heard
                    with self._changed:
                        self._outcomes.pop(places, None)
                        self._futures[places] = begun[places] = future
                    rest.more()
                    future.add_done_callback(self._ended(places, rest))
        finally:
            rest.less()
        return begun

    def _ended(self, places: Places, rest: Rest) -> Callable[[BaseFuture[Any]], None]:
        def ended(future: BaseFuture[Any]) -> None:
            rest.less()
            with self._changed:
                self._note(places, future)
            self._tell()

        return ended

    def _note(self, places: Places, future: BaseFuture[Any]) -> None:
        """Keep how the task of a point ended; a second time, or where the function has changed since, nothing."""
        if self._futures.get(places) is not future:
            return
        outcome = None if future.cancelled() else self._outcome_of(future)
        with uninterrupted():
            if outcome is not None:
                self._outcomes[places] = outcome
            del self._futures[places]
            if not self._futures:
                self._changed.notify_all()

    def _outcome_of(self, future: BaseFuture[Any]) -> Outcome:
        error: BaseException | None
        value = None
        try:
            error = future.exception()
            if error is None:
                value = future.result()
        except BaseException as raised:  # the value could not be fetched
            if (
                isinstance(raised, KeyboardInterrupt)
                and threading.current_thread() is threading.main_thread()
            ):
                raise  # Stop: it is fetched the next time
            error = raised
        return Outcome(next(self._numbers), value, error)

    def _note_all(self) -> None:
        """Who has a result finds it in the table: callbacks come a moment later."""
        for places, future in self._futures.copy().items():
            if future.done():
                self._note(places, future)

    def _tell(self) -> None:
        for watcher in list(self._watchers):
            watcher()
