"""The present state of the workers of any backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...task import WorkerInfo
from .scheduler import NO_ELEMENT, Scheduler, ffi, with_gil

STATES = ("lost", "starting", "idle", "lost")


def info_of(scheduler: Scheduler, index: int) -> Any:
    """Return the scheduler's record of one worker (csched_worker_info_t)."""
    out = ffi.new("csched_worker_info_t *")
    with_gil.csched_worker_info(scheduler.handle, index, out)
    return out


def running_in_run(scheduler: Scheduler, run: int) -> int:
    """Tasks of this run that are in user code now."""
    out = ffi.new("csched_worker_info_t *")
    handle, index, count = scheduler.handle, 0, 0
    while with_gil.csched_worker_info(handle, index, out) == 0:
        count += bool(out.ticket) and out.run == run
        index += 1
    return count


def infos(
    scheduler: Scheduler, names: Mapping[int, str], members: Iterable[Any], restarts: Counter[int]
) -> list[WorkerInfo]:
    """One record for each of these members, which have an index and a process id, in the order of the indexes."""
    found = []
    for member in sorted(members, key=lambda m: int(m.index)):
        out = info_of(scheduler, member.index)
        state = "busy" if out.state == 2 and out.ticket else STATES[out.state]
        state = "stopping" if out.stopping else state
        info = WorkerInfo(member.index, member.pid, state, int(out.finished), restarts[member.index])
        if out.ticket:
            name = names.get(out.function)
            element = None if out.element == NO_ELEMENT else int(out.element)
            info = replace(
                info,
                function=name,
                task=int(out.ticket),
                element=element,
                since_ns=int(out.since),
                declared=int(out.asked) or None,
            )
        found.append(info)
    return found
