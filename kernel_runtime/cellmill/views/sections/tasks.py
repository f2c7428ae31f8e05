"""Single tasks, for recordings: pages ask for the rows that they show, a recording can ask for nothing later."""

from __future__ import annotations

from cellmill.diagnostics.lasting_ids import lasting_id
from cellmill.errors import BackendError
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.commands.tasks import list_tasks, record_tasks

UNASKED = 0  # of no request; pages count theirs from other numbers
ROWS = 100  # of the first page
MOST_TOLD = 100_000  # tasks that are remembered as told


class TasksSection:
    """The first page without conditions, once a second while tasks move."""

    interval = 1.0

    def __init__(self) -> None:
        self._seen: list[object] = [None, None]  # the counters of the last two lists

    def restart(self) -> None:
        self._seen = [None, None]

    def frame(self, executor: Executor) -> schema.TaskList | None:
        stats = executor.stats()
        seen = (lasting_id(executor), stats.submitted, stats.succeeded, stats.failed, stats.cancelled)
        busy = stats.submitted > stats.succeeded + stats.failed + stats.cancelled
        if not busy and self._seen == [seen, seen]:
            return None  # twice: a task is counted a little before its record is written
        self._seen = [self._seen[1], seen]
        try:
            return list_tasks(
                executor, {"request": UNASKED, "states": (), "order": "news", "text": "", "count": ROWS}
            )
        except BackendError:
            return None  # this backend keeps no single tasks


class RecordsSection:
    """Tasks that are over, beside the table as it opens: a recording answers questions from them.

    Each comes once, and again if its result was taken only after that.
    """

    interval = 1.0

    def __init__(self) -> None:
        self._executor = 0
        self._told: dict[tuple[int, int | None, int], object] = {}
        self._seen: object = None
        self._calm = False  # whether the counts were the same at the last two looks

    def restart(self) -> None:
        self._told.clear()
        self._seen = None

    def frame(self, executor: Executor) -> schema.TaskRecords | None:
        if lasting_id(executor) != self._executor or len(self._told) > MOST_TOLD:
            self._executor = lasting_id(executor)
            self.restart()
        stats = executor.stats()
        seen = (stats.succeeded, stats.failed, stats.cancelled)
        if seen == self._seen and self._calm:
            return None  # looked at twice: a task is counted a little before its record is written
        self._calm = seen == self._seen
        self._seen = seen
        try:
            frame = record_tasks(executor, self._told)
        except BackendError:
            return None  # this backend keeps no single tasks
        return frame if frame["records"] else None
