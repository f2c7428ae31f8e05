"""Bytes of arguments and results, on all backends: each counts once, also where large ones stay out of messages."""

from __future__ import annotations

import time
from typing import Any

import cellmill
from cellmill import Executor, run_registry
from cellmill.telemetry.account import Account
from cellmill.views.sections.journey import JourneySection
from tests.contract.abilities import Abilities, later
from tests.support import tasks
from tests.support.helpers import Gate
from tests.support.waiting import until

SMALL, LARGE = 30_000, 3_000_000
SLACK = 1.05  # how much larger what is packed may be, with what it is packed in


def swap(given: bytes, wanted: int) -> bytes:
    """Give another number of bytes than was given."""
    return bytes(wanted)


def is_about(found: int, wanted: int) -> bool:
    return wanted <= found < SLACK * wanted


def account_of(executor: Executor) -> Account:
    """Of the tasks of this test."""
    observer = executor._backend.observer
    assert observer is not None
    return observer.account(None)


@later
def test_bytes_of_arguments_and_results(ex: Executor, able: Abilities) -> None:
    section = JourneySection()
    section.begin((1, time.monotonic()))  # of many functions, which other tests have called, not all are told
    assert len(next(iter(ex.map(swap, [bytes(SMALL)], [LARGE])))) == LARGE
    assert len(next(iter(ex.map(swap, [bytes(LARGE)], [SMALL])))) == SMALL
    of_small, of_large = (run.moved for run in cellmill.runs()[-2:])
    if not able.apart:
        assert of_small is of_large is None  # nothing is packed for threads of the kernel
        assert account_of(ex).sent is None
        return
    assert of_small is not None
    assert of_large is not None
    assert is_about(of_small.sent, SMALL)
    assert is_about(of_small.received, LARGE)
    assert is_about(of_large.sent, LARGE)
    assert is_about(of_large.received, SMALL)
    account = account_of(ex)
    assert account.sent == of_small.sent + of_large.sent
    assert account.received == of_small.received + of_large.received
    frame: Any = until(lambda: (found := section.frame(ex)) and found["functions"] and found)
    (told,) = [function for function in frame["functions"] if function["name"] == "swap"]
    assert (told["sent"], told["received"]) == (account.sent, account.received)
    assert frame["account"]["sent"] == account.sent
    rows = {row[0]: row[1:] for row in cellmill.compare(*cellmill.runs()[-2:]).tables[0].rows}
    assert rows["arguments"][2].startswith("×")
    assert "3 MB" in rows["results"][0]


def feed(folder: str, size: int) -> bytes:
    tasks.hold(folder)
    return bytes(size)


def take(given: bytes) -> int:
    return len(given)


@later
def test_a_result_that_a_task_takes_counts_once(ex: Executor, able: Abilities, gate: Gate) -> None:
    """The first task ends when the second is there: a result that has come to the kernel would be sent from there."""
    for size in (SMALL, LARGE):
        run_registry.bump_epoch()
        first = ex.submit(feed, gate.folder, size)
        second = ex.submit(take, first)
        gate.release()
        assert second.result() == size
        account = account_of(ex)
        if able.apart:
            assert account.sent is not None
            assert account.received is not None
            assert account.sent < 2000
            assert is_about(account.received, size)
