"""Parts of a backend by themselves, where what they do shows little from outside."""

from __future__ import annotations

from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.scheduled.gate import Gate
from cellmill.backends.scheduled.salvage import NotLoaded, mark_in
from cellmill.backends.scheduled.scheduler import StaleInput, with_gil
from cellmill.errors import BackendError
from tests.support import tasks
from tests.support.helpers import SECONDS, comes_down


@pytest.mark.parametrize("wrap", [lambda mark: [1, (mark,)], lambda mark: {1: mark}, lambda mark: {mark: 1}])
def test_what_did_not_unpickle_is_found_in_containers(wrap: Any) -> None:
    mark = NotLoaded(ValueError("not here"))
    assert mark_in(wrap(mark)) is mark
    assert mark_in(wrap(2)) is None


def test_a_gate_that_is_open_lets_pass() -> None:
    Gate().check()


def test_a_closed_gate_says_so() -> None:
    gate = Gate()
    gate.closed = True
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        gate.check()


def test_a_broken_gate_has_its_reason() -> None:
    gate = Gate()
    gate.broken = BackendError("no worker starts")
    with pytest.raises(cellmill.WorkerLostError, match="this executor is broken: no worker starts") as caught:
        gate.check()
    assert caught.value.__cause__ is gate.broken


def test_a_gate_in_a_forked_child_refuses_even_to_wait() -> None:
    gate = Gate()
    gate.check_process()
    gate.foreign = gate.closed = True
    for asked in (gate.check_process, gate.check):
        with pytest.raises(cellmill.CellmillError, match="belongs to the process that forked this one"):
            asked()


def test_a_refused_submit_gives_its_slot_back(pool: Executor) -> None:
    slots: Any = pool._backend.slots  # type: ignore[attr-defined]
    slot, free = slots.take(), len(slots.free)
    slots.entries[slot] = object()
    with pytest.raises(StaleInput):
        slots.undo(slot, with_gil.CSCHED_ESTALE)
    assert slots.entry(slot) is None
    assert len(slots.free) == free + 1


def test_a_slot_past_the_table_has_no_entry(pool: Executor) -> None:
    slots: Any = pool._backend.slots  # type: ignore[attr-defined]
    assert slots.entry(len(slots.entries)) is None


def test_failed_calls_are_counted_in_their_run(pool: Executor) -> None:
    view = pool.options(name="failing")
    for _ in range(3):
        assert view.submit(tasks.fail).exception(SECONDS) is not None
    run = pool._single_run("failing", None)
    (found,) = run.failures()
    assert (found.kind, found.count) == ("LookupError", 3)


def test_a_worker_whose_memory_makes_no_sense_is_replaced() -> None:
    with Executor(2) as ex:
        assert ex.submit(tasks.double, 1).result(SECONDS) == 2
        backend: Any = ex._backend
        (worker, *_) = backend.pool.members
        pid = backend.pool.members[worker].pid
        backend.events.corrupt(worker)
        assert comes_down(lambda: sum(info.pid == pid for info in ex.workers()), 0)
        assert list(ex.map(tasks.double, range(100))) == [2 * i for i in range(100)]


def test_none_beside_small_values(pool: Executor) -> None:
    """They come in the same batches of completions."""
    pool.pause()
    futures = [pool.submit(tasks.same, None if i % 3 else i) for i in range(3000)]
    pool.resume()
    assert [future.result(SECONDS) for future in futures] == [None if i % 3 else i for i in range(3000)]


def test_what_a_task_printed_is_there_with_its_result(pool: Executor) -> None:
    for i in range(200):
        future = pool.submit(print, i)
        future.result(SECONDS)
        assert cellmill.output(future) == f"{i}\n"


class Unloadable:
    """A value that raises where it is unpickled."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_an_answer_of_workers_that_does_not_unpickle_is_an_error(pool: Executor) -> None:
    def answer() -> Any:
        return Unloadable()

    with pytest.raises(cellmill.PayloadError, match="cannot be unpickled"):
        pool.run_on_workers(answer)
