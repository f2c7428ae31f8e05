"""Delivery of background tasks' variables to the notebook: between cells, or in the cell that waits for the task."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

from IPython.core.interactiveshell import InteractiveShell

from cellmill.errors import text_of
from cellmill.magics.own_objects import passed_on
from cellmill.magics.waiting import beside_others, within_another
from cellmill.process_context.interrupts import uninterrupted

MISSING = object()


class CellTask(Protocol):
    """The future of a `%%task` cell."""

    number: int
    name: str
    before: dict[str, Any]
    captured: dict[Any, Any]
    after: tuple[Any, ...]
    arrivals: Any
    outcome: Any
    delivered: bool
    seen: bool

    def over(self) -> bool: ...

    def failure(self) -> BaseException | None: ...

    def add_done_callback(self, fn: Callable[[Any], object]) -> None: ...


class Arrivals:
    """The tasks under way for one shell, and what is to be said about them at the next cell."""

    def __init__(self, ip: InteractiveShell) -> None:
        self._ip = ip
        self._expected: dict[int, CellTask] = {}  # by their numbers: oldest first
        self._notes: deque[str] = deque()
        self._failed: deque[CellTask] = deque()
        self._origin: dict[str, tuple[Any, int]] = {}
        self._cells = 0
        self._thread = threading.get_ident()  # the one that runs cells, and the only one that assigns

    def expect(self, task: CellTask) -> None:
        """Deliver the task's variables when it is done."""
        self._expected[task.number] = task
        task.arrivals = self
        task.add_done_callback(self._arrived)

    def before_cell(self, info: object = None) -> None:
        """A cell starts (pre_run_cell)."""
        if beside_others(self._ip):
            return
        self._thread = threading.get_ident()
        if not within_another():
            self._cells = 0
            self.deliver()
        self._cells += 1
        self._say()

    def after_cell(self, result: Any = None) -> None:
        """A cell has ended (post_run_cell); an empty one never started."""
        raw = getattr(getattr(result, "info", None), "raw_cell", "-")
        if not raw or raw.isspace() or beside_others(self._ip):
            return
        self._cells = max(0, self._cells - 1)
        if self._cells == 0:
            self.deliver()
            self._say()

    def _arrived(self, task: Any) -> None:
        """A task is done (any thread): have it delivered as soon as no cell runs."""
        loop = getattr(getattr(self._ip, "kernel", None), "io_loop", None)
        if loop is not None:
            loop.add_callback(self._when_idle)

    def _when_idle(self) -> None:
        if self._cells == 0:
            self.deliver()

    def deliver(self) -> None:
        """Assign the variables of all tasks that are done."""
        for task in [each for each in list(self._expected.values()) if each.over()]:
            self._deliver(task)

    def deliver_awaited(self, task: CellTask) -> None:
        """A cell has waited for a task: it finds the variables of the task and of those before it."""
        if threading.get_ident() != self._thread or task.number not in self._expected:
            return
        for each in task.after:
            if each is not None and each.over():
                self.deliver_awaited(each)
        if task.failure() is None or task.outcome is not None:
            self._deliver(task)
            self._say()

    def _deliver(self, task: CellTask) -> None:
        # read before anything is changed: a Stop in the middle leaves the task to the next time
        variables = self._variables(task) if task.outcome is not None else {}
        with uninterrupted():
            if self._expected.pop(task.number, None) is None:
                return  # what was read has waited for it, too
            if task.failure() is not None:
                self._failed.append(task)
            if task.outcome is not None:
                self._assign(task, variables)
                self._pass_on(task, variables)
                task.delivered = True
                task.before, task.captured, task.after = {}, {}, ()

    def _variables(self, task: CellTask) -> dict[str, Any]:
        assert task.outcome is not None
        try:
            found: dict[str, Any] = task.outcome.load(task.captured, self._ip.user_global_ns)
            return found
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self._notes.append(
                f"task {task.name}: its variables could not be read in the notebook ({reason})"
            )
            return {}

    def _assign(self, task: CellTask, variables: dict[str, Any]) -> None:
        assert task.outcome is not None
        for name, reason in task.outcome.refused.items():
            self._notes.append(f"task {task.name}: {name} could not be sent to the notebook ({reason})")
        changed = [name for name in task.outcome.changed if self._stays(task, name, variables)]
        if changed:
            listed, first = ", ".join(changed), changed[0]
            self._notes.append(
                f"task {task.name} changed {listed} in place, in its worker; nothing of that arrives here. Variables "
                f"that the cell assigns arrive: write {first} = copy.copy({first}) in it, and change that"
            )
        kept = []
        for name in task.outcome.deleted:
            if self._is_newer(task, name):
                kept.append(name)
            else:
                self._ip.user_ns.pop(name, None)
        for name, value in variables.items():
            if self._is_newer(task, name):
                kept.append(name)
                continue
            self._ip.user_ns[name] = value
            self._origin[name] = (value, task.number)
        if kept:
            listed = ", ".join(kept)
            were = "was" if len(kept) == 1 else "were"
            self._notes.append(
                f"task {task.name}: {listed} {were} assigned again while it ran; the newer value is kept"
            )

    def _stays(self, task: CellTask, name: str, variables: dict[str, Any]) -> bool:
        """Whether the notebook still has what a task has changed in place: what it has bound anew, by another name."""
        if name not in variables and name not in task.outcome.deleted:
            return True
        old = task.captured.get(name, MISSING)
        return any(value is old for other, value in self._ip.user_ns.copy().items() if other != name)

    def _pass_on(self, task: CellTask, variables: dict[str, Any]) -> None:
        """The variables of tasks that come after this one may refer to what it has brought."""
        afterwards = [each for each in self._expected.values() if task in each.after]
        passed = passed_on(variables, task.captured) if afterwards else {}
        for each in afterwards:
            place = each.after.index(task)
            each.captured.update({(place, key): value for key, value in passed.items()})

    def _is_newer(self, task: CellTask, name: str) -> bool:
        """Whether the notebook's value was assigned after the task had started."""
        current = self._ip.user_ns.get(name, MISSING)
        if current is task.before.get(name, MISSING):
            return False
        value, number = self._origin.get(name, (MISSING, 0))
        return not (current is value and number < task.number)

    def _say(self) -> None:
        """Print what has gathered: on stderr, a line each."""
        while self._failed:
            task = self._failed.popleft()
            error = task.failure()
            if not task.seen and error is not None:
                first = (text_of(error).splitlines() or [""])[0]
                if task.outcome is not None:
                    self._notes.append(first)
                    continue
                said = f"task {task.name} failed: {type(error).__name__}: {first}"
                self._notes.append(f"{said} ({task.name}.result() shows where)")
        while self._notes:
            print(f"cellmill: {self._notes.popleft()}", file=sys.stderr)


def at_home(function: FunctionType, namespace: dict[str, Any]) -> FunctionType:
    """A function that came back by value, with the notebook's variables as its globals again."""
    owner = FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    owner.__kwdefaults__ = function.__kwdefaults__
    owner.__annotations__ = function.__annotations__
    owner.__qualname__ = function.__qualname__
    owner.__doc__ = function.__doc__
    owner.__dict__.update(function.__dict__)
    return owner
