"""Dependencies of tasks, read from the scheduler without the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ... import _csched
from .scheduler import Scheduler, check, nogil

_ffi = _csched.ffi
SEVERAL = 2**32 - 1


class DependencyPicture:
    """See `Picture`. It keeps its scheduler alive."""

    def __init__(
        self,
        scheduler: Scheduler,
        names: Mapping[int, str],
        work_began: Callable[[], int],
        run: int | None = None,
    ) -> None:
        """``names``: of the functions, by number; ``work_began``: see `ScheduledBackend.work_began`; ``run``: only its
        tasks, with their inputs and dependents, instead of the present piece of work.
        """
        self._scheduler = scheduler
        self._names = names
        self._work_began = work_began
        self._run = run
        self._process = os.getpid()
        self._opened: list[Any] = []
        self._whole = self._open()
        self._handle = self._whole if run is None else self._open()  # what is shown
        self._info = _ffi.new("csched_dag_info_t *")
        self.tasks = self.own = self.dependencies = self.structure = self.changes = 0
        self.partial = False

    def _open(self) -> Any:
        out = _ffi.new("csched_dag_t **")
        check(nogil.csched_dag_open(self._scheduler.nogil_handle, out), "a picture of the dependencies")
        self._opened.append(out[0])
        return out[0]

    def __del__(self) -> None:
        if os.getpid() == getattr(self, "_process", None):
            for handle in self._opened:
                nogil.csched_dag_close(handle)

    def look(self) -> None:
        """Bring it up to date, with the present piece of work or with its run."""
        info, run = self._info, self._run
        rc = nogil.csched_dag_look(self._whole, self._work_began() if run is None else 0, info)
        check(rc, "the picture of the dependencies")
        if run is not None and info.changes == self.changes:
            return
        if run is not None:
            rc = nogil.csched_dag_of_run(self._whole, run, self._handle, info)
            check(rc, "the picture of a run's dependencies")
        self.own = info.own
        self.tasks, self.dependencies, self.partial = info.nodes, info.edges, bool(info.partial)
        self.structure, self.changes = info.structure, info.changes

    def columns(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Tickets, functions and depths of the tasks; pairs of positions."""
        tickets = _ffi.new("uint64_t[]", self.tasks)
        functions, depths = _ffi.new("uint32_t[]", self.tasks), _ffi.new("uint32_t[]", self.tasks)
        pairs = _ffi.new("uint32_t[]", 2 * self.dependencies)
        nogil.csched_dag_nodes(self._handle, tickets, functions, depths, _ffi.NULL, _ffi.NULL)
        nogil.csched_dag_edges(self._handle, pairs)
        return bytes_of(tickets), bytes_of(functions), bytes_of(depths), bytes_of(pairs)

    def states(self) -> tuple[bytes, bytes]:
        """States and seconds of the tasks."""
        states, seconds = _ffi.new("uint8_t[]", self.tasks), _ffi.new("float[]", self.tasks)
        nogil.csched_dag_nodes(self._handle, _ffi.NULL, _ffi.NULL, _ffi.NULL, states, seconds)
        return bytes_of(states), bytes_of(seconds)

    def fold(self, most: int) -> tuple[bytes, bytes, int]:
        """Groups, what hangs on what among them, and how many depths each one holds."""
        groups, links = _ffi.new("csched_dag_group_t *[1]"), _ffi.new("csched_dag_link_t *[1]")
        counts = _ffi.new("uint32_t[3]")
        rc = nogil.csched_dag_fold(self._handle, most, groups, counts, links, counts + 1, counts + 2)
        check(rc, "folding the dependencies")
        return (
            bytes(_ffi.buffer(groups[0], counts[0] * _ffi.sizeof("csched_dag_group_t"))),
            bytes(_ffi.buffer(links[0], counts[1] * _ffi.sizeof("csched_dag_link_t"))),
            int(counts[2]),
        )

    def name(self, function: int) -> str | None:
        """A function's name; None: not known, or several."""
        return None if function in (0, SEVERAL) else self._names.get(function)


def bytes_of(column: object) -> bytes:
    """An array of the C side, copied."""
    return bytes(_ffi.buffer(column))
