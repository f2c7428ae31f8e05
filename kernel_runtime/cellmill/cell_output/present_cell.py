"""The cell that runs: its number and its name, and who is told when one begins or is stopped."""

from __future__ import annotations

import os
import threading
import weakref
from typing import NamedTuple

from . import origin
from .listeners import CellListener, CellTasks, CellWatcher


class Cell(NamedTuple):
    """One execution of a cell, or of what one executes within it."""

    epoch: int  # its number; 0 outside of notebooks
    name: str  # as a person calls it: In[3]
    source: int  # the same for cells with the same text; 0: outside of notebooks
    stopped_from: int  # the epoch of the cell that Stop ends: cells within it, or beside it, have later ones


listeners: weakref.WeakSet[CellListener] = weakref.WeakSet()
_present = Cell(0, "", 0, 0)
_watchers: weakref.WeakSet[CellWatcher] = weakref.WeakSet()
_with_tasks: weakref.WeakSet[CellTasks] = weakref.WeakSet()
_lock = threading.RLock()
os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


def now() -> Cell:
    """Return the cell that runs, or the last one that did."""
    return _present


def epoch() -> int:
    """Return the number of the present cell execution; 0 outside of notebooks."""
    return _present.epoch


def watch(watcher: CellWatcher) -> None:
    """Have ``watcher.new_cell()`` called when a cell begins, as long as the watcher lives."""
    _watchers.add(watcher)


def stop_with_cells(backend: CellTasks) -> None:
    """Tell it when a cell begins, and when the present one is stopped: for tasks outside of any run."""
    _with_tasks.add(backend)


def begin(name: str, text: str, within: bool) -> None:
    """Begin a cell; see `run_registry.bump_epoch`."""
    global _present
    begun = origin.begin_cell(_present.epoch + 1)
    for listener in list(listeners):
        listener.new_cell(begun)
    with _lock:
        number = _present.epoch + 1
        stopped_from = _present.stopped_from if within else number
        _present = Cell(number, name, hash(text) if text else 0, stopped_from)
    for backend in list(_with_tasks):
        backend.begin_cell(within)
    for watcher in list(_watchers):
        watcher.new_cell()


def stop_single_tasks() -> int:
    """Stop what the present cell submitted outside of any run; return how many tasks that were."""
    return sum(backend.stop_cell() for backend in list(_with_tasks))
