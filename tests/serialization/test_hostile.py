"""Hostile payloads: a clear error for the right task, no bystander hurt, and the pool goes on with the next task."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

import cellmill
from cellmill import Executor, run_registry
from tests.support import hostile, tasks
from tests.support.helpers import SECONDS
from tests.support.hostile import COUNT, KINDS, ActsWhenLoaded, ActsWhenPickled, alone, raised_by

HERE = os.getpid()
pytestmark = pytest.mark.usefixtures("next_task_works")


# -- pickling in the kernel


@pytest.mark.parametrize("how", KINDS)
def test_an_argument_that_acts_when_it_is_pickled(pool: Executor, workers: None, how: str) -> None:
    wanted: type[BaseException] = KeyboardInterrupt if how == "interrupts" else cellmill.PayloadError
    with pytest.raises(wanted) as caught:  # a KeyboardInterrupt here may well be Stop
        pool.submit(tasks.give, 1, {"a": [ActsWhenPickled(how)]})
    if wanted is cellmill.PayloadError and how != "eats memory" and how != "recurses":
        assert (
            "argument 2 of give, a dict, cannot be sent to a worker: in it, ['a'][0] is a ActsWhenPickled"
            in str(caught.value)
        )
    items = [ActsWhenPickled(how) if i == 5 else i for i in range(COUNT)]
    error = alone(pool.map(tasks.same, items, chunksize=4, return_exceptions=True), 5)
    assert isinstance(error, cellmill.PayloadError)
    assert "argument 1 of same, a ActsWhenPickled, cannot be sent" in str(error)
    error = alone(pool.map(tasks.add, *zip(*((0, i) for i in items), strict=True), return_exceptions=True), 5)
    assert "argument 2 of add, a ActsWhenPickled, cannot be sent" in str(error)


# -- unpickling in a worker


@pytest.mark.parametrize("how", KINDS)
def test_an_argument_that_acts_when_it_is_loaded(pool: Executor, workers: None, how: str) -> None:
    bad = ActsWhenLoaded(how, HERE, there=False)
    kind = raised_by(how)
    assert type(pool.submit(tasks.same, bad).exception(SECONDS)) is kind
    items = [bad if i == 5 else i for i in range(COUNT)]
    results = pool.map(tasks.same, items, chunksize=COUNT, return_exceptions=True)
    assert type(alone(results, 5)) is kind


@pytest.mark.parametrize("batch", [False, True])
def test_an_argument_that_ends_the_worker_when_it_is_loaded(pool: Executor, batch: bool) -> None:
    bad = ActsWhenLoaded("ends the process", HERE, there=False)
    error = pool.submit(tasks.same, bad).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.exitcode == 5
    items = [bad if i == 5 else i for i in range(COUNT)]
    results = pool.options(batch=batch).map(tasks.same, items, chunksize=COUNT, return_exceptions=True)
    error = alone(results, 5)
    assert isinstance(error, cellmill.WorkerLostError)
    assert "'ends the process'" in error.arguments


def test_what_killed_a_worker_is_not_loaded_here(pool: Executor) -> None:
    """The error shows the arguments, and to show them nothing of theirs is run in the kernel."""
    ran = []
    thing = tasks.Gather(7)
    bad = ActsWhenLoaded("ends the process", 0, there=False)  # in any process
    error = pool.submit(tasks.give, 1, "two", thing, bad=bad).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.arguments == "1, 'two', Gather(base=7), bad=load('ends the process', 0, False)"
    assert not ran


# -- pickling in a worker


@pytest.mark.parametrize("how", KINDS)
def test_a_result_that_acts_when_it_is_pickled(pool: Executor, workers: None, how: str) -> None:
    def make(index: int) -> Any:
        return {"a": [ActsWhenPickled(how)]} if index == 5 else index

    for error in (
        pool.submit(make, 5).exception(SECONDS),
        alone(pool.map(make, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        assert isinstance(error, cellmill.PayloadError)
        assert "the result of " in str(error)
        assert "make, a dict, cannot be sent back: " in str(error)
        if how not in ("eats memory", "recurses"):
            assert "in it, ['a'][0] is a ActsWhenPickled. " in str(error)


def test_a_result_that_ends_the_worker_when_it_is_pickled(pool: Executor) -> None:
    make = hostile.ends_at_five  # of a module that is light to import: five workers do

    for error in (
        pool.submit(make, 5).exception(SECONDS),
        alone(pool.map(make, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        assert isinstance(error, cellmill.WorkerLostError)
        assert error.exitcode == 5


# -- unpickling in the kernel


@pytest.mark.parametrize("how", KINDS)
def test_a_result_that_acts_when_it_is_loaded(pool: Executor, workers: None, how: str) -> None:
    def make(index: int) -> Any:
        return [ActsWhenLoaded(how, HERE, there=True)] if index == 5 else index

    check_not_loaded(pool, make)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hostile.StateActs(HERE),
        lambda: {"a": (hostile.StateActs(HERE), 1)},
        lambda: {hostile.KeyActs(HERE): 1},
        lambda: [{hostile.KeyActs(HERE)}],
        lambda: frozenset([hostile.KeyActs(HERE)]),
        hostile.made_elsewhere,
        lambda: tasks.Gather(hostile.StateActs(HERE)),  # type: ignore[arg-type]
    ],
    ids=["state", "nested", "key", "member", "frozen member", "class", "attribute"],
)
def test_a_result_that_is_not_understood_here(pool: Executor, workers: None, make: Callable[[], Any]) -> None:
    check_not_loaded(pool, lambda index: make() if index == 5 else index)


def check_not_loaded(pool: Executor, make: Callable[[int], Any]) -> None:
    before = len(run_registry.active_runs())
    for error in (
        pool.submit(make, 5).exception(SECONDS),
        alone(pool.map(make, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        assert isinstance(error, cellmill.PayloadError)
        assert "a result arrived but cannot be unpickled in this process: " in str(error)
        assert error.__cause__ is not None
    assert len(run_registry.active_runs()) == before


def test_good_results_beside_a_bad_one_are_as_they_were(pool: Executor, workers: None) -> None:
    """Objects, arrays, shared references and containers come out of a spoiled chunk as they went in."""
    numpy = pytest.importorskip("numpy")

    def make(index: int) -> Any:
        if index == 3:
            return hostile.StateActs(HERE)
        shared = [index]
        return {
            "array": numpy.full(5000, index),
            "small": numpy.arange(index),
            "object": tasks.Gather(index),
            "shared": (shared, shared),
            "set": {index, "x"},
            "frozen": frozenset([index]),
        }

    results = list(pool.map(make, range(8), chunksize=8, return_exceptions=True))
    assert isinstance(results[3], cellmill.PayloadError)
    for index, value in enumerate(results):
        if index == 3:
            continue
        assert value["array"].tolist() == [index] * 5000
        assert value["small"].tolist() == list(range(index))
        assert type(value["object"]) is tasks.Gather
        assert value["object"].base == index
        assert value["shared"][0] is value["shared"][1]
        assert value["set"] == {index, "x"}
        assert value["frozen"] == frozenset([index])


def test_a_long_chunk_with_a_bad_result_in_its_first_part(pool: Executor, workers: None) -> None:
    """Results that are sent on while the chunk still runs are looked at as carefully."""

    def slow(index: int) -> Any:
        time.sleep(0.06)
        return hostile.StateActs(HERE) if index == 1 else index

    results = list(pool.map(slow, range(8), chunksize=8, return_exceptions=True))
    assert isinstance(results[1], cellmill.PayloadError)
    assert [r for i, r in enumerate(results) if i != 1] == [0, *range(2, 8)]


def test_a_reply_that_does_not_load(pool: Executor, workers: None) -> None:
    with pytest.raises(cellmill.PayloadError, match="cannot be unpickled in this process: ZeroDivisionError"):
        pool.run_on_workers(lambda: hostile.StateActs(HERE))
    assert len(pool.run_on_workers(os.getpid)) == 2
