"""The table of tasks as it opens: pages ask for the rows that they show, a recording can ask for nothing later."""

from __future__ import annotations

from cellmill import schema
from cellmill.commands.tasks import list_tasks
from cellmill.errors import BackendError
from cellmill.executor import Executor

UNASKED = 0  # of a request that nobody made; pages count theirs from other numbers
ROWS = 100  # of the first page


class TasksSection:
    """The first page without conditions, once a second while tasks move."""

    interval = 1.0

    def __init__(self) -> None:
        self._seen: list[object] = [None, None]  # the counters of the last two lists

    def restart(self) -> None:
        self._seen = [None, None]

    def frame(self, executor: Executor) -> schema.TaskList | None:
        stats = executor.stats()
        seen = (id(executor), stats.submitted, stats.succeeded, stats.failed, stats.cancelled)
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
