"""Watching another process from Python: its figures, its runs, and a say in them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zmq

from ..diagnostics.boundary import bounded
from ..errors import CellmillError, UsageError
from . import wire
from .folder import Served, served
from .rows import Rows

__all__ = ["Attached", "attach"]

PATIENCE = 3.0  # seconds that an answer may take
HOW = "%cellmill serve in it, cellmill.serve(), or CELLMILL_SERVE=1 in its environment, lets others watch it"


class Attached:
    """Another process of this user, by its socket. For one thread at a time; `close` it, or use it in a ``with``."""

    def __init__(self, found: Served) -> None:
        self.pid, self.title = found.pid, found.title
        self._path = found.socket
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None

    def __repr__(self) -> str:
        return f"<process {self.pid}: {self.title}>"

    def __enter__(self) -> Attached:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the process alone."""
        if self._socket is not None:
            self._socket.close(0)
        self._socket = None
        self._context.term()

    # -- figures

    @bounded
    def look(self, journeys: int = 0) -> dict[str, Any]:
        """Return all that is known now: ``pid``, ``title`` and for each of the ``executors`` its ``stats``, ``runs``,
        ``workers`` and, of so many tasks that ended last, ``journeys``.
        """
        found: dict[str, Any] = self._ask(wire.LOOK, journeys=journeys)
        return found

    @bounded
    def stats(self) -> dict[str, Any]:
        """Return the counts of all tasks, summed over the executors; ``paused`` when all that have workers are."""
        every = [each["stats"] for each in self.look()["executors"]]
        total: dict[str, Any] = {"executors": len(every), "paused": all_paused(every)}
        for stats in every:
            for name, value in stats.items():
                if name != "paused":
                    total[name] = total.get(name, 0) + value
        return total

    @bounded
    def runs(self) -> Rows:
        """Return the runs that go on, and the last ones that are over, oldest first."""
        runs = [run for each in self.look()["executors"] for run in each["runs"]]
        return Rows(
            sorted(runs, key=lambda run: run["id"] or 2**63),
            (
                "id",
                "name",
                "cell",
                "wall",
                "submitted",
                "succeeded",
                "failed",
                "cancelled",
                "running",
                "finished",
            ),
        )

    @bounded
    def workers(self) -> Rows:
        """Return the workers, with what they run."""
        rows = [
            {"executor": each["executor"], **worker}
            for each in self.look()["executors"]
            for worker in each["workers"]
        ]
        return Rows(
            rows, ("executor", "worker", "pid", "state", "function", "arguments", "seconds", "finished")
        )

    @bounded
    def journeys(self, most: int = 200) -> Rows:
        """Return the stamps, in monotonic nanoseconds, of the tasks that ended last, oldest first: at most 512 of each
        executor.
        """
        rows = [row for each in self.look(journeys=most)["executors"] for row in each["journeys"]]
        rows.sort(key=lambda row: row["returned"] or row["submitted"] or 0)
        return Rows(rows[-most:], ("task", "function", "worker", "status", "started", "finished"))

    # -- control

    @bounded
    def pause(self, executor: int | None = None) -> None:
        """Have no more tasks begin; what runs goes on. Of one executor, by its number in `look`, or of all."""
        self._ask(wire.PAUSE, executor=executor)

    @bounded
    def resume(self, executor: int | None = None) -> None:
        """Go on after `pause`."""
        self._ask(wire.RESUME, executor=executor)

    @bounded
    def cancel(self, run: int | None = None, executor: int | None = None) -> int:
        """End a run, by its id, or without one all work (of one executor); return how many tasks that were to begin.

        They are cancelled at once. What runs is interrupted, and elements that a map has not handed on are dropped, as
        soon as the kernel's own code pauses for a moment.
        """
        found = self._ask(wire.CANCEL, run=run, executor=executor)
        return int(found["cancelled"])

    # -- messages

    def _ask(self, do: str, **more: Any) -> Any:
        if self._context.closed:
            raise UsageError("this was closed")
        if self._socket is None:
            self._socket = self._context.socket(zmq.REQ)
            self._socket.set(zmq.LINGER, 0)
            self._socket.connect(f"ipc://{self._path}")
        self._socket.send(wire.request(do, **more))
        waited = 0.0
        while not self._socket.poll(100):
            waited += 0.1
            gone = not self._path.exists()
            if gone or waited >= PATIENCE:
                self._socket.close(0)
                self._socket = None
                raise CellmillError(
                    f"process {self.pid} has ended, or is not watched any more"
                    if gone
                    else f"process {self.pid} does not answer"
                )
        answer = json.loads(self._socket.recv())
        if answer.get("error"):
            raise CellmillError(answer["error"])
        return answer["found"]


def all_paused(stats: Sequence[dict[str, Any]]) -> bool:
    """Return whether no tasks begin in any of these executors; one that has ended, and is kept for its runs, has no
    workers.
    """
    open_ones = [each for each in stats if each["workers"]] or stats
    return bool(open_ones) and all(each["paused"] for each in open_ones)


@bounded
def attach(pid: int | None = None) -> Attached:
    """Watch the process with this id, or without one the only one that can be watched.

    It is one of the same user on the same machine, in which ``%cellmill serve`` or `cellmill.serve` was called. Raises
    `CellmillError` where there is none.
    """
    if pid is not None and (type(pid) is not int or pid < 1):
        raise UsageError(f"attach takes the id of a process, not {pid!r}")
    found = served()
    if pid is None:
        if len(found) != 1:
            known = ", ".join(f"{each.pid} ({each.title})" for each in found)
            raise CellmillError(
                f"which one of these: {known}" if found else f"no process can be watched: {HOW}"
            )
        return Attached(found[0])
    chosen = next((each for each in found if each.pid == pid), None)
    if chosen is None:
        raise CellmillError(_why_not(pid))
    return Attached(chosen)


def _why_not(pid: int) -> str:
    try:
        owner = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return f"there is no process {pid}"
    if owner != os.getuid():
        return f"process {pid} belongs to another user, who alone may watch it"
    return f"process {pid} cannot be watched: {HOW}"
