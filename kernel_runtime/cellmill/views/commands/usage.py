"""Commands that ask what one worker used over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellmill.errors import UsageError
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.telemetry.usage import of_worker
from cellmill.views.scope import asked_scope
from cellmill.views.sections.usage import bounds, column


def show_worker(executor: Executor, command: Mapping[str, Any]) -> schema.WorkerUsage:
    """Answer with all that is kept of a worker's memory and processors; views cut out the time that they show."""
    request, worker = command.get("request"), command.get("worker")
    if type(request) is not int or request < 0 or type(worker) is not int or worker < 0:
        raise UsageError(f"a question and a worker have whole numbers, not {request!r} and {worker!r}")
    use = executor._backend.use
    if use is None:
        raise UsageError(f"the {executor.backend} backend does not tell what its workers use")
    scope = asked_scope(executor, command.get("run"))
    rows = of_worker(use.points(*bounds(scope, scope.began if scope is not None else 0.0)), worker)
    return {
        "cellmill": schema.VERSION,
        "kind": "worker-usage",
        "run": None if scope is None else scope.run,
        "request": request,
        "worker": worker,
        "start": column(row[0] for row in rows),
        "time": column(row[1] for row in rows),
        "memory": column(row[2] for row in rows),
        "cpu": column(row[3] for row in rows),
    }
