"""Arguments, results and functions are the objects themselves, and nothing is kept of them."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from cellmill import DependencyError, Executor
from cellmill.backends.scheduled.call_encoding import Inputs
from cellmill.backends.threads.sender import ThreadsSender
from cellmill.worker_process.protocol import FLUSH_NS
from tests.threads.helpers import SOON, Thing, until


def test_arguments_results_and_functions_are_the_objects_themselves(pool: Executor) -> None:
    thing = Thing()
    assert pool.submit(lambda x, *, y: (x, y), thing, y=thing).result(SOON) == (thing, thing)
    assert [x is thing for x in pool.map(lambda x: x, [thing] * 10)] == [True] * 10
    assert pool.submit(thing.lock.acquire, timeout=1).result(SOON)


def test_results_are_inputs_as_they_are(pool: Executor) -> None:
    first = pool.submit(Thing)
    second = pool.submit(lambda x, many: (x, many), first, {"k": [first, (1, first)]})
    thing, many = second.result(SOON)
    assert thing is first.result()
    assert many == {"k": [thing, (1, thing)]}


def test_containers_without_futures_are_not_copied(pool: Executor) -> None:
    given: list[Any] = [[1, 2], {"a": (3,)}]
    given.append(given)
    assert pool.submit(lambda x: x, given).result(SOON) is given


def test_results_come_while_their_chunk_still_runs(pool: Executor) -> None:
    thing, gate = Thing(), threading.Event()

    def element(n: int) -> Thing:
        if n == 40:  # the first ones travel in small chunks
            time.sleep(2 * FLUSH_NS / 1e9)
        elif n == 42:
            assert gate.wait(SOON)
        return thing

    results = pool.map(element, range(64), chunksize=64, timeout=SOON)
    assert [next(results) is thing for _ in range(41)] == [True] * 41
    gate.set()
    assert [x is thing for x in results] == [True] * 23


def test_a_redefined_function_is_the_new_one(pool: Executor) -> None:
    space: dict[str, Any] = {}
    for value in (1, 2):
        exec(f"def f(): return {value}", space)
        assert pool.submit(space["f"]).result(SOON) == value


def test_nothing_is_kept_of_calls_that_are_over(pool: Executor) -> None:
    seen: list[weakref.ref[Thing]] = []

    def call(function: Callable[[Thing], Any], **options: Any) -> Any:
        thing = Thing()
        seen.append(weakref.ref(thing))
        return pool.options(**options).submit(function, thing)

    def fail(thing: Thing) -> None:
        raise ValueError("no")

    gate = threading.Event()
    call(lambda thing: None).result(SOON)
    call(lambda thing: 1, retries=1).result(SOON)
    assert isinstance(call(fail).exception(SOON), ValueError)
    blockers = [pool.submit(gate.wait, SOON) for _ in range(3)]
    until(lambda: pool.stats().running == 3)
    waiting = call(lambda thing: None)
    assert waiting.cancel()
    gate.set()
    for blocker in blockers:
        blocker.result(SOON)
    failed = pool.submit(fail, Thing())
    dependent = call(lambda thing: None, after=[failed])
    assert isinstance(dependent.exception(SOON), (DependencyError, ValueError, TypeError))
    del waiting, failed, dependent, blocker, blockers
    until(lambda: not pool._backend.calls)  # type: ignore[attr-defined]
    until(lambda: gc.collect() >= 0 and not any(ref() is not None for ref in seen))


def test_an_input_that_is_settled_while_a_chunk_is_sent(
    pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler refuses the chunk, which is made anew: with the value, not with what stood for it."""
    begin, sources = threading.Event(), ThreadsSender._sources

    def settled(sender: ThreadsSender, inputs: Inputs) -> Any:
        found = sources(sender, inputs)
        begin.set()
        for future in inputs:
            future.result(SOON)
        return found

    monkeypatch.setattr(ThreadsSender, "_sources", settled)
    future = pool.submit(begin.wait, SOON)
    assert list(pool.map(lambda x: x, [future, [future], 5])) == [True, [True], 5]
