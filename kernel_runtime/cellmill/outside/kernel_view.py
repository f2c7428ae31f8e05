"""A kernel as its pages show it: figures from shared memory, with the names that the kernel told when it was free."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import CellmillError, UsageError
from .pages import Command, Page, Refused

__all__ = ["KernelView"]

PATIENCE = 0.15  # seconds that figures are waited for; a kernel that is idle looks every 0.05 s
FRESH = 0.03  # seconds for which figures are not asked for anew
STEP = 0.001


class KernelView:
    """The executors of one kernel."""

    def __init__(self) -> None:
        self.pages: dict[int, Page] = {}  # by the number of the executor
        self.backends: dict[int, str] = {}
        self._asked = 0.0

    def add(self, number: int, backend: str, descriptor: int) -> None:
        """Watch another executor."""
        self.pages[number] = Page(descriptor)
        self.backends[number] = backend
        self._asked = 0.0

    def drop_ended(self) -> None:
        """Forget executors that are shut down."""
        for number in [number for number, page in self.pages.items() if page.ended]:
            self.pages.pop(number).close()
            self.backends.pop(number)

    def refresh(self) -> None:
        """Have new figures, as far as they come in time."""
        now = time.monotonic()
        if now - self._asked < FRESH:
            return
        self._asked = now
        for page in self.pages.values():
            page.ask()
        waited = list(self.pages.values())
        while (waited := [page for page in waited if not page.look()]) and time.monotonic() < now + PATIENCE:
            time.sleep(STEP)
        self.drop_ended()

    def look(self, journeys: int) -> list[dict[str, Any]]:
        """Return one entry for each executor; ``journeys``: of so many tasks."""
        self.refresh()
        now = time.monotonic_ns()
        return [
            self._executor(number, page, now, journeys) for number, page in self.pages.items() if page.filled
        ]

    def _executor(self, number: int, page: Page, now: int, journeys: int) -> dict[str, Any]:
        told = page.told
        names = told.get("functions", {})
        rows = list(page.runs())
        open_runs = [_open_run(row, told, page.at) for row in rows]
        going = {run["id"] for run in open_runs}
        by_key = {row["key"]: (run, row["opened"]) for run, row in zip(open_runs, rows, strict=True)}

        def name(function: int, key: int, submitted: int) -> str:
            run, opened = by_key.get(key, (None, 0))
            return names.get(str(function)) or (
                run["name"] if run is not None and submitted >= opened else "?"
            )

        workers = [_worker(row, told, by_key, name) for row in page.workers()]
        return {
            "executor": number,
            "backend": self.backends[number],
            "at": page.at,
            "age": max(0, now - page.at) / 1e9,
            "told_age": (now - told["at"]) / 1e9 if "at" in told else None,
            "stats": page.figures(),
            "runs": [*(run for run in told.get("ended", []) if run["id"] not in going), *open_runs],
            "workers": workers,
            "journeys": page.journeys(name, journeys) if journeys else [],
        }

    # -- commands

    def _chosen(self, executor: int | None) -> dict[int, Page]:
        if executor is None:
            return self.pages
        if executor not in self.pages:
            raise UsageError(f"there is no executor {executor}")
        return {executor: self.pages[executor]}

    def pause(self, on: bool, executor: int | None) -> int:
        """Have workers begin no more tasks, or go on; of how many executors."""
        self.refresh()
        chosen = self._chosen(executor)
        for page in chosen.values():
            page.command(Command.PAUSE if on else Command.RESUME)
        self._asked = 0.0
        return len(chosen)

    def cancel_all(self, executor: int | None) -> tuple[int, list[dict[str, Any]]]:
        """Cancel what has not begun: how many tasks, and what the kernel is to do when it is free."""
        self.refresh()
        chosen = self._chosen(executor)
        count = sum(page.command(Command.CANCEL_ALL) for page in chosen.values())
        self._asked = 0.0
        return count, [{"do": "cancel_all", "executor": number} for number in chosen]

    def cancel_run(self, run: int) -> tuple[int, list[dict[str, Any]]]:
        """Cancel the tasks of a run that have not begun; the same."""
        self.refresh()
        for number, page in self.pages.items():
            told = page.told
            for row in page.runs():
                if _open_run(row, told, page.at)["id"] == run:
                    count = page.command(Command.CANCEL_RUN, row["key"], row["opened"])
                    self._asked = 0.0
                    return count, [{"do": "cancel", "executor": number, "run": run, "opened": row["opened"]}]
            if any(ended["id"] == run for ended in told.get("ended", [])):
                raise Refused(f"run {run} is over")
        raise CellmillError(f"there is no run {run}")


def _worker(
    row: dict[str, Any],
    told: Mapping[str, Any],
    by_key: Mapping[int, tuple[dict[str, Any], int]],
    name: Callable[[int, int, int], str],
) -> dict[str, Any]:
    """Return a worker with its process and the task that it runs."""
    key, function, ticket = row.pop("key"), row.pop("function"), row.pop("ticket")
    run = by_key.get(key, (None, 0))[0]
    return {
        **row,
        "pid": told.get("pids", {}).get(str(row["worker"])),
        "task": ticket >> 32 or None,
        "function": name(function, key, 2**63) if ticket else None,
        "arguments": told.get("arguments", {}).get(str(ticket)) if ticket else None,
        "run": run["id"] if run is not None else None,
    }


def _open_run(row: Mapping[str, Any], told: Mapping[str, Any], at: int) -> dict[str, Any]:
    """Return the counts of an open run with its name.

    The number of a run in the scheduler is used again. The kernel's run of that number began after the scheduler's was
    opened, and an earlier one before.
    """
    same = (run for run in told.get("runs", []) if run["key"] == row["key"])
    known = next((run for run in same if run["started"] >= row["opened"]), None)
    counts = {name: value for name, value in row.items() if name != "opened"}
    outstanding = max(0, row["submitted"] - row["succeeded"] - row["failed"] - row["cancelled"])
    if known is None:  # the kernel has not told yet
        known = {
            "id": None,
            "name": "?",
            "cell": "",
            "total": None,
            "started": row["opened"],
            "open_ended": True,
            "closed": False,
            "rests": None,
        }
    total = known["total"]
    over = outstanding == 0 and row["submitted"] > 0 and (total is None or row["submitted"] >= total)
    submitted, wall = known["rests"] or (0, 0.0)
    if submitted != row["submitted"]:  # it has had calls since
        wall = max(0, at - known["started"]) / 1e9
    return {
        **counts,
        "id": known["id"],
        "name": known["name"],
        "cell": known["cell"],
        "total": total,
        "outstanding": max(outstanding, (total or 0) - row["submitted"] + outstanding),
        "wall": wall,
        "finished": over and (known["closed"] or not known["open_ended"]),
        "busy": None,
    }
