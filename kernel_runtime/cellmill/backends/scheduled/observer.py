"""Observer of a backend over the scheduler: its tasks, their journeys, its state map and dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...run_registry import Run
from ...telemetry.account import Account
from ...telemetry.forecast import Forecast
from ...telemetry.time_left import TimeLeft
from . import accounts, figures, timeline
from .dependencies import DependencyPicture
from .inspecting import Inspector
from .processor_use import Used
from .remaining import Remaining
from .scheduler import Scheduler
from .state_map import Picture, States


class Observer:
    """The `backends._protocol.Observer` of one backend."""

    def __init__(
        self,
        scheduler: Scheduler,
        states: States,
        function_names: Mapping[int, str],
        tasks: Inspector,
        work_began: Callable[[], int],
        processor_used: Callable[[], Used | None],
    ) -> None:
        """``work_began``, ``processor_used``: see `ScheduledBackend`."""
        self._scheduler = scheduler
        self._states = states
        self._work_began = work_began
        self._processor_used = processor_used
        self._remaining = Remaining(scheduler, function_names, work_began)
        self._forecast: tuple[object, Forecast | None] = (None, None)  # of which state of the work
        self.function_names = function_names
        self.tasks = tasks

    @property
    def next_position(self) -> int:
        return self._states.next

    def state_map(self, start: int, end: int, span: int, most: int) -> Picture:
        return self._states.picture(start, end, span, most)

    def account(self, run: int | None, *, forecast: bool = False) -> Account:
        if run is not None:
            return accounts.account(self._scheduler, self.function_names, run)
        used = self._processor_used()
        more = self._more_workers(used) if forecast else None
        processor = None if used is None else used.workers
        return accounts.account(self._scheduler, self.function_names, None, processor=processor, more=more)

    def pause(self, on: bool) -> None:
        """Record whether tasks are held back from workers."""
        self._remaining.paused = on

    def time_left(self, runs: Iterable[Run], workers: int) -> TimeLeft | None:
        return self._remaining.look(list(runs), workers)

    def _more_workers(self, used: Used | None) -> Forecast | None:
        """Return what more workers would have changed, once the work is over; it is calculated once."""
        now = figures.stats(self._scheduler, 0)
        if now.done < now.submitted:
            return None
        sums = accounts.sums_of(self._scheduler, None)
        state = (sums.began, sums.ended, sums.tasks)
        if self._forecast[0] != state:
            self._forecast = (state, accounts.forecast(self._scheduler, self._work_began, sums, used))
        return self._forecast[1]

    def timeline(self) -> timeline.Timeline:
        return timeline.Timeline(self._scheduler)

    def spans_between(self, start_ns: int, end_ns: int, most: int) -> tuple[bytes, int]:
        return timeline.window(self._scheduler, start_ns, end_ns, most)

    def dependencies(self) -> DependencyPicture:
        return DependencyPicture(self._scheduler, self.function_names, self._work_began)
