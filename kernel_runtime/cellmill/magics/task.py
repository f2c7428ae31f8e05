"""`%%task`: a cell as one background task."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Generator
from concurrent.futures import CancelledError
from concurrent.futures import Future as BaseFuture
from types import CodeType
from typing import Any, cast

from IPython.core.interactiveshell import InteractiveShell

import cellmill
from cellmill.by_value.references import names_stored
from cellmill.errors import PayloadError
from cellmill.futures import OVER, Future
from cellmill.magics.body import Inheritance, Outcome, TaskBody, runs_here, value_of
from cellmill.magics.cells import (
    Cell,
    at_name,
    at_node,
    capture,
    compile_body,
    explain_unsendable,
    names_assigned,
    names_deleted,
    names_read,
    read_cell,
)
from cellmill.magics.delivery import MISSING, Arrivals
from cellmill.magics.former_values import bound_first, definitions_in, former_read, read_by
from cellmill.magics.lines import (
    MEMORY,
    PRIORITY,
    RESOURCES,
    RETRIES,
    TIMEOUT,
    Line,
    Word,
    did_you_mean,
    help_of,
    read_options,
    usage_of,
)
from cellmill.magics.own_objects import Key, counts_of, with_parts
from cellmill.process_context.interrupts import uninterrupted
from cellmill.task import DEFAULT_OPTIONS

OPTIONS = (RETRIES, TIMEOUT, PRIORITY, RESOURCES, MEMORY)
USAGE = f"%%task {usage_of(OPTIONS)} NAME [after A, B]"

HELP = f"""Run the cell as one background task; NAME is its future at once.

    {USAGE}

The variables the cell assigns arrive in the notebook when it is done, between two cells, or at
once in a cell that waits for it (NAME.result(), await NAME). A variable assigned anew in the
meantime keeps its newer value, and a note says so. NAME.result() is the value of the cell's
last expression. After `after A, B` the cell starts when those
tasks are done and sees the variables they assigned; A.result() is there too.

    %%task prepare
    table = load()

    %%task fit after prepare
    model = train(table)

When a task fails, NAME.result() raises its error, and a note is shown in the next cell.

Options, which come first:
{help_of(OPTIONS)}
"""

_numbers = itertools.count(1)


class TaskFuture(Future):
    """The future of a `%%task` cell: its value is that of the cell's last expression."""

    _asks_to_be_seen = False  # the cell tells

    def __init__(
        self,
        name: str,
        before: dict[str, Any],
        captured: dict[Key, Any],
        source: Future,
        after: tuple[TaskFuture | None, ...] = (),
    ) -> None:
        super().__init__(_Source(source))
        self.name = name
        self.before = before  # what the cell's names had when it started
        self.captured = captured  # the notebook's objects that it was given, and their parts
        self.source = source
        self.after = after  # None: a plain future
        self.arrivals: Arrivals | None = None  # where its variables are awaited
        self.number = next(_numbers)
        self.definitions: dict[str, frozenset[str]] = {}  # of functions and classes: what they read
        self.seen = False
        self.delivered = False
        self.outcome: Outcome | None = None
        source.add_done_callback(self._ended)

    def _of_task(self) -> Future:
        return self.source

    def take(self) -> None:
        """Take over how the task ended; its own future holds the whole outcome."""
        if self.source.cancelled():
            words = str(self.source._cancelled or "")
            self._cancelled = f"%%task {self.name}{words[words.find(')') + 1 :]}" if ")" in words else None
            self.settle_cancelled()
            return
        error = self.source.exception()
        if error is None:
            self.outcome = self.source.result()
            if self.outcome.unsent is not None:
                error = PayloadError(self.outcome.unsent)
        self.settle(self.outcome.value if self.outcome is not None else None, error)

    def _ended(self, source: BaseFuture[Any]) -> None:
        """The task has ended; its callbacks run here, in the thread of all callbacks."""
        self.take()
        self.run_callbacks()

    def over(self) -> bool:
        """Whether the task has ended, without counting as waited for."""
        # asked of the task itself: the callback that brings the news here may have to wait for those of others
        if self.source.done():
            self.take()
        return self._state in OVER

    # -- a cell that has waited for the task finds its variables

    def _waited_for(self) -> None:
        if self.arrivals is not None and self._state in OVER:
            self.arrivals.deliver_awaited(self)

    def done(self) -> bool:
        """Whether the task is over."""
        over = self.over()
        self._waited_for()
        return over

    def result(self, timeout: float | None = None) -> Any:
        """The value of the cell's last expression; raises the task's own error."""
        __tracebackhide__ = True
        self.seen = True
        try:
            return super().result(timeout)
        finally:
            self._waited_for()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The task's error, or None."""
        self.seen = True
        try:
            return super().exception(timeout)
        finally:
            self._waited_for()

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            return (yield from super().__await__())
        finally:
            self._waited_for()

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        self._waited_for()  # `concurrent.futures.wait` and `as_completed` look here when they have waited
        return super()._condition

    def failure(self) -> BaseException | None:
        """The error of a task that is done, without counting as asked for."""
        return self._exception

    def __reduce__(self) -> Any:
        return value_of, (self.source,)


class _Source:
    """Answers for a task's future as long as it is not over: by asking the one it follows."""

    def __init__(self, source: Future) -> None:
        self._source = source

    def wait(self, future: Future, timeout: float | None) -> None:
        """Return when the task is over or the time is."""
        with contextlib.suppress(TimeoutError, CancelledError):
            self._source.exception(timeout)
        if self._source.done():
            cast(TaskFuture, future).take()

    def cancel(self, future: Future) -> bool:
        """True when the task will not run."""
        return self._source.cancel()

    def stop(self, future: Future) -> bool | None:
        """True when it had not begun, False when it will end as cancelled, None when it is over."""
        return self._source.cancelled() if self._source.cancel(force=True) else None

    def is_running(self, future: Future) -> bool:
        """Whether the task is in a worker now."""
        return self._source.running()

    def is_stopping(self, future: Future) -> bool:
        """Whether it was cancelled and runs still."""
        return self._source._owner.is_stopping(self._source)

    def call_text(self, future: Future) -> str:
        """A cell has no arguments to show."""
        return ""


def run_task(ip: InteractiveShell, arrivals: Arrivals, text: str, body: str) -> None:
    """The magic: `text` is the rest of its line, `body` the lines below."""
    __tracebackhide__ = True
    line = Line("%%task", text, USAGE)
    options, start = read_options(line, OPTIONS)
    name, after = _read_names(line, start)
    earlier = {word.text: _earlier(ip, line, word) for word in after}
    cell = read_cell(ip, f"%%task {text}", body)
    code = compile_body(cell)
    assigned = names_assigned(code) | names_stored(code)
    if name in assigned:
        message = (
            f"the cell assigns {name}, which is the name of the task; choose another name for one of them"
        )
        raise at_node(cell, cell.tree.body[0], message)
    captured = capture(ip, cell, code, futures_ok=frozenset(earlier))
    for word in earlier:
        captured.pop(word, None)
    executor = cellmill.default_executor()
    sources = _all_before(earlier)
    links = tuple(_inherit(ip, word, future) for word, future in sources)
    tasks = tuple(each if isinstance(each, TaskFuture) else None for _, each in sources)
    before_it = list(zip(links, tasks, strict=True))
    _check_reads(ip, cell, captured, assigned | names_deleted(code), before_it)
    _check_definitions(ip, cell, code, assigned, before_it)
    own = with_parts(captured)
    task = TaskBody(name, code, captured, cell.source, links, runs_here(executor.backend), counts_of(own))
    before = {each: ip.user_ns.get(each, MISSING) for each in assigned | names_deleted(code)}
    inputs = [each.source if isinstance(each, TaskFuture) else each for _, each in sources]
    checked = DEFAULT_OPTIONS.changed(**options)
    try:
        source, _ = executor.submit_alone(task, tuple(inputs), checked, f"task {name}")
    except cellmill.PayloadError as error:
        raise (explain_unsendable(cell, captured) or error) from None
    future = TaskFuture(name, before, own, source, tasks)
    future.definitions = definitions_in(code)
    with uninterrupted():  # what has the task's name brings its variables
        ip.user_ns[name] = future
        arrivals.expect(future)


def _check_reads(
    ip: InteractiveShell,
    cell: Cell,
    captured: dict[str, Any],
    assigned: set[str],
    links: list[tuple[Inheritance, TaskFuture | None]],
) -> None:
    """Refuse a cell that is given a function which reads what the cell, or a task before it, assigns."""
    inherited = {
        name: task.name
        for link, task in links
        if task is not None and link.variables
        for name in task.before.keys() - link.newer
    }
    found = former_read(cell.tree, captured, assigned | inherited.keys(), ip.user_global_ns)
    if found is None:
        return
    variable, name = found
    reads = f"{variable}, which the cell uses, comes with code that reads {name}, which"
    if name in assigned:
        message = (
            f"{reads} the cell assigns: in a task that code has the {name} of before. Give {name} to it as an "
            f"argument, or assign {name} in a cell before"
        )
    else:
        message = f"{reads} {inherited[name]} assigns; wait for that task first ({inherited[name]}.result())"
    raise at_name(cell, variable, message)


def _check_definitions(
    ip: InteractiveShell,
    cell: Cell,
    code: CodeType,
    assigned: set[str],
    links: list[tuple[Inheritance, TaskFuture | None]],
) -> None:
    """Refuse a cell that uses a function of a task before it which reads what has another value since."""
    used = names_read(code)
    for link, task in links:
        if task is None or not link.variables:
            continue
        later = [each for _, each in links if each is not None and each.number > task.number]
        others = {name for each in later for name in each.before}
        since = {
            name
            for name, value in task.captured.items()
            if isinstance(name, str)
            and name not in task.before
            and ip.user_ns.get(name, MISSING) is not value
        }
        for variable in sorted((used & task.definitions.keys()) - bound_first(cell.tree)):
            former = read_by([variable], task.definitions) & (assigned | others | since | link.newer)
            if former:
                what = f"{variable}, which {task.name} defines, reads {min(former)}, which has another value since"
                raise at_name(cell, variable, f"{what}; wait for that task first ({task.name}.result())")


def _all_before(earlier: dict[str, BaseFuture[Any]]) -> list[tuple[str, BaseFuture[Any]]]:
    """Return the tasks that a task comes after by their words, and those that these come after and whose variables are
    not in the notebook yet, without a word; all in the order of their cells, as a later one may assign the same names.
    """
    found = list(earlier.items())
    tasks = [each for each in earlier.values() if isinstance(each, TaskFuture)]
    for task in tasks:
        for each in task.after:
            if each is not None and not each.delivered and each not in tasks:
                tasks.append(each)
                found.append(("", each))
    return sorted(found, key=lambda pair: getattr(pair[1], "number", 0))


def _inherit(ip: InteractiveShell, name: str, future: BaseFuture[Any]) -> Inheritance:
    """Return what a task sees of an earlier one: variables that have arrived are in the notebook already, or were
    replaced there.
    """
    if not isinstance(future, TaskFuture) or future.delivered:
        return Inheritance(name, False, frozenset())
    newer = {each for each, value in future.before.items() if ip.user_ns.get(each, MISSING) is not value}
    return Inheritance(name, True, frozenset(newer))


def _earlier(ip: InteractiveShell, line: Line, word: Word) -> BaseFuture[Any]:
    value = ip.user_ns.get(word.text)
    if isinstance(value, BaseFuture):
        return value
    known = sorted(
        name for name, each in ip.user_ns.items() if isinstance(each, BaseFuture) and name[:1] != "_"
    )
    listed = f"known are {', '.join(known)}" if known else "there are none yet"
    what = "is not a task or a future" if word.text in ip.user_ns else "is not known"
    raise line.at(f"{word.text} {what}; {listed}{did_you_mean(word.text, known)}", word)


_AFTER = re.compile(r"[^\s,#]+|,")


def _read_names(line: Line, start: int) -> tuple[str, list[Word]]:
    """NAME and the names after `after`."""
    end = line.text.find("#", start)
    stop = len(line.text) if end < 0 else end
    words = [Word(found.group(), *found.span()) for found in _AFTER.finditer(line.text, start, stop)]
    if not words:
        raise line.error("the task needs a name", start)
    name, *rest = words
    _check_name(line, name)
    if not rest:
        return name.text, []
    if rest[0].text != "after":
        raise line.at(
            f"`after` is expected here, not {rest[0].text!r}{did_you_mean(rest[0].text, ['after'])}", rest[0]
        )
    names = _separated(line, rest)
    for word in names:
        if word.text == name.text:
            raise line.at(f"{name.text} cannot come after itself; give this task another name", word)
    return name.text, names


def _separated(line: Line, words: list[Word]) -> list[Word]:
    """The names after `after`, with commas between them."""
    names: list[Word] = []
    expected = True
    for word in words[1:]:
        if word.text == ",":
            if expected:
                raise line.at("a name is missing before this comma", word)
        else:
            if not expected:
                raise line.at("a comma is missing before this name", word)
            _check_name(line, word)
            names.append(word)
        expected = word.text == ","
    if expected:
        raise line.at(f"a name is missing after {words[-1].text!r}", words[-1])
    return names


def _check_name(line: Line, word: Word) -> None:
    if not word.text.isidentifier():
        hint = "; options come first" if word.text.startswith("-") else ""
        raise line.at(f"{word.text!r} is not a variable name{hint}", word)
