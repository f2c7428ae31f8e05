"""Cells of a notebook that a program runs: each waits for its tasks, as the kernel is killed after the last one.

nbclient, papermill and nbconvert run cells one after another with `allow_stdin` false: there is no user to be asked,
or to come back to what runs in the background.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from cellmill import registry, run_registry
from cellmill.cell_output import present_cell
from cellmill.diagnostics import unasked

SHORTEST_LOOK, LONGEST_LOOK = 0.001, 0.02  # seconds between two looks at what is under way

CALLBACKS_SECONDS = 1.0  # for those that wait for something themselves

most_seconds = 3600.0  # that a cell waits; see `%cellmill wait`
_shells: weakref.WeakKeyDictionary[InteractiveShell, Waiting] = weakref.WeakKeyDictionary()


def attend(ip: InteractiveShell) -> Waiting:
    """Return the part that waits at the end of this shell's cells, made at the first call."""
    if ip not in _shells:
        _shells[ip] = Waiting(ip)
    return _shells[ip]


def within_another() -> bool:
    """Whether the cell that begins is run by code of another one (asked in pre_run_cell).

    The end of a cell is not always heard: Stop may come in the moment in which it is told.
    """
    runs, found = InteractiveShell.run_cell_async.__code__, 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        found += frame.f_code is runs
        frame = frame.f_back
    return found > 1


def beside_others(ip: InteractiveShell) -> bool:
    """Whether a subshell of the kernel runs the cell that begins or ends, beside the notebook's cells."""
    channel = getattr(getattr(ip, "kernel", None), "shell_channel_thread", None)
    of_cells = getattr(channel, "parent_thread", None)
    return of_cells is not None and threading.current_thread() is not of_cells


class Waiting:
    """Knows the cells of one shell, and hears when its kernel is told to end."""

    def __init__(self, ip: InteractiveShell) -> None:
        self._ip = ip
        self._cells = 0  # that run, one in another
        self._first = present_cell.epoch()  # of the runs that the outermost of them began
        self._given_up: dict[int, int] = {}  # tasks of earlier cells, in no run, by the executor's identity
        self._hooks: tuple[tuple[str, Callable[..., None]], ...]
        self._hooks = (("pre_run_cell", self.before_cell), ("post_run_cell", self.after_cell))
        for event, hook in self._hooks:
            ip.events.register(event, hook)
        self._kernel = getattr(ip, "kernel", None)
        self._shut_down: Callable[[bool], Any] | None = getattr(self._kernel, "do_shutdown", None)
        if self._kernel is not None:
            self._kernel.do_shutdown = self._tell_and_shut_down

    def leave_hooks(self) -> None:
        """Another object calls `before_cell` and `after_cell`, among others whose order matters."""
        for event, hook in self._hooks:
            self._ip.events.unregister(event, hook)
        self._hooks = ()

    def close(self) -> None:
        """Undo what the constructor did."""
        self.leave_hooks()
        if self._kernel is not None and vars(self._kernel).get("do_shutdown") == self._tell_and_shut_down:
            del self._kernel.do_shutdown
        _shells.pop(self._ip, None)

    def _tell_and_shut_down(self, restart: bool) -> Any:
        """The kernel's processes are ended before anything of Python's own end runs."""
        registry.tell_dropped()
        assert self._shut_down is not None
        return self._shut_down(restart)

    @property
    def running(self) -> bool:
        """Whether a cell runs."""
        return self._cells > 0

    def before_cell(self, info: object = None) -> None:
        """A cell starts (pre_run_cell), and with it its epoch."""
        if beside_others(self._ip):
            return
        if not within_another():
            self._cells = 0
            self._first = present_cell.epoch()
            self._given_up = {key: min(count, _alone(key)) for key, count in self._given_up.items()}
            unasked.cell_begins()
        self._cells += 1

    def after_cell(self, result: Any = None) -> None:
        """A cell has ended (post_run_cell)."""
        raw = getattr(getattr(result, "info", None), "raw_cell", "-")
        if not raw or raw.isspace() or beside_others(self._ip):
            return  # an empty one never started
        self._cells = max(0, self._cells - 1)
        if self._cells == 0:
            program = self._run_by_a_program()
            if program:
                self._wait()
            unasked.cell_ends(last_word=program)

    def _run_by_a_program(self) -> bool:
        if self._kernel is None:
            return False
        content = self._kernel.get_parent().get("content", {})
        return content.get("allow_stdin", True) is False

    def _wait(self) -> None:
        end, look = time.monotonic() + most_seconds, SHORTEST_LOOK
        try:
            while count := self._under_way():
                left = end - time.monotonic()
                if left <= 0:
                    self._give_up(count)
                    return
                time.sleep(min(look, left))
                look = min(2 * look, LONGEST_LOOK)
            self._settle()
        except KeyboardInterrupt:
            count = run_registry.stop_cell()
            print(
                f"cellmill: interrupted while the cell waited for its tasks; {count:,} were stopped",
                file=sys.stderr,
            )

    def _settle(self) -> None:
        """Run the callbacks of finished tasks, which report errors of %%task cells, in this cell."""
        for executor in registry.open_executors():
            executor._backend.settle(CALLBACKS_SECONDS)

    def _under_way(self) -> int:
        """Tasks of this cell that are not over; those of a paused executor do not go on before another cell."""
        paused = {id(each._backend) for each in registry.executors if each.paused}
        in_runs = sum(
            run.outstanding()
            for run in run_registry.active_runs()
            if run.epoch >= self._first and id(run._backend) not in paused
        )
        alone = (
            max(0, _alone(id(each)) - self._given_up.get(id(each), 0))
            for each in registry.open_executors()
            if not each.paused
        )
        return in_runs + sum(alone)

    def _give_up(self, count: int) -> None:
        names = registry.names_of([run for run in run_registry.active_runs() if run.epoch >= self._first])
        tasks = "1 task is" if count == 1 else f"{count:,} tasks are"
        print(
            f"cellmill: the cell has waited {most_seconds:g} s for its tasks; {tasks} not over{names} and go on. What "
            "runs this notebook ends the kernel after the last cell, and with it what is under way then. Wait for them "
            f"in a cell, by .result() of their futures, or longer: %cellmill wait {max(60, 2 * most_seconds):g}",
            file=sys.stderr,
        )
        self._given_up = {id(each): _alone(id(each)) for each in registry.open_executors()}


def _alone(key: int) -> int:
    """Unfinished tasks, in no run, of the executor with this identity."""
    found = [each for each in registry.open_executors() if id(each) == key]
    if not found:
        return 0
    counted = sum(
        run.outstanding() for run in run_registry.active_runs() if run._backend is found[0]._backend
    )
    return max(0, registry.outstanding(found[0]) - counted)
