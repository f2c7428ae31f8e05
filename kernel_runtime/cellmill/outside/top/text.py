"""What `cellmill top` says, as text: the cells of its tables, and one frame for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics.short_text import counted, duration_text
from ...telemetry.text_bar import text_bar
from ..kernel import Kernel
from .watch import Frame

RUNS = ("run", "cell", "name", "progress", "over", "failed", "time", "left", "cancelled")
WORKERS = ("worker", "pid", "state", "memory", "runs", "for", "over")
TASKS = ("task", "function", "worker", "ended", "waited", "ran")
BAR = 12  # characters of the bar of a run
WIDTH = 40  # of that of all tasks
MOST_RUNS = 10  # of those that are over, in a frame of text


def states(counts: dict[str, Any]) -> dict[str, int]:
    """Return the numbers of tasks by the letters of `text_bar`."""
    lost = counts["lost"]
    return {
        "d": counts["succeeded"],
        "f": counts["failed"] - lost,
        "l": lost,
        "c": counts["cancelled"],
        "r": counts["running"],
    }


def legend(counts: dict[str, int]) -> list[tuple[str, str]]:
    """Return the letter of each state that there is, and its number in words."""
    words = {"d": "done", "f": "failed", "l": "lost", "c": "cancelled", "r": "running"}
    found = [(letter, f"{number:,} {words[letter]}") for letter, number in states(counts).items() if number]
    found += [("w", f"{counts[name]:,} {name}") for name in ("queued", "waiting") if counts[name]]
    return found or [("w", "no task yet")]


def head(kernel: Kernel) -> str:
    """Return which kernel it is, and what it runs on."""
    backends = ", ".join(dict.fromkeys(kernel.backends)) or "no executor yet"
    parts = [f"{kernel.served.title}, process {kernel.served.pid}"]
    parts.append(
        f"{backends}, {counted(kernel.counts['workers'], 'worker')}" if kernel.backends else backends
    )
    if kernel.paused:
        parts.append("paused")
    if kernel.age > 1:
        parts.append(f"figures are {duration_text(kernel.age)} old")
    return " · ".join(parts)


def time_text(seconds: float) -> str:
    """Return a duration as `duration_text` does, and longer ones in minutes and hours: 2 min 05 s, 1 h 02 min."""
    if seconds < 60:
        return duration_text(seconds)
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60:02d} min"


def rate_text(rate: float | None) -> str:
    """Return tasks a second in words; "" where they are not known."""
    if rate is None:
        return ""
    return f"{rate:,.0f} tasks/s" if rate >= 10 or rate == 0 else f"{rate:.1f} tasks/s"


def run_cells(run: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of `RUNS`."""
    over = run["succeeded"] + run["failed"] + run["cancelled"]
    total = run["total"] if run["total"] is not None else run["submitted"]
    of = f" of {total:,}" if over < total else ""
    failed = f"{run['failed']:,} ({run['lost']:,} lost)" if run["lost"] else f"{run['failed'] or ''}"
    left = "over" if run["finished"] else "" if run["left"] is None else f"about {time_text(run['left'])}"
    return (
        "" if run["id"] is None else str(run["id"]),
        run["cell"],
        run["name"],
        text_bar(states(run), max(total, over), BAR),
        f"{over:,}{of}",
        failed,
        time_text(run["wall"]),
        left,
        f"{run['cancelled'] or ''}",
    )


def worker_cells(worker: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of `WORKERS`."""
    runs = "" if worker["function"] is None else _call(worker["function"], worker["arguments"])
    return (
        str(worker["worker"]),
        "" if worker["pid"] is None else str(worker["pid"]),
        worker["state"],
        "" if worker["memory"] is None else f"{worker['memory'] / 1e6:,.0f} MB",
        runs,
        time_text(worker["seconds"]) if runs else "",
        f"{worker['finished']:,}",
    )


def _call(function: str, arguments: str | None) -> str:
    return f"{function}({'…' if arguments is None else arguments})"


def task_cells(task: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of `TASKS`."""
    submitted, started, finished = task["submitted"], task["started"], task["finished"]
    return (
        str(task["task"]),
        task["function"],
        "" if task["worker"] is None else str(task["worker"]),
        task["status"],
        duration_text((started - submitted) / 1e9) if submitted and started else "",
        duration_text((finished - started) / 1e9) if started and finished else "",
    )


def newest_first(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those that go on, then those that are over, the newest of each first."""
    return sorted(runs, key=lambda run: (run["finished"], -(run["id"] or 2**63)))


def plain(frame: Frame) -> str:
    """Return one frame as lines of text."""
    if frame.kernel is None:
        return frame.problem
    kernel = frame.kernel
    words = ", ".join(text for _, text in legend(kernel.counts))
    rate = f" · {rate_text(kernel.rate)}" if kernel.rate is not None else ""
    lines = [
        head(kernel),
        f"[{text_bar(states(kernel.counts), kernel.counts['submitted'], WIDTH)}] {words}{rate}",
    ]
    runs = newest_first(kernel.runs)
    going = [run for run in runs if not run["finished"]]
    over = runs[len(going) :]
    lines += _table(RUNS, [run_cells(run) for run in [*going, *over[:MOST_RUNS]]])
    more = len(over) - MOST_RUNS
    if more > 0:
        lines.append(f"and {counted(more, 'earlier run')} that {'is' if more == 1 else 'are'} over")
    lines += _table(WORKERS, [worker_cells(worker) for worker in kernel.workers])
    others = [each for each in frame.known if each != kernel.served]
    if others:
        listed = ", ".join(f"{each.pid} ({each.title})" for each in others)
        lines += ["", f"Others that can be watched, by cellmill top PID: {listed}"]
    return "\n".join(lines)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    every = [heads, *rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(heads))]
    return [
        "",
        *("  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in every),
    ]
