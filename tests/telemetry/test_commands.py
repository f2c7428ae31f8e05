"""What a view asks of the default executor: obeyed with real workers, or refused with a reason."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import cellmill
from cellmill import run_registry
from cellmill.api import questions_of
from cellmill.telemetry import schema
from cellmill.telemetry.advice import Advice
from cellmill.views import commands
from tests.support.waiting import until
from tests.telemetry.work_told import hold, odd

WAIT = 60


@pytest.fixture
def executor(default: cellmill.Executor) -> cellmill.Executor:
    return default


def ask(kind: str, **more: Any) -> None:
    """A view speaks from a thread of its own, as a subshell's do."""
    failures: list[BaseException] = []

    def speak() -> None:
        try:
            commands.obey(
                {"cellmill": schema.VERSION, "kind": kind, **more}, cellmill.peek_default_executor()
            )
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=speak)
    thread.start()
    thread.join(WAIT)
    assert not thread.is_alive()
    if failures:
        raise failures[0]


def test_pause_holds_tasks_back_and_resume_lets_them_go(executor: cellmill.Executor) -> None:
    ask("pause")
    assert executor.paused
    future = executor.submit(abs, -1)
    assert executor.stats().running == 0
    assert not future.done()
    ask("resume")
    assert not executor.paused
    assert future.result(WAIT) == 1


def test_cancel_ends_one_run_and_leaves_the_other(executor: cellmill.Executor) -> None:
    ask("pause")
    first, second = cellmill.parallel(name="first")(abs), cellmill.parallel(name="second")(abs)
    results = {name: f.map([-1, -2, -3]) for name, f in (("first", first), ("second", second))}
    found = {run.name: run.id for run in run_registry.active_runs()}
    ask("cancel-run", run=found["first"])
    ask("resume")
    with pytest.raises(CancelledError):
        list(results["first"])
    assert list(results["second"]) == [1, 2, 3]
    with pytest.raises(cellmill.UsageError, match="over already"):
        ask("cancel-run", run=found["first"])


def test_cancel_interrupts_what_runs(executor: cellmill.Executor, fifo: Path) -> None:
    held = cellmill.parallel(hold)
    future = held(str(fifo))
    with open(fifo, "w"):  # both ends are open: the task is inside read()
        ask("cancel-run", run=None)
        with pytest.raises((CancelledError, KeyboardInterrupt)):
            future.result(WAIT)
    assert executor.submit(abs, -1).result(WAIT) == 1


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    import os

    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def test_workers_come_and_go(executor: cellmill.Executor) -> None:
    ask("set-workers", count=3)
    assert executor.max_workers == 3
    ask("set-workers", count=1)
    assert executor.max_workers == 1
    assert executor.submit(abs, -1).result(WAIT) == 1


def test_advice_is_made_while_it_is_given(executor: cellmill.Executor) -> None:
    class Advised:
        """An observer whose account has advice."""

        def account(self, run: None, *, advice: bool) -> Any:
            more = Advice("workers", "With 3 workers: soon.", 1.0, act=lambda: executor.set_workers(3))
            return SimpleNamespace(advice=(Advice("split", "Split it.", 0.5), more))

    executor._backend.observer = Advised()  # type: ignore[misc, assignment]
    with pytest.raises(cellmill.UsageError, match="not made any more"):
        ask("apply-advice", what="With 4 workers: soon.")
    with pytest.raises(cellmill.UsageError, match="a change of your code"):
        ask("apply-advice", what="Split it.")
    assert executor.max_workers == 2
    ask("apply-advice", what="With 3 workers: soon.")
    assert executor.max_workers == 3


@pytest.mark.parametrize("count", [0, -1, 10_000, 1.5, True, None, "2"])
def test_absurd_numbers_of_workers_are_refused(executor: cellmill.Executor, count: Any) -> None:
    with pytest.raises(cellmill.UsageError, match="from 1 to 256"):
        ask("set-workers", count=count)
    assert executor.max_workers == 2


def test_what_cannot_be_obeyed_is_refused_with_a_reason(executor: cellmill.Executor) -> None:
    with pytest.raises(cellmill.UsageError, match="no command 'fly'"):
        ask("fly")
    with pytest.raises(cellmill.UsageError, match="different versions") as caught:
        commands.obey({"cellmill": 0, "kind": "pause"}, None)
    assert commands.refused({"kind": "pause"}, caught.value) == {
        "cellmill": schema.VERSION,
        "kind": "refused",
        "command": "pause",
        "reason": str(caught.value),
    }
    assert commands.refused({}, KeyError("x"))["reason"] == "KeyError: 'x'"


def test_without_workers_there_is_nothing_to_command() -> None:
    before = cellmill.peek_default_executor()
    cellmill.set_default_executor(None)
    try:
        ask("refresh")
        with pytest.raises(cellmill.UsageError, match="no workers yet"):
            ask("pause")
    finally:
        cellmill.set_default_executor(before)


def answer(kind: str, **more: Any) -> Any:
    """What a view is told."""
    command = {"cellmill": schema.VERSION, "kind": kind, "request": 5, **more}
    return commands.obey(command, cellmill.peek_default_executor())


def listed(**more: Any) -> Any:
    return answer(
        "list-tasks", **{"states": [], "order": "news", "text": "", "run": None, "count": 100, **more}
    )


def test_a_list_of_tasks_and_one_in_full(executor: cellmill.Executor) -> None:
    results = list(executor.map(odd, range(30), chunksize=5, return_exceptions=True))
    assert sum(isinstance(result, ValueError) for result in results) == 15
    found = listed(states=["failed"], count=10)
    assert (found["request"], found["matched"], len(found["rows"])) == (5, 15, 10)
    assert [group["count"] for group in found["failures"]] == [15]
    assert listed(text="odd: 17 ")["matched"] == 1
    row = listed(text="odd: 17 ")["rows"][0]
    assert row["function"] == "odd"
    assert row["run"] > 0
    one = answer("show-task", task=row["task"], element=row["element"])
    assert one["state"] == "failed"
    assert one["arguments"] == "17"
    assert (one["error"], one["message"]) == ("ValueError", "odd: 17 <b>")
    assert "in odd" in one["traceback"]
    stamps = one["attempts"][0]["stamps"]
    assert stamps == sorted(stamps)
    assert one["can"] == ["rerun", "debug"]
    assert listed(text=f"#{row['number']}")["matched"] >= 1
    unknown = answer("show-task", task="1", element=None)
    assert (unknown["state"], unknown["number"], unknown["can"]) == ("unknown", 0, [])


def test_a_task_is_found_by_its_place_in_the_map(executor: cellmill.Executor) -> None:
    first = executor.submit(odd, 3)
    assert first.exception(WAIT) is not None
    results = list(executor.map(odd, range(30), chunksize=5, return_exceptions=True))
    assert len(results) == 30
    alone = answer("show-task", task="", element=None, position=0)
    assert (alone["task"], alone["arguments"]) == (str(first._ticket), "3")
    for element in (7, 8, 29):
        shown = answer("show-task", task="", element=None, position=1 + element)
        assert shown["state"] == ("failed" if element % 2 else "done")
        assert shown["arguments"] == (str(element) if element % 2 else None)
    ask("pause")
    waiting = executor.map(odd, range(4), chunksize=1)
    shown = answer("show-task", task="", element=None, position=33)
    assert (shown["state"], shown["arguments"]) == ("queued", "2")
    task = shown["task"]
    ask("cancel-task", task=task)
    shown = answer("show-task", task="", element=None, position=33)
    assert (shown["state"], shown["task"]) == ("cancelled", task)
    ask("cancel-run", run=None)
    ask("resume")
    for nothing in (31, 35):  # cancelled with its run; never submitted
        with pytest.raises(cellmill.UsageError, match="nothing is kept"):
            answer("show-task", task="", element=None, position=nothing)
    for wrong in (-1, 1.5, 1 << 60):
        with pytest.raises(cellmill.UsageError, match="position in the state map"):
            answer("show-task", task="", element=None, position=wrong)
    del waiting


def test_rows_behind_the_first_ones(executor: cellmill.Executor) -> None:
    assert sum(executor.map(abs, range(50), chunksize=10)) == 1225
    every = [(row["task"], row["element"]) for row in listed(order="oldest")["rows"]]
    assert len(every) == 50
    part = listed(order="oldest", offset=30, count=10)
    assert part["matched"] == 50
    assert [(row["task"], row["element"]) for row in part["rows"]] == every[30:40]
    assert (listed(offset=50)["matched"], listed(offset=50)["rows"]) == (50, [])
    for wrong in (-1, 100_001, "3"):
        with pytest.raises(cellmill.UsageError, match="begins at a row"):
            listed(offset=wrong)


def test_priority_of_a_run(executor: cellmill.Executor) -> None:
    ask("pause")
    results = executor.options(priority=3).map(abs, range(20), chunksize=5)
    (run,) = [run for run in run_registry.active_runs() if run._backend is executor._backend]
    assert run.priority == 3
    ask("set-priority", task="", run=run.id, priority=-4)
    assert run.priority == -4
    assert {row["priority"] for row in listed()["rows"]} == {-4}
    for wrong, why in ((101, "priority"), ("2", "priority")):
        with pytest.raises(cellmill.UsageError, match=why):
            ask("set-priority", task="", run=run.id, priority=wrong)
    with pytest.raises(cellmill.UsageError, match="over already"):
        ask("set-priority", task="", run=10**9, priority=1)
    with pytest.raises(cellmill.UsageError, match="a task or a run"):
        ask("set-priority", task="", run=None, priority=1)
    ask("resume")
    assert sum(results) == 190


def test_one_task_is_changed(executor: cellmill.Executor) -> None:
    ask("pause")
    future, other = executor.submit(abs, -1), executor.submit(abs, -2)
    task = str(future._ticket)
    shown = answer("show-task", task=task, element=None)
    assert "paused" in shown["why"]
    assert shown["can"] == ["cancel", "priority"]
    ask("set-priority", task=task, run=None, priority=7)
    assert answer("show-task", task=task, element=None)["priority"] == 7
    ask("cancel-task", task=task)
    assert answer("show-task", task=task, element=None)["state"] == "cancelled"
    with pytest.raises(cellmill.UsageError, match="over already"):
        ask("cancel-task", task=task)
    with pytest.raises(cellmill.UsageError, match="begun already"):
        ask("set-priority", task=task, run=None, priority=1)
    ask("resume")
    assert other.result(WAIT) == 2
    assert answer("show-task", task=str(other._ticket), element=None)["arguments"] == "-2"
    assert future.cancelled()


def test_a_failed_call_is_made_again(executor: cellmill.Executor) -> None:
    future = executor.submit(odd, 3)
    assert future.exception(WAIT) is not None
    made = answer("rerun-task", task=str(future._ticket), element=None)
    assert made["request"] == 5
    assert answer("show-task", task=str(future._ticket), element=None)["reruns"] == [made["task"]]
    for wrong in ("", "x", "-3", "9" * 30):
        with pytest.raises(cellmill.UsageError, match="by its number"):
            answer("show-task", task=wrong, element=None)
    with pytest.raises(cellmill.UsageError, match="ordered by"):
        listed(order="colour")


def test_a_failure_is_shown_with_its_error_as_soon_as_it_is_told(executor: cellmill.Executor) -> None:
    """A task is over for the scheduler before a thread of the kernel has its result."""
    resolver = cast(Any, executor)._backend.resolver
    resolver._lock.acquire()
    future = executor.submit(odd, 3)
    until(lambda: [row.kind for row in questions_of().find(task=future._ticket)[0]] == ["failed"])
    threading.Timer(0.2, resolver._lock.release).start()
    shown = answer("show-task", task=str(future._ticket), element=None)
    assert (shown["state"], shown["error"], shown["can"]) == ("failed", "ValueError", ["rerun", "debug"])
    assert "in odd" in shown["traceback"]
