"""What tasks ask for beside a worker: counted by the scheduler, given back however a task ends."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from fractions import Fraction
from typing import Any

import pytest

import cellmill
from cellmill import Executor, parallel
from cellmill.api import questions_of
from cellmill.backends import resources as totals
from cellmill.task import DEFAULT_OPTIONS, POLICIES, amount_of, amount_text, size_text
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down

GB = 10**9


@pytest.fixture(scope="module")
def lent() -> Iterator[Executor]:
    """Three workers, two gpus, one licence."""
    with Executor(3, resources={"gpu": 2, "licence": 1}) as executor:
        yield executor


@pytest.fixture
def ex(lent: Executor) -> Iterator[Executor]:
    """It takes up to all there is after each test, which has given back everything."""
    yield lent
    lent.policy = "least-loaded"
    taken = lent.options(resources={"gpu": 2, "licence": 1})
    assert taken.submit(tasks.double, 4).result(SECONDS) == 8


def waits(executor: Executor, *futures: Any) -> bool:
    """Each of them waits for a resource."""
    return all("It waits for " in str(cellmill.why(future)) for future in futures)


# -- what is asked


@pytest.mark.parametrize(
    ("value", "units"),
    [
        (1, 10_000),
        (0.5, 5_000),
        (1 / 3, 3_333),
        (0.29, 2_900),
        (0.0001, 1),
        (Fraction(2, 3), 6_666),
        (10**6, 10**10),
    ],
)
def test_amounts(value: Any, units: int) -> None:
    assert amount_of("gpu", value) == units


@pytest.mark.parametrize("parts", [2, 3, 6, 7, 10, 64])
def test_parts_fit_into_the_whole(parts: int) -> None:
    assert parts * amount_of("gpu", 1 / parts) <= amount_of("gpu", 1)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "1", None, True, 1e-9, [1], 1e13])
def test_amounts_that_make_no_sense(value: Any) -> None:
    with pytest.raises(cellmill.UsageError, match=r"resources\['gpu'\] must be a number"):
        DEFAULT_OPTIONS.changed(resources={"gpu": value})
    with pytest.raises(cellmill.UsageError, match=r"resources\['gpu'\] must be a number"):
        Executor(backend="inline", resources={"gpu": value})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resources": "gpu"}, "takes names and numbers"),
        ({"resources": {1: 1}}, "a resource has a name"),
        ({"resources": {"": 1}}, "a resource has a name"),
        ({"resources": {"memory": 1}}, 'memory="2GB"'),
        ({"memory": 0}, "memory must be a number of bytes above 0"),
        ({"memory": "much"}, "memory must be"),
        ({"memory": -1}, "memory must be"),
        ({"memory": math.nan}, "memory must be"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], words: str) -> None:
    with pytest.raises(cellmill.UsageError, match=words):
        parallel(**options)


def test_amounts_in_words() -> None:
    assert [amount_text(units) for units in (10_000, 5_000, 1, 123_456)] == ["1", "0.5", "0.0001", "12.3456"]
    assert totals.Resources.text("memory", 2 * GB) == "2 GB"
    assert totals.Resources.text("memory", 300_000) == "300 kB"


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resources": {"gpu": 3}}, "asks for 3 gpu, and this executor has 2 in all.*resources gpu=3"),
        ({"resources": {"tpu": 1}}, "'tpu', of which this executor has none; it has 2 gpu, 1 licence"),
        ({"resources": {"license": 1}}, "Did you mean 'licence'"),
        ({"memory": 1 << 59}, "reserves 576,461 TB of memory, and there are"),
    ],
)
def test_more_than_there_is(ex: Executor, options: dict[str, Any], words: str, batch: bool) -> None:
    before = ex.stats().submitted
    function = parallel(executor=ex, batch=batch, **options)(tasks.same)
    with pytest.raises(cellmill.UsageError, match=words):
        function(1)
    with pytest.raises(cellmill.UsageError, match=words):
        function.map([1, 2])
    assert ex.stats().submitted == before


def test_options_are_remembered_by_what_they_ask(ex: Executor) -> None:
    """The short way keeps forms: different ones must not be taken for each other."""
    for _ in range(3):
        assert ex.options(retries=1).submit(tasks.double, 1).result(SECONDS) == 2
        for name in ("gpu", "licence"):
            assert ex.options(retries=1, resources={name: 1}).submit(tasks.double, 1).result(SECONDS) == 2
        with pytest.raises(cellmill.UsageError):
            ex.options(retries=1, resources={"gpu": 5}).submit(tasks.double, 1)


# -- how many at once


@pytest.mark.parametrize("policy", POLICIES)
def test_no_more_at_once_than_there_are(ex: Executor, gate: Gate, policy: str) -> None:
    ex.policy = policy
    asking = ex.options(resources={"gpu": 1})
    held = [asking.submit(tasks.hold, gate.folder, i) for i in range(4)]
    gate.wait_started(2)
    others = [ex.submit(tasks.double, i) for i in range(3)]
    if policy in ("least-loaded", "work-stealing"):  # the others leave tasks behind those that run
        assert [future.result(SECONDS) for future in others] == [0, 2, 4]
    assert waits(ex, *held[2:])
    assert comes_down(lambda: ex.stats().running, 2)  # the others may still run
    gate.release(4)
    assert [future.result(SECONDS) for future in held] == [0, 1, 2, 3]
    assert [future.result(SECONDS) for future in others] == [0, 2, 4]


def test_parts_of_one(ex: Executor, gate: Gate) -> None:
    third = ex.options(resources={"licence": 1 / 3})
    held = [third.submit(tasks.hold, gate.folder, i) for i in range(4)]
    gate.wait_started(3)
    gate.release(4)
    assert [future.result(SECONDS) for future in held] == [0, 1, 2, 3]


def test_why_in_words(ex: Executor, gate: Gate) -> None:
    held = [ex.options(resources={"gpu": 1}).submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    big = ex.options(resources={"gpu": 2}, priority=1).submit(tasks.double, 1)
    small = ex.options(resources={"gpu": 0.5}).submit(tasks.double, 2)
    waiting, _ = questions_of(ex).find(kinds=("delayed",))
    assert {row.task for row in waiting} == {big._ticket, small._ticket}
    words = str(cellmill.why(big))
    assert "It waits for 2 gpu: 2 of 2 are in use by hold #" in words
    assert words.count("hold #") == 2
    assert "%cellmill resources gpu=N" in words
    assert "It waits for 0.5 gpu: 2 of 2" in str(cellmill.why(small))
    gate.release(1)
    assert wait(held, SECONDS, "FIRST_COMPLETED").done
    assert "kept for double #" in str(cellmill.why(small))
    assert "which asks for 2" in str(cellmill.why(small))
    gate.release(1)
    assert (big.result(SECONDS), small.result(SECONDS)) == (2, 4)


def test_counted_as_waiting(ex: Executor, gate: Gate) -> None:
    asking = ex.options(resources={"licence": 1})
    first = asking.submit(tasks.hold, gate.folder)
    gate.wait_started()
    parked = [asking.submit(tasks.double, i) for i in range(5)]
    stats = ex.stats()
    assert (stats.running, stats.waiting, stats.queued) == (1, 5, 0)
    gate.release()
    assert [future.result(SECONDS) for future in (first, *parked)] == [None, 0, 2, 4, 6, 8]


def test_a_map_holds_its_share_chunk_by_chunk(ex: Executor, gate: Gate) -> None:
    licensed = parallel(executor=ex, resources={"licence": 1})(tasks.hold)
    results = licensed.map([gate.folder] * 6, range(6), chunksize=2)
    gate.wait_started()
    assert ex.stats().running == 1
    gate.release(6)
    assert list(results) == list(range(6))
    many = parallel(executor=ex, resources={"gpu": 1}, memory="1MB")(tasks.double)
    assert list(many.map(range(10_000))) == list(range(0, 20_000, 2))


def test_a_batch_holds_it_once(ex: Executor) -> None:
    doubled = parallel(executor=ex, batch=True, resources={"gpu": 2})(_doubles)
    assert list(doubled.map(range(1000))) == list(range(0, 2000, 2))
    assert doubled(21).result(SECONDS) == 42


def _doubles(items: list[int]) -> list[int]:
    return [2 * item for item in items]


# -- given back


def _fails(ex: Executor, gate: Gate) -> None:
    with pytest.raises(LookupError, match="as asked"):
        ex.options(resources={"gpu": 2}).submit(tasks.fail).result(SECONDS)


def _dies(ex: Executor, gate: Gate) -> None:
    with pytest.raises(cellmill.WorkerLostError):
        ex.options(resources={"gpu": 2}).submit(os._exit, 3).result(SECONDS)


def _overdue(ex: Executor, gate: Gate) -> None:
    late = ex.options(resources={"gpu": 2}, timeout=0.2).submit(tasks.spin, 60)
    with pytest.raises(cellmill.TaskTimeoutError):
        late.result(SECONDS)


def _stopped(ex: Executor, gate: Gate) -> None:
    running = ex.options(resources={"gpu": 2}).submit(tasks.hold, gate.folder)
    gate.wait_started()
    parked = ex.options(resources={"gpu": 1}).submit(tasks.double, 1)
    assert parked.cancel()
    assert running.cancel(force=True)
    assert wait([running], SECONDS).done
    assert running.cancelled()
    assert parked.cancelled()


def _tried_again(ex: Executor, gate: Gate) -> None:
    """While it waits for its next attempt, others have what it asks for."""
    retry = cellmill.Retry(1, backoff=0.05)
    again = ex.options(resources={"gpu": 2}, retries=retry).submit(tasks.fail_first, gate.folder)
    other = ex.options(resources={"gpu": 2}).submit(tasks.double, 5)
    assert other.result(SECONDS) == 10
    assert again.result(SECONDS) >= 1


def _input_fails(ex: Executor, gate: Gate) -> None:
    broken = ex.submit(tasks.fail)
    with pytest.raises(cellmill.DependencyError):
        ex.options(resources={"gpu": 2}).submit(tasks.double, broken).result(SECONDS)
    chained = ex.options(resources={"gpu": 2}).submit(
        tasks.double, ex.options(resources={"gpu": 2}).submit(tasks.double, 1)
    )
    assert chained.result(SECONDS) == 4


def _cannot_be_pickled(ex: Executor, gate: Gate) -> None:
    with pytest.raises(cellmill.PayloadError):
        ex.options(resources={"gpu": 2}).submit(tasks.double, tasks.lock())


@pytest.mark.parametrize(
    "ends", [_fails, _dies, _overdue, _stopped, _tried_again, _input_fails, _cannot_be_pickled]
)
def test_given_back(ex: Executor, gate: Gate, ends: Callable[[Executor, Gate], None]) -> None:
    """However a task ended, all there is can be had again: the fixture asks for it."""
    ends(ex, gate)


# -- totals


def test_totals_of_an_executor(gate: Gate) -> None:
    with Executor(2, resources={"gpu": 1, "memory": "3GB"}) as ex:
        assert ex.resources == {"gpu": 1.0, "memory": 3 * GB}
        asking = ex.options(resources={"gpu": 1})
        held = [asking.submit(tasks.hold, gate.folder) for _ in range(2)]
        gate.wait_started()
        assert waits(ex, held[1])
        ex.set_resources({"gpu": 2})
        gate.wait_started()  # the other one
        with pytest.raises(
            cellmill.UsageError, match=r"gpu cannot become 0\.5: a task that is not over asks for more"
        ):
            ex.set_resources({"gpu": 0.5})
        with pytest.raises(cellmill.UsageError, match="takes names and numbers"):
            ex.set_resources(3)  # type: ignore[arg-type]
        gate.release(2)
        wait(held, SECONDS)
        ex.set_resources({"gpu": 0.5})
        with pytest.raises(cellmill.UsageError, match=r"has 0\.5 in all"):
            asking.submit(tasks.double, 1)


def test_memory_is_reserved(gate: Gate) -> None:
    with Executor(3, resources={"memory": "4GB"}) as ex:
        asking = ex.options(memory="2GB")
        held = [asking.submit(tasks.hold, gate.folder) for _ in range(3)]
        gate.wait_started(2)
        assert "It waits for 2 GB of memory: 4 GB of 4 GB are in use" in str(cellmill.why(held[2]))
        gate.release(3)
        assert not wait(held, SECONDS).not_done
        with pytest.raises(cellmill.UsageError, match="reserves 5 GB of memory, and there are 4 GB in all"):
            ex.options(memory="5GB").submit(tasks.double, 1)


def test_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's or the control group's; of workers with a limit, theirs."""
    monkeypatch.setattr(totals, "left_and_total", lambda: (1 * GB, 8 * GB))
    with Executor(2) as ex:
        assert ex.options(memory="8GB").submit(tasks.double, 1).result(SECONDS) == 2
        with pytest.raises(cellmill.UsageError, match="there are 8 GB in all"):
            ex.options(memory="9GB").submit(tasks.double, 1)
    with Executor(2, memory_per_worker="3GB") as ex:
        assert ex.options(memory="3GB").submit(tasks.double, 1).result(SECONDS) == 2
        with pytest.raises(cellmill.UsageError, match="each worker is limited to 3 GB"):
            ex.options(memory="4GB").submit(tasks.double, 1)
        info = ex._backend.resources  # type: ignore[attr-defined]
        assert info._told == 6 * GB
        ex.set_workers(1)
        assert info._told == 3 * GB


@pytest.mark.parametrize("cancel", [False, True])
def test_shutdown_with_tasks_that_wait(gate: Gate, cancel: bool) -> None:
    ex = Executor(2, resources={"gpu": 1})
    asking = ex.options(resources={"gpu": 1})
    first = asking.submit(tasks.hold, gate.folder, 1)
    gate.wait_started()
    parked = [asking.submit(tasks.double, i) for i in range(3)]
    gate.release()
    ex.shutdown(cancel_futures=cancel)
    assert first.result(0) == 1
    done = [future for future in parked if not future.cancelled()]
    assert all(future.done() for future in parked)
    assert len(done) == 3 or cancel


def test_pause_and_resume(gate: Gate) -> None:
    with Executor(2, resources={"gpu": 1}) as ex:
        asking = ex.options(resources={"gpu": 1})
        first = asking.submit(tasks.hold, gate.folder)
        gate.wait_started()
        parked = asking.submit(tasks.double, 3)
        ex.pause()
        gate.release()
        first.result(SECONDS)
        assert "paused" in str(cellmill.why(parked))
        ex.resume()
        assert parked.result(SECONDS) == 6


def test_inside_a_task_nothing_is_counted_twice(ex: Executor) -> None:
    assert ex.options(resources={"gpu": 2}).submit(_nested).result(SECONDS) == [2, 4]


def _nested() -> list[int]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner = cellmill.Executor(2, resources={"gpu": 1})
        one = inner.options(resources={"gpu": 2}).submit(tasks.double, 1).result()
        return [one, parallel(resources={"gpu": 7})(tasks.double)(2)]


def test_on_threads_inside_a_task() -> None:
    with Executor(2, backend="threads", resources={"gpu": 1}) as ex:

        def outer() -> list[int]:
            inner = ex.options(resources={"gpu": 1})
            return [inner.submit(tasks.double, 1).result(), *inner.map(tasks.double, [2])]

        assert ex.options(resources={"gpu": 1}).submit(outer).result(SECONDS) == [2, 4]


def test_many_sizes_of_memory() -> None:
    """Each with a line of its own: none of them is lost, and never more than there is."""
    with Executor(2, resources={"memory": 1_000_000}) as ex:
        futures = [ex.options(memory=1 + 997 * i % 1_000_000).submit(tasks.double, i) for i in range(600)]
        assert [future.result(SECONDS) for future in futures] == [2 * i for i in range(600)]


SIZES = {
    0: "0 bytes",
    1: "1 byte",
    999: "999 bytes",
    1000: "1 kB",
    1500: "1.5 kB",
    999_499: "999 kB",
    999_600: "1 MB",
    2 * GB: "2 GB",
    123_456_789: "123 MB",
    12_345_678_901: "12.3 GB",
    900 * 10**12: "900 TB",
    1 << 62: "4,611,686 TB",
}


def test_sizes_for_people() -> None:
    assert {size: size_text(size) for size in SIZES} == SIZES
    words = "reserves 900 TB of memory, and there are 3 GB in all"
    with Executor(1, resources={"memory": "3GB"}) as ex, pytest.raises(cellmill.UsageError, match=words):
        ex.options(memory="900TB").submit(tasks.double, 1)
