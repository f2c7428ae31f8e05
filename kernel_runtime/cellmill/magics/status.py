"""The output of `%cellmill`."""

from __future__ import annotations

import time
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


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the default executor at one moment; draws itself as text and as HTML."""

    facts: tuple[tuple[str, str], ...]
    workers: tuple[WorkerInfo, ...]

    @classmethod
    def now(cls) -> Status:
        """Read the default executor; starts it when there is none yet."""
        executor = cellmill.default_executor()
        stats = executor.stats()
        done = f"{stats.done:,} of {stats.total:,}"
        counts = f"{done} done, {stats.running:,} running, {stats.waiting:,} waiting"
        if stats.stopping:
            counts += f", {stats.stopping:,} of them stopping"
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
        return cls(facts, _started(executor))

    @property
    def _head(self) -> str:
        """Of the column of addresses, which workers of clusters have."""
        return "  address" if any(w.address for w in self.workers) else ""

    def __repr__(self) -> str:
        lines = [f"{name:9} {value}" for name, value in self.facts]
        if self.workers:
            lines += ["", f"{'worker':>6} {'pid':>8}  {'state':9} {'tasks':>9} {'restarts':>8}{self._head}"]
            lines += [
                f"{w.index:6} {w.pid or '-':>8}  {w.state:9} {w.tasks_done:9,} {w.restarts:8,}"
                + (f"  {w.address}" if w.address else "")
                for w in self.workers
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th {_CELL}>{escape(name)}</th><td {_CELL} colspan=4>{_linked(name, value)}</td></tr>"
            for name, value in self.facts
        )
        heads = "".join(
            f"<th {_CELL}>{head}</th>"
            for head in ("worker", "pid", "state", "tasks", "restarts", *filter(None, [self._head.strip()]))
        )
        rows = "".join(self._row(worker) for worker in self.workers)
        table = f"<tr>{heads}</tr>{rows}" if self.workers else ""
        return f"<table>{facts}{table}</table>"

    @staticmethod
    def _row(worker: WorkerInfo) -> str:
        colour = _COLOURS.get(worker.state, "inherit")
        state = f'<span style="color:{colour}">{escape(worker.state)}</span>'
        values = (
            str(worker.index),
            str(worker.pid or "-"),
            state,
            f"{worker.tasks_done:,}",
            f"{worker.restarts:,}",
            *((escape(worker.address),) if worker.address else ()),
        )
        return "<tr>" + "".join(f"<td {_CELL}>{value}</td>" for value in values) + "</tr>"
