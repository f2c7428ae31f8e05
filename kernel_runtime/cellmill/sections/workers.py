"""The worker processes."""

from __future__ import annotations

from cellmill import schema
from cellmill.executor import Executor


class WorkersSection:
    """What each worker does, once a second."""

    interval = 1.0

    def __init__(self) -> None:
        self._last: schema.Workers | None = None

    def restart(self) -> None:
        self._last = None

    def frame(self, executor: Executor) -> schema.Workers | None:
        infos = executor.workers()
        frame: schema.Workers = {
            "cellmill": schema.VERSION,
            "kind": "workers",
            "restarts": max((info.restarts for info in infos), default=0),
            "workers": [
                {"index": info.index, "pid": info.pid or None, "state": info.state, "done": info.tasks_done}
                for info in infos
            ],
        }
        if frame == self._last:
            return None
        self._last = frame
        return frame
