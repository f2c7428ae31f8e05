"""A run as a trace in the Chrome format, which Perfetto, chrome://tracing and Speedscope open.

The kernel has a track for calls and one for results, each worker a track of its own. Arrows lead from a call to its
task, and from the task to where its result was taken. Counters tell queue, running tasks and memory.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..backends.scheduled.figures import STATUSES
from ..backends.scheduled.scheduler import NO_WORKER
from ..diagnostics.short_text import counted
from .catalogue import What, open_record, or_latest
from .moments import Moments
from .record import Record
from .thinning import chosen, sentence, tasks_in

MOST_TASKS = 100_000  # of a trace: with their arrows some 80 MB, which a browser opens in seconds
_POINTS = 2000  # of counters
KERNEL, WORKERS = 1, 2  # processes of the trace
_CALLS, _RESULTS = 1, 2  # threads of the kernel
_FIRST_WORKER = 1
_MOMENT = 0.001  # microseconds: arrows begin and end at slices, and slices of a track must not overlap
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedTrace:
    """A trace that was written."""

    path: Path
    tasks: int
    note: str  # what was left out; "": nothing

    def __repr__(self) -> str:
        text = f"{counted(self.tasks, 'task')} in {self.path}: open it at https://ui.perfetto.dev, which reads it here"
        return f"{text}. {self.note}" if self.note else text


def save_trace(path: str | os.PathLike[str], run: What = None) -> SavedTrace:
    """Write a run as a trace that Perfetto opens: a run, its number, a record or its file; without one the latest run.

    Of more than 100,000 tasks some are left out, which the result says. The file is its owner's alone.
    """
    record = open_record(or_latest(run))
    target = Path(path).expanduser()
    rows = chosen(record, MOST_TASKS)
    left_out = sentence(record, len(rows))
    note = f"{left_out} Counters are of all." if left_out else ""
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w") as file:
            file.write('{"displayTimeUnit":"ms","otherData":')
            file.write(json.dumps(_about(record, note)))
            file.write(',"traceEvents":[\n')
            for number, event in enumerate(events(record, rows)):
                file.write((",\n" if number else "") + json.dumps(event, separators=(",", ":")))
            file.write("\n]}\n")
        fresh.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
    return SavedTrace(target, tasks_in(rows), note)


def _about(record: Record, note: str) -> dict[str, str]:
    told = {"run": record.run.name, "began": record.run.began.isoformat(), "left out": note or "nothing"}
    kept = ("host", "system", "python", "backend", "workers", "release")
    return told | {name: str(record.head[name]) for name in kept if name in record.head}


def events(record: Record, rows: list[tuple[int, ...]]) -> Iterator[Event]:
    """The events of a trace; times are microseconds since the run began."""
    origin = min((row[7] for row in rows if row[7]), default=record.began_ns)
    origin = min(origin, record.began_ns or origin)
    yield from _names(record, {row[4] for row in rows if row[4] != NO_WORKER})
    last, numbers = len(rows) - 1, itertools.count(1)
    for number, row in enumerate(rows):
        first_of_chunk = number == 0 or _chunk(rows[number - 1]) != _chunk(row)
        last_of_chunk = number == last or _chunk(rows[number + 1]) != _chunk(row)
        yield from _task(record, row, origin, numbers, first_of_chunk, last_of_chunk)
    yield from _counters(record, origin)


def _chunk(row: tuple[int, ...]) -> tuple[int, int]:
    """What elements of one chunk have in common."""
    return row[0], row[6]


def _names(record: Record, workers: set[int]) -> Iterator[Event]:
    host = record.head.get("host", "this machine")
    backend = record.head.get("cluster") or record.head.get("backend", "")
    yield _named("process_name", KERNEL, 0, f"kernel on {host}")
    yield _named("process_name", WORKERS, 0, f"workers ({backend})")
    yield _named("thread_name", KERNEL, _CALLS, "calls")
    yield _named("thread_name", KERNEL, _RESULTS, "results")
    for worker in sorted(workers):
        yield _named("thread_name", WORKERS, _FIRST_WORKER + worker, f"worker {worker}")


def _named(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _task(
    record: Record,
    row: tuple[int, ...],
    origin: int,
    numbers: Iterator[int],
    first_of_chunk: bool,
    last_of_chunk: bool,
) -> Iterator[Event]:
    ticket, _, function, element, worker, status, attempt, *stamps, pack_ns, position = row
    submitted, _, _, _, started, finished, _, resolved = ((stamp - origin) / 1e3 for stamp in stamps)
    name = record.names.get(function, record.run.name).rpartition("<locals>.")[2]
    runs = bool(stamps[4] and stamps[5]) and worker != NO_WORKER
    kind = STATUSES[status] if status < len(STATUSES) else "?"
    task, place = {"task": ticket >> 32}, (WORKERS, _FIRST_WORKER + worker)
    if first_of_chunk and not attempt:
        yield _slice(
            f"call {name}", (KERNEL, _CALLS), submitted, _MOMENT, {**task, "pickled in ns": int(pack_ns)}
        )
    if not runs:
        return
    about = {**task, "element": element, "position": position, "ended": kind, "attempt": attempt}
    told = {"cat": kind, **({} if kind == "done" else {"cname": "terrible"})}
    yield _slice(name, place, started, finished - started, about) | told
    if first_of_chunk and not attempt:
        yield from _arrow(next(numbers), (KERNEL, _CALLS), submitted, place, started)
    if last_of_chunk and stamps[7]:
        yield _slice(f"result of {name}", (KERNEL, _RESULTS), resolved, _MOMENT, task)
        yield from _arrow(next(numbers), place, started, (KERNEL, _RESULTS), resolved)


def _slice(name: str, place: tuple[int, int], at: float, length: float, args: dict[str, Any]) -> Event:
    return {
        "ph": "X",
        "name": name,
        "pid": place[0],
        "tid": place[1],
        "ts": round(at, 3),
        "dur": round(length, 3),
        "args": args,
    }


def _arrow(
    number: int, source: tuple[int, int], left: float, target: tuple[int, int], reached: float
) -> Iterator[Event]:
    """An arrow from the slice of one track at a time to that of another one."""
    same = {"id": number, "name": "task", "cat": "task"}
    yield {"ph": "s", **same, "pid": source[0], "tid": source[1], "ts": round(left, 3)}
    yield {"ph": "f", "bp": "e", **same, "pid": target[0], "tid": target[1], "ts": round(reached, 3)}


def _counters(record: Record, origin: int) -> Iterator[Event]:
    moments = Moments(record)
    for moment in moments.evenly(min(_POINTS, 2 * len(record) + 2)):
        counts = moments.at(moment)
        yield _counter("tasks", moment - origin, {"waiting": counts.queued, "running": counts.running})
        yield _counter("tasks over", moment - origin, {"done": counts.succeeded, "failed": counts.failed})
    for sample in record.samples:
        if sample.memory is not None:
            yield _counter("memory of workers", sample.at - origin, {"bytes": sample.memory})


def _counter(name: str, at_ns: int, values: dict[str, int]) -> Event:
    return {"ph": "C", "name": name, "pid": WORKERS, "tid": 0, "ts": at_ns / 1e3, "args": values}
