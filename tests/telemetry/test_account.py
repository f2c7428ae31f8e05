"""Where the time went: prepared runs, whose truth is known, beside what is told of them."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.backends.scheduled import accounts
from cellmill.backends.scheduled.scheduler import ffi
from cellmill.telemetry.account import Account, chain_of
from cellmill.views.sections.journey import told
from tests.support import tasks
from tests.support.helpers import SECONDS
from tests.telemetry.work import SlowToPack, fails_once, later, nap


@pytest.fixture
def ex() -> Iterator[Executor]:
    """Two workers that have begun: an account tells of their start as well."""
    with Executor(2) as executor:
        executor.run_on_workers(functools.partial(nap, 0.0))  # imports this module
        yield executor


def of(executor: Executor, run: int | None = None) -> Account:
    found = cellmill.account(run, executor)
    assert found.busy + found.overhead + found.idle == pytest.approx(found.wall * found.workers, rel=1e-6)
    if found.reasons is not None:
        assert found.reasons.seconds == pytest.approx(found.idle, abs=1e-6)
    assert min(found.idle, found.overhead, found.head, found.tail, found.unused) >= 0
    return found


def test_tasks_of_another_executor_are_not_none(ex: Executor) -> None:
    """It said that no task has run, and began a default executor."""
    default = cellmill.peek_default_executor()
    cellmill.set_default_executor(None)
    try:
        with pytest.raises(UsageError, match="the default executor has no tasks yet"):
            cellmill.account()
        assert cellmill.peek_default_executor() is None
    finally:
        cellmill.set_default_executor(default)


def test_shares_add_up_where_handling_covers_the_begin_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on clusters, which tell of a result when its pack's reply is there."""
    second = 10**9
    sums = ffi.new("csched_account_t *", {"ended": second, "capacity": 2 * second, "tasks": 4})
    sums.busy, sums.handling = second, second * 9 // 10
    sums.head, sums.tail = second // 10, second // 10
    monkeypatch.setattr(accounts, "sums_of", lambda *_: sums)
    monkeypatch.setattr(accounts, "_chain", lambda *_: ([], True))
    scheduler: Any = None
    found = accounts.account(scheduler, {}, None, payloads=True)
    assert found.head + found.tail == pytest.approx(found.idle)
    shares = [int(share) for share in re.findall(r"(\d+) %", found.sentence)]
    assert sum(shares) in (99, 100, 101), found.sentence


def test_handling_that_overlaps_makes_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers were told as three where the results of packs came together."""
    second = 10**9
    sums = ffi.new("csched_account_t *", {"ended": second, "capacity": 2 * second, "tasks": 4})
    sums.busy, sums.handling = second * 8 // 5, second * 7 // 5
    monkeypatch.setattr(accounts, "sums_of", lambda *_: sums)
    monkeypatch.setattr(accounts, "_chain", lambda *_: ([], True))
    scheduler: Any = None
    found = accounts.account(scheduler, {}, None, payloads=True)
    assert found.sentence == "1.00 s: 2 workers 80 % in your code, 20 % handling arguments and results."
    assert accounts.busy_share(scheduler, 0) == pytest.approx(0.8)


def test_balanced_work_is_busy(ex: Executor) -> None:
    assert list(ex.map(nap, [0.05] * 8, chunksize=1)) == [0.05] * 8
    found = of(ex)
    assert found.tasks == 8
    assert found.workers == pytest.approx(2, rel=1e-3)
    assert 0.4 <= found.busy <= found.wall * 2
    assert found.wall >= 0.2
    assert 0.05 <= found.span == found.longest
    assert found.chain == (("nap", 1),)
    assert f"{100 * found.busy / (2 * found.wall):.0f} % in your code" in found.sentence


def test_a_slow_last_task_leaves_workers_idle_at_the_end(ex: Executor) -> None:
    for _ in range(5):  # a busy machine may keep the other worker waiting as long
        list(ex.map(nap, [0.01] * 4 + [0.5], chunksize=1))
        found = of(ex)
        if found.tail >= 0.4:
            break
    assert found.longest >= 0.5
    assert found.tail >= 0.4
    assert found.idle >= found.tail
    assert found.reasons is not None
    assert found.reasons.last >= 0.4
    assert "idle while the last task ran" in found.sentence
    shown = told(found)  # what the panel's bar is drawn from
    assert shown["reasons"]
    assert sum(part["seconds"] for part in shown["reasons"]) == pytest.approx(shown["idle"], rel=0.01)
    (last,) = (part for part in shown["reasons"] if part["reason"] == "last")
    assert last == {"reason": "last", "what": "idle while the last task ran", "seconds": found.reasons.last}


def test_a_chain_leaves_workers_idle(ex: Executor) -> None:
    list(ex.map(nap, [0.01] * 2, chunksize=1))
    end = ex.submit(nap, 0.1)
    for _ in range(4):
        end = ex.submit(later, end, 0.1)
    assert end.result(SECONDS) == 0.1
    found = of(ex)
    assert found.reasons is not None
    assert found.reasons.chain >= 0.35  # while each of the first four ran, others waited for it
    assert "idle while tasks waited for results of others" in found.sentence


def test_a_slow_loop_in_the_kernel_leaves_workers_idle(ex: Executor) -> None:
    for _ in range(4):
        assert ex.submit(nap, 0.01).result(SECONDS) == 0.01
        end = time.process_time() + 0.05
        while time.process_time() < end:  # computes, as a cell does between its calls
            pass
    found = of(ex)
    assert found.reasons is not None
    assert found.reasons.submission >= 0.125
    assert found.reasons.submission > found.idle / 2
    assert "idle until more tasks were submitted" in found.sentence


def packing_is_told(found: Any) -> None:
    assert found.reasons.packing > found.idle / 4  # and on a busy machine the kernel waits for its turn
    assert "idle while the kernel packed arguments" in found.sentence


def test_large_arguments_leave_workers_idle_until_the_kernel_has_packed_them(ex: Executor) -> None:
    part = SlowToPack(20_000_000, 0.02)
    for _ in range(6):
        ex.submit(nap, 0.0, part).result(SECONDS)
    found = of(ex)
    assert found.reasons is not None
    packing_is_told(found)


def test_large_elements_leave_workers_idle_until_the_kernel_has_packed_them(ex: Executor) -> None:
    """They are packed as they are taken from the generator, before there is a chunk of them."""
    parts = [SlowToPack(20_000_000, 0.02) for _ in range(2)]
    assert list(ex.map(nap, [0.0] * 2)) == [0.0] * 2
    list(ex.map(nap, [0.0] * 8, (parts[n % 2] for n in range(8))))
    found = of(ex)
    assert found.reasons is not None
    packing_is_told(found)


def test_idle_time_of_one_run_is_explained_where_no_other_ran(ex: Executor) -> None:
    assert list(ex.map(nap, [0.01] * 4 + [0.3], chunksize=1)) == [0.01] * 4 + [0.3]
    run = cellmill.run_registry.recent_runs()[-1].id
    alone = of(ex, run).reasons
    assert alone is not None
    assert alone == of(ex).reasons
    assert ex.submit(nap, 0.01).result(SECONDS) == 0.01
    assert of(ex, run).reasons is None  # another run's task is in the same work


def test_runs_keep_where_their_time_went(ex: Executor) -> None:
    assert list(ex.map(nap, [0.01] * 4 + [0.3], chunksize=1)) == [0.01] * 4 + [0.3]
    told = of(ex)
    record = cellmill.runs()[-1]
    assert record.spent is not None
    assert record.spent.sentence == told.where
    assert told.reasons is not None
    shares = {reason: share for reason, _, share in record.spent.reasons}
    assert shares == pytest.approx({reason: s / (2 * told.wall) for reason, _, s in told.reasons.parts()})
    assert sum(shares.values()) == pytest.approx(record.spent.idle)
    assert list(ex.map(nap, [0.01])) == [0.01]  # the next piece of work
    runs = cellmill.runs()
    assert runs[-2].spent == record.spent
    shown = rf"{100 * record.spent.idle:.0f} %(, mostly)? while the last task ran"
    assert re.fullmatch(shown, record.spent.idle_text())
    assert record.spent.idle_text() in repr(runs)
    assert cellmill.open_record(runs[-2]).account["sentence"] == told.where


def test_runs_that_are_not_over_tell_what_is(ex: Executor) -> None:
    results = ex.map(nap, [0.01] * 3 + [0.5] * 3, chunksize=1)
    assert next(results) == 0.01
    spent = cellmill.runs()[-1].spent
    assert spent is not None
    assert "in your code" in spent.sentence
    assert len(list(results)) == 5


def test_a_worker_without_tasks_is_told(ex: Executor) -> None:
    assert list(ex.map(nap, [0.3])) == [0.3]
    found = of(ex)
    assert found.unused >= 0.29
    assert "idle for want of tasks" in found.sentence


def test_chains_limit_what_workers_can_do(ex: Executor) -> None:
    end = ex.submit(nap, 0.1)
    beside = [ex.submit(nap, 0.01) for _ in range(3)]
    for _ in range(3):
        end = ex.submit(later, end, 0.1)
    assert end.result(SECONDS) == 0.1
    assert [future.result(SECONDS) for future in beside] == [0.01] * 3
    found = of(ex)
    assert 0.4 <= found.span <= found.wall
    assert found.chain == (("nap", 1), ("later", 3))
    assert found.whole_chain
    assert "The chain nap → later (3 times) takes" in found.sentence


def test_chains_go_through_results_that_were_there_before(ex: Executor) -> None:
    list(ex.map(tasks.double, [1]))
    first = ex.submit(nap, 0.1)
    assert first.result(SECONDS) == 0.1
    second = ex.submit(later, first, 0.1)
    assert second.result(SECONDS) == 0.1
    found = of(ex)
    assert found.span >= 0.2
    assert found.chain == (("nap", 1), ("later", 1))
    assert found.whole_chain


def test_a_long_chain_is_exact(ex: Executor) -> None:
    end = ex.submit(tasks.double, 1)
    for _ in range(2000):
        end = ex.submit(tasks.same, end)
    assert end.result(SECONDS) == 2
    found = of(ex)
    assert found.chain == (("double", 1), ("same", 2000))
    assert found.whole_chain


def test_attempts_that_came_to_nothing_are_told(ex: Executor, tmp_path: object) -> None:
    path = f"{tmp_path}/once"
    assert ex.options(retries=1).submit(fails_once, path, 0.1).result(SECONDS) == 0.1
    found = of(ex)
    assert found.tasks == 2
    assert found.busy >= 0.2
    assert 0.1 <= found.wasted <= found.busy - 0.1
    assert "of attempts that came to nothing" in found.sentence


def test_attempts_at_elements_that_came_to_nothing_are_told_and_no_times_of_tasks(
    ex: Executor, tmp_path: object
) -> None:
    paths = [f"{tmp_path}/{i}" for i in range(4)]
    assert list(ex.options(retries=1).map(fails_once, paths, [0.02] * 4)) == [0.02] * 4
    run = cellmill.runs()[-1]
    for found in (of(ex), of(ex, run.id)):
        assert found.tasks == 8
        assert 0.08 <= found.wasted <= found.busy - 0.08
    assert run.figures is not None
    assert run.figures.tasks == 4


def test_every_element_counts_however_many_there_are(ex: Executor) -> None:
    count = 300_000  # journeys are kept of 262,144
    assert sum(1 for _ in ex.map(tasks.double, range(count))) == count
    found = of(ex)
    assert found.tasks == count
    assert found.reasons is not None


def test_one_run_of_several(ex: Executor) -> None:
    one = ex.map(nap, [0.05] * 4, chunksize=1)
    assert list(one) == [0.05] * 4
    first = cellmill.run_registry.recent_runs()[-1].id
    assert list(ex.map(nap, [0.1] * 4, chunksize=1)) == [0.1] * 4
    assert 0.2 <= of(ex, first).busy < 0.4 <= of(ex).busy
    for number in (first, first + 1):  # each begins with its own first task
        found = of(ex, number)
        assert found.workers == pytest.approx(2, rel=0.05)
        assert 0.1 <= found.wall < SECONDS
        assert found.span == found.longest
    with pytest.raises(UsageError, match="no run of this executor"):
        cellmill.account(10**9, ex)


def test_before_anything_ran(ex: Executor) -> None:
    assert cellmill.account(None, ex).sentence == "No task has run."


def test_a_backend_that_keeps_no_tasks_says_so() -> None:
    with Executor(backend="inline") as inline, pytest.raises(cellmill.BackendError, match="inline"):
        cellmill.account(None, inline)


def test_long_chains_are_shortened_in_words() -> None:
    names = [f"f{i}" for i in range(20)]
    chain = chain_of(["a", "a", "b", *names])
    assert chain[:2] == (("a", 2), ("b", 1))
    words = Account(0, 2, 2, 3, 0, 1, 0, 0, 0, 0, 1.5, chain, True, 1, 30).sentence
    assert words == (
        "2.00 s: 2 workers 75 % in your code, 25 % idle between tasks. "
        "The chain a (2 times) → b → f0 → … → f18 → f19 takes 1.50 s, however many workers there are."
    )


def test_workers_without_tasks_are_told_once() -> None:
    found = Account(
        began=0, wall=1, workers=2, busy=1, overhead=0, idle=1, head=0, tail=0, unused=1, wasted=0, span=0, chain=(),
        whole_chain=True, longest=1, tasks=1,
    )  # fmt: skip
    assert found.sentence == "1.00 s: 2 workers 50 % in your code, 50 % idle for want of tasks."


@pytest.mark.parametrize(
    ("mean", "said"),
    [
        (1.4, "1.4 workers on average"),
        (1.95, "2 workers"),
        (0.3, "0.3 workers on average"),
        (0.08, "less than 0.1 workers on average"),
    ],
)
def test_a_number_of_workers_that_changed_is_told_as_a_mean(mean: float, said: str) -> None:
    found = Account(
        began=0, wall=1, workers=mean, busy=0.5 * mean, overhead=0, idle=0.5 * mean, head=0, tail=0, unused=0,
        wasted=0, span=0, chain=(), whole_chain=True, longest=0.7, tasks=1,
    )  # fmt: skip
    assert found.sentence == f"1.00 s: {said} 50 % in your code, 50 % idle between tasks."
