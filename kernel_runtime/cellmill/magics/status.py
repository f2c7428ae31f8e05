"""The output of `%cellmill`."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from html import escape

import cellmill
from cellmill.task import WorkerInfo, size_text

_CELL = 'style="text-align:left;padding:1px 12px 1px 0"'
_COLOURS = {"idle": "#888", "starting": "#888", "busy": "#2e7d32", "stopping": "#ef6c00", "lost": "#c62828"}


_PATIENCE = 1.0
DASHBOARD = "dashboard"  # of the workers' cluster


def _started(executor: cellmill.Executor) -> tuple[WorkerInfo, ...]:
    """The workers; those of an executor just made are given a moment to start."""
    end = time.monotonic() + _PATIENCE
    while True:
        workers = tuple(executor.workers())
        starting = any(worker.state == "starting" for worker in workers) or not workers
        if not starting or executor.backend != "local" or time.monotonic() > end:
            return workers
        time.sleep(0.01)


def in_words(executor: cellmill.Executor) -> str:
    """Return the executor's resources in words."""
    found = [
        f"{name} {size_text(total)}" if name == "memory" else f"{name} {total:.16g}"
        for name, total in sorted(executor.resources.items())
    ]
    return ", ".join(found)


def _linked(name: str, value: str) -> str:
    """A fact's value in HTML; the dashboard's address is a link."""
    text = escape(value)
    if name != DASHBOARD:
        return text
    return f'<a href="{text}" target="_blank" rel="noopener noreferrer">{text}</a>'


def _memories(executor: cellmill.Executor, workers: tuple[WorkerInfo, ...]) -> dict[int, str]:
    """What the processes of a cluster's workers use, by worker, in the words of the tab Workers; they are asked, and
    given a moment.
    """
    use = executor._backend.use
    if use is None or not any(worker.address for worker in workers):
        return {}
    end = time.monotonic() + _PATIENCE
    while True:
        found = {worker.index: use.measured(worker.index) for worker in workers}
        if any(found.values()) or time.monotonic() > end:
            break
        time.sleep(0.05)
    texts: dict[int, str] = {}
    first: dict[Hashable, int] = {}  # worker of a process
    for index, used in found.items():
        if used is None:
            continue
        if used.process in first:
            texts[index] = f"with {first[used.process]}"
        elif used.resident is not None and used.limit is not None:
            texts[index] = f"{size_text(used.resident)} of {size_text(used.limit)}"
        else:
            texts[index] = size_text(used.memory)
        first.setdefault(used.process, index)
    return texts


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the default executor at one moment; draws itself as text and as HTML."""

    facts: tuple[tuple[str, str], ...]
    workers: tuple[WorkerInfo, ...]
    memories: Mapping[int, str]  # by worker

    @classmethod
    def now(cls) -> Status:
        """Read the default executor; starts it when there is none yet."""
        executor = cellmill.default_executor()
        stats = executor.stats()
        done = f"{stats.succeeded + stats.failed:,} of {stats.total:,}"  # cancelled ones are none
        stopping = f" ({stats.stopping:,} of them stopping)" if stats.stopping else ""
        counts = f"{done} done, {stats.running:,} running{stopping}, {stats.waiting + stats.queued:,} waiting"
        ends = f"{stats.succeeded:,} succeeded, {stats.failed:,} failed, {stats.cancelled:,} cancelled"
        state = (
            " (closed)"
            if executor.closed
            else " (paused: %cellmill resume goes on)"
            if executor.paused
            else ""
        )
        facts = (
            ("backend", f"{executor.backend}{state}"),
            *((("cluster", cluster),) if (cluster := executor._backend.cluster) else ()),
            ("workers", str(executor.max_workers)),
            ("tasks", f"{counts} ({ends})"),
            ("preload", " ".join(executor.preloaded) or "nothing"),
            ("policy", str(executor.policy)),
            *((("resources", in_words(executor)),) if executor.resources else ()),
            *(((DASHBOARD, link),) if (link := executor._backend.dashboard) else ()),
        )
        workers = _started(executor)
        return cls(facts, workers, _memories(executor, workers))

    def _of_cluster(self, worker: WorkerInfo) -> tuple[str, ...]:
        """The columns that workers of clusters have beside the others."""
        if not worker.address:
            return ()
        return str(worker.threads or "-"), self.memories.get(worker.index, "-"), worker.address

    @property
    def _heads(self) -> tuple[str, ...]:
        return ("threads", "memory", "address") if any(w.address for w in self.workers) else ()

    def __repr__(self) -> str:
        lines = [f"{name:9} {value}" for name, value in self.facts]
        if self.workers:
            more = [self._heads, *map(self._of_cluster, self.workers)]
            wide = max((len(columns[1]) for columns in more if columns), default=0)
            head, *tails = [
                f" {columns[0]:>7}  {columns[1]:>{wide}}  {columns[2]}" if columns else "" for columns in more
            ]
            lines += ["", f"{'worker':>6} {'pid':>8}  {'state':9} {'tasks':>9} {'restarts':>8}{head}"]
            lines += [
                f"{w.index:6} {w.pid or '-':>8}  {w.state:9} {w.tasks_done:9,} {w.restarts:8,}{tail}"
                for w, tail in zip(self.workers, tails, strict=True)
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL} colspan=4>{_linked(name, value)}</td></tr>"
            for name, value in self.facts
        )
        heads = "".join(
            f"<th {_CELL}>{head}</th>"
            for head in ("worker", "pid", "state", "tasks", "restarts", *self._heads)
        )
        rows = "".join(self._row(worker) for worker in self.workers)
        table = f"<tr>{heads}</tr>{rows}" if self.workers else ""
        return f"<table>{facts}{table}</table>"

    def _row(self, worker: WorkerInfo) -> str:
        colour = _COLOURS.get(worker.state, "inherit")
        state = f'<span style="color:{colour}">{escape(worker.state)}</span>'
        values = (
            str(worker.index),
            str(worker.pid or "-"),
            state,
            f"{worker.tasks_done:,}",
            f"{worker.restarts:,}",
            *map(escape, self._of_cluster(worker)),
        )
        return "<tr>" + "".join(f"<td {_CELL}>{value}</td>" for value in values) + "</tr>"
