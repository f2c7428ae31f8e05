"""Observer of a backend over the scheduler: its tasks, their journeys, its state map and dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...cell_output.recent import Recent
from ...diagnostics.questions import SlowTask
from ...history import Moved
from ...run_registry import Run
from ...telemetry.account import Account
from ...telemetry.time_left import TimeLeft
from . import accounts, packed_rows, timeline
from .advising import Adviser
from .dependencies import DependencyPicture
from .inspecting import Inspector
from .remaining import Remaining
from .scheduler import Scheduler
from .shared_page import SharedPage
from .slowest import Slowest
from .state_map import Picture, States


class Observer:
    """The `backends._observing.Observer` of one backend."""

    def __init__(
        self,
        scheduler: Scheduler,
        states: States,
        function_names: Mapping[int, str],
        tasks: Inspector,
        work_began: Callable[[], int],
        adviser: Adviser,
        payloads: bool,
        recent: Callable[[], Recent],
    ) -> None:
        """``work_began``, ``payloads``: see `ScheduledBackend`; ``recent``: what tasks print."""
        self._recent = recent
        self._scheduler = scheduler
        self._states = states
        self._work_began = work_began
        self._adviser = adviser
        self._remaining = Remaining(scheduler, function_names, work_began)
        self._slowest = Slowest(scheduler, function_names, payloads)
        self._payloads = payloads
        self._page: SharedPage | None = None
        self.function_names = function_names
        self.tasks = tasks

    @property
    def recent_output(self) -> Recent:
        return self._recent()

    @property
    def next_position(self) -> int:
        return self._states.next

    def state_map(self, start: int, end: int, span: int, most: int, run: int | None = None) -> Picture:
        return self._states.picture(start, end, span, most, run)

    def positions_of(self, run: int) -> int:
        return self._states.count(run)

    def position_in(self, run: int, place: int) -> int | None:
        return self._states.position_in(run, place)

    def account(self, run: int | None, *, advice: bool = False) -> Account:
        return self._adviser.account(run, advised=advice)

    def work_span(self) -> tuple[float, float]:
        sums = accounts.sums_of(self._scheduler, None)
        return sums.began * accounts.NS, sums.ended * accounts.NS

    def moved_by(self, functions: Iterable[int]) -> dict[int, Moved]:
        if not self._payloads:
            return {}
        return {function: accounts.moved_by(self._scheduler, function) for function in functions}

    def slowest(self) -> list[SlowTask]:
        return self._slowest.look()

    @property
    def paused(self) -> bool:
        return self._remaining.paused

    def shared_page(self) -> SharedPage:
        if self._page is None:
            self._page = SharedPage(self._scheduler)
        return self._page

    def time_left(self, runs: Iterable[Run], workers: int) -> TimeLeft | None:
        return self._remaining.look(list(runs), workers)

    def timeline(self) -> timeline.Timeline:
        return timeline.Timeline(self._scheduler)

    def row_reader(self) -> packed_rows.RowReader:
        return packed_rows.RowReader(self._scheduler)

    def spans_between(
        self, start_ns: int, end_ns: int, most: int, run: int | None = None
    ) -> tuple[bytes, int]:
        number = timeline.EVERY_RUN if run is None else run
        return timeline.window(self._scheduler, number, start_ns, end_ns, most)

    def dependencies(self, run: int | None = None) -> DependencyPicture:
        return DependencyPicture(self._scheduler, self.function_names, self._work_began, run)
