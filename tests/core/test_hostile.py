"""Hostile shapes: a clear error for the right task, no bystander hurt, and the pool goes on with the next task."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, runs
from tests.core import hostile, tasks
from tests.core.helpers import SECONDS
from tests.core.hostile import KINDS, ActsWhenLoaded, ActsWhenPickled

COUNT = 12
HERE = os.getpid()


@pytest.fixture(autouse=True)
def next_task_works(pool: Executor) -> Iterator[None]:
    """After every test the same workers take the next task."""
    yield
    assert pool.submit(tasks.double, 4).result(SECONDS) == 8


@pytest.fixture
def workers(pool: Executor) -> Iterator[None]:
    """No worker is lost in this test."""
    deadline = time.monotonic() + SECONDS  # one that a test before ended may still be on its way
    while [w.state for w in pool.workers()] != ["idle"] * 2:
        assert time.monotonic() < deadline
        pool.submit(tasks.double, 1).result(SECONDS)
    before = sorted(pool.run_on_workers(os.getpid))
    yield
    assert sorted(pool.run_on_workers(os.getpid)) == before


def alone(pool: Executor, results: Iterator[Any], place: int) -> Any:
    """The error in that place of a map; all others have the values that they should."""
    found = list(results)
    assert [r for i, r in enumerate(found) if i != place] == [i for i in range(COUNT) if i != place]
    return found[place]


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
    error = alone(pool, pool.map(tasks.same, items, chunksize=4, return_exceptions=True), 5)
    assert isinstance(error, cellmill.PayloadError)
    assert "argument 1 of same, a ActsWhenPickled, cannot be sent" in str(error)
    error = alone(
        pool, pool.map(tasks.add, *zip(*((0, i) for i in items), strict=True), return_exceptions=True), 5
    )
    assert "argument 2 of add, a ActsWhenPickled, cannot be sent" in str(error)


# -- unpickling in a worker


@pytest.mark.parametrize("how", KINDS)
def test_an_argument_that_acts_when_it_is_loaded(pool: Executor, workers: None, how: str) -> None:
    bad = ActsWhenLoaded(how, HERE, there=False)
    kind = raised_by(how)
    assert type(pool.submit(tasks.same, bad).exception(SECONDS)) is kind
    items = [bad if i == 5 else i for i in range(COUNT)]
    results = pool.map(tasks.same, items, chunksize=COUNT, return_exceptions=True)
    assert type(alone(pool, results, 5)) is kind


def raised_by(how: str) -> type[BaseException]:
    try:
        hostile.act(how)
    except BaseException as error:
        return type(error)
    raise AssertionError(how)


@pytest.mark.parametrize("batch", [False, True])
def test_an_argument_that_ends_the_worker_when_it_is_loaded(pool: Executor, batch: bool) -> None:
    bad = ActsWhenLoaded("ends the process", HERE, there=False)
    error = pool.submit(tasks.same, bad).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.exitcode == 5
    items = [bad if i == 5 else i for i in range(COUNT)]
    results = pool.options(batch=batch).map(tasks.same, items, chunksize=COUNT, return_exceptions=True)
    error = alone(pool, results, 5)
    assert isinstance(error, cellmill.WorkerLostError)
    assert "ActsWhenLoaded" in error.arguments


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
        alone(pool, pool.map(make, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        assert isinstance(error, cellmill.PayloadError)
        assert "the result of " in str(error)
        assert "make, a dict, cannot be sent back: " in str(error)
        if how not in ("eats memory", "recurses"):
            assert "in it, ['a'][0] is a ActsWhenPickled. " in str(error)


def test_a_result_that_ends_the_worker_when_it_is_pickled(pool: Executor) -> None:
    def make(index: int) -> Any:
        return ActsWhenPickled("ends the process") if index == 5 else index

    for error in (
        pool.submit(make, 5).exception(SECONDS),
        alone(pool, pool.map(make, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
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
    before = len(runs.active_runs())
    for error in (
        pool.submit(make, 5).exception(SECONDS),
        alone(pool, pool.map(make, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        assert isinstance(error, cellmill.PayloadError)
        assert "a result arrived but cannot be unpickled in this process: " in str(error)
        assert error.__cause__ is not None
    assert len(runs.active_runs()) == before


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
        tasks.spin(0.06)
        return hostile.StateActs(HERE) if index == 1 else index

    results = list(pool.map(slow, range(8), chunksize=8, return_exceptions=True))
    assert isinstance(results[1], cellmill.PayloadError)
    assert [r for i, r in enumerate(results) if i != 1] == [0, *range(2, 8)]


def test_a_reply_that_does_not_load(pool: Executor, workers: None) -> None:
    with pytest.raises(cellmill.PayloadError, match="cannot be unpickled in this process: ZeroDivisionError"):
        pool.run_on_workers(lambda: hostile.StateActs(HERE))
    assert len(pool.run_on_workers(os.getpid)) == 2


# -- exceptions


@pytest.mark.parametrize("how", [*KINDS, "in a batch"])
def test_a_task_that_raises_what_is_no_error(pool: Executor, workers: None, how: str) -> None:
    if how == "in a batch":

        def many(items: list[int]) -> list[int]:
            return [hostile.act("exits") if i == 5 else i for i in items]

        results = pool.options(batch=True).map(many, range(COUNT), chunksize=COUNT, return_exceptions=True)
        assert isinstance(alone(pool, results, 5), SystemExit)
        return
    assert type(pool.submit(hostile.act, how).exception(SECONDS)) is raised_by(how)

    def one(index: int) -> int:
        return hostile.act(how) if index == 5 else index  # type: ignore[no-any-return]

    error = alone(pool, pool.map(one, range(COUNT), chunksize=COUNT, return_exceptions=True), 5)
    assert type(error) is (RuntimeError if how == "stops" else raised_by(how))


@pytest.mark.parametrize(
    ("kind", "args", "words"),
    [
        (hostile.Needy, ("salt", "pepper"), "salt and pepper"),
        (hostile.Mute, (), "<its str() raises SystemExit>"),
        (hostile.Locked, (), "holds a lock"),
        (hostile.EndsReduce, ("bye",), "bye"),
        (hostile.EndsLoad, (HERE,), str(HERE)),
    ],
)
def test_exceptions_that_do_not_come_back(
    pool: Executor, workers: None, kind: type[Exception], args: tuple[Any, ...], words: str
) -> None:
    def one(index: int) -> int:
        if index == 5:
            hostile.raise_new(kind, *args)
        return index

    for error in (
        pool.submit(hostile.raise_new, kind, *args).exception(SECONDS),
        alone(pool, pool.map(one, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        if kind is hostile.Mute:  # it travels: only its text does not
            assert type(error) is hostile.Mute
            continue
        assert isinstance(error, cellmill.PayloadError)
        assert words in str(error)
        assert kind.__name__ in str(error)
        assert "raise_new" in str(error.__cause__)


def test_odd_exceptions_that_do_come_back(pool: Executor, workers: None) -> None:
    for kind in (hostile.Wordy, hostile.Closed):
        error = pool.submit(hostile.raise_new, kind, 1).exception(SECONDS)
        assert type(error) is kind
        assert error.args == (1,)
        assert "raise_new" in str(error.__cause__)
        with pytest.raises(kind):
            pool.submit(hostile.raise_new, kind, 1).result(SECONDS)


def test_notes_and_causes(pool: Executor, workers: None) -> None:
    error = pool.submit(hostile.raise_noted).exception(SECONDS)
    assert type(error) is LookupError
    assert error.__notes__ == ["a note of the task"]
    text = "".join(traceback.format_exception(error))
    assert "KeyError: 'the first'" in text
    assert "direct cause" in text
    error = pool.submit(hostile.raise_odd_notes).exception(SECONDS)
    assert "with odd notes" in str(error)


def test_exception_groups(pool: Executor, workers: None) -> None:
    group = pool.submit(hostile.raise_group, False).exception(SECONDS)
    assert isinstance(group, ExceptionGroup)
    assert str(group.exceptions[0]) == "v"
    inner = group.exceptions[1]
    assert isinstance(inner, ExceptionGroup)
    assert [type(e) for e in inner.exceptions] == [TypeError, FileNotFoundError]
    assert "inner" in str(group.__cause__)
    error = pool.submit(hostile.raise_group, True).exception(SECONDS)
    assert isinstance(error, cellmill.PayloadError)
    assert "holds a lock" in str(error.__cause__)
    both = pool.submit(hostile.raise_base_group).exception(SECONDS)
    assert type(both) is BaseExceptionGroup
    caught: list[BaseException] = []
    try:
        pool.submit(hostile.raise_group, False).result(SECONDS)
    except* ValueError as some:
        caught.extend(some.exceptions)
    except* (TypeError, OSError) as rest:
        caught.append(rest)
    assert len(caught) == 2


def test_an_exception_as_large_as_a_payload(pool: Executor, workers: None) -> None:
    error = pool.submit(hostile.raise_new, ValueError, "x" * 3_000_000).exception(SECONDS)
    assert type(error) is ValueError
    assert len(str(error)) == 3_000_000


def test_a_failed_input_whose_text_raises(pool: Executor, workers: None) -> None:
    bad = pool.submit(hostile.raise_new, hostile.Mute)
    error = pool.submit(tasks.same, [bad]).exception(SECONDS)
    assert isinstance(error, cellmill.DependencyError)
    assert "Mute: <its str() raises SystemExit>" in str(error)


# -- shapes


def nest(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_deep_nesting(pool: Executor, workers: None) -> None:
    assert pool.submit(tasks.same, nest(200)).result(SECONDS) == nest(200)
    for call in (
        lambda: pool.submit(tasks.same, nest(100_000)),
        lambda: pool.submit(nest, 100_000).result(SECONDS),
        lambda: list(pool.map(tasks.same, [nest(100_000)])),
        lambda: list(pool.map(nest, [100_000])),
    ):
        with pytest.raises(cellmill.PayloadError, match="recursion"):
            call()


def test_a_great_many_arguments(pool: Executor, workers: None) -> None:
    assert pool.submit(tasks.add, *range(100_000)).result(SECONDS) == sum(range(100_000))
    many = {f"name{i}": i for i in range(20_000)}
    assert pool.submit(tasks.give, **many).result(SECONDS) == ((), many)


def test_cycles(pool: Executor, workers: None) -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    back = pool.submit(tasks.same, ring).result(SECONDS)
    assert back[1] is back
    ring.append(threading.Lock())
    with pytest.raises(cellmill.PayloadError, match=r"in it, \[2\] is a lock"):
        pool.submit(tasks.same, ring)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (threading.Lock, "lock"),
        (lambda: (i for i in range(3)), "generator"),
        (lambda: open(os.devnull, "w"), "TextIOWrapper"),  # noqa: SIM115
        (socket.socket, "socket"),
        (threading.current_thread, ""),
        (sys._getframe, "frame"),
    ],
    ids=["lock", "generator", "file", "socket", "thread", "frame"],
)
def test_what_stays_in_one_process_is_named(
    pool: Executor, workers: None, make: Callable[[], Any], kind: str
) -> None:
    class Holder:
        def __init__(self) -> None:
            self.rows = [0, {"it": make()}]

    thing = make()
    with pytest.raises(
        cellmill.PayloadError, match=f"argument 1 of take, a {kind or type(thing).__name__}, "
    ):
        pool.submit(hostile.take, thing)
    with pytest.raises(cellmill.PayloadError) as caught:
        pool.submit(hostile.take, x=Holder())
    assert "argument 'x' of take, a Holder, " in str(caught.value)
    if kind:
        assert f"in it, .rows[1]['it'] is a {kind}. " in str(caught.value)
    error = pool.submit(lambda: {"rows": [make()]}).exception(SECONDS)
    assert isinstance(error, cellmill.PayloadError)
    if kind:
        assert f"a dict, cannot be sent back: in it, ['rows'][0] is a {kind}. " in str(error)


def test_lambdas_and_local_classes_travel(pool: Executor, workers: None) -> None:
    class Local:
        value = 3

    assert pool.submit(lambda f: f(2), lambda x: x + 1).result(SECONDS) == 3
    back = pool.submit(lambda k: k(), Local).result(SECONDS)
    assert back.value == 3
    assert pool.submit(lambda: lambda x: 2 * x).result(SECONDS)(4) == 8


def test_objects_that_answer_oddly(pool: Executor, workers: None) -> None:
    odd = hostile.Odd()
    assert pool.submit(hostile.take, odd).result(SECONDS) == "Odd"
    assert type(pool.submit(tasks.same, odd).result(SECONDS)) is hostile.Odd
    assert pool.submit(hostile.OddCall(), 1).result(SECONDS) == 2
    assert list(pool.map(hostile.OddCall(), range(3))) == [1, 2, 3]
    assert [type(x) for x in pool.map(tasks.same, [odd] * 5)] == [hostile.Odd] * 5
    assert list(pool.map(hostile.take, [odd], [odd], return_exceptions=True))
    lazy, numbers = hostile.LazyClass(), hostile.OddList([1, 2])

    def refers() -> tuple[str, str]:
        return type(odd).__name__, type(numbers).__name__

    for _ in range(2):
        assert pool.submit(refers).result(SECONDS) == ("Odd", "OddList")
    with pytest.raises(cellmill.PayloadError, match="it refers to 'lazy', a LazyClass"):
        pool.submit(lambda: lazy)


def test_arrays_compare_elementwise(pool: Executor, workers: None) -> None:
    """Nothing on a task's path asks whether two arguments are equal, or whether one is true."""
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(4)
    assert pool.submit(tasks.give, array, key=array).result(SECONDS)[0][0].tolist() == [0, 1, 2, 3]
    assert [len(r) for r in pool.map(tasks.same, [array] * 5)] == [4] * 5
    assert [len(r) for r in pool.options(batch=True).map(lambda rows: numpy.array(rows), [array] * 5)] == [
        4
    ] * 5
    assert pool.submit(lambda: array * 2).result(SECONDS).tolist() == [0, 2, 4, 6]
    batch = cellmill.parallel(batch=True)(lambda rows: numpy.array(rows) * 2)
    assert batch is not None


def test_strings_of_classes_and_memory_of_others(pool: Executor, workers: None) -> None:
    word = pool.submit(tasks.same, hostile.Word("w")).result(SECONDS)
    assert type(word) is hostile.Word
    assert [type(w) for w in pool.map(tasks.same, [hostile.Word("a"), "a"])] == [hostile.Word, str]
    for size in (5, 9000):  # a memoryview arrives as the bytes it shows
        assert bytes(pool.submit(tasks.same, memoryview(b"x" * size)).result(SECONDS)) == b"x" * size
    assert pool.submit(bytes, bytearray(b"x" * 9000)).result(SECONDS) == b"x" * 9000


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_last_words(pool: Executor, workers: None, capfd: pytest.CaptureFixture[str]) -> None:
    """A `__del__` that raises is told on stderr by Python, in whatever process it is."""
    assert pool.submit(hostile.take, hostile.LastWords()).result(SECONDS) == "LastWords"
    pool.submit(hostile.LastWords).result(SECONDS)
    assert len(list(pool.map(tasks.same, [hostile.LastWords() for _ in range(5)]))) == 5


# -- clocks


def test_a_wall_clock_that_steps(script: Callable[..., str]) -> None:
    """Hours forth and back in the kernel and in its workers: nobody waits longer, no limit ends sooner."""
    out = script(
        """
        import textwrap
        JUMP = '''
        import itertools, time
        steps, real = itertools.cycle([0, 7200, -86400, 1e12, -1e12]), time.time
        time.time = lambda: real() + next(steps)
        time.time_ns = lambda: int(time.time() * 1e9)
        '''
        exec(JUMP := textwrap.dedent(JUMP))
        import time
        from concurrent.futures import wait
        from cellmill import Executor
        with Executor(2, initializer=exec, initargs=(JUMP, {})) as ex:
            futures = [ex.options(timeout=20, retries=1).submit(pow, i, 2) for i in range(200)]
            assert not wait(futures, timeout=30).not_done
            assert sum(f.result(10) for f in futures) == sum(i * i for i in range(200))
            assert sum(ex.map(abs, range(2000), timeout=30)) == sum(range(2000))
            assert len({round(ex.submit(eval, '__import__("time").time()').result(10), -3) for _ in range(9)}) > 1
        print("good")
        """
    )
    assert out == "good\n"


def test_only_monotonic_clocks_are_read() -> None:
    package = Path(cellmill.__file__).parent
    own = [p for p in package.rglob("*.py") if "bench" not in p.parts] + list(
        (package.parents[1] / "csched" / "src").glob("*.c")
    )
    assert len(own) > 40
    stepping = ("time.time(", "time.time_ns(", "datetime.now", "CLOCK_REALTIME", "gettimeofday")
    found = [f"{p.name}: {word}" for p in own for word in stepping if word in p.read_text()]
    assert not found


# -- much


@pytest.mark.long
def test_a_gigabyte_there_and_back(pool: Executor) -> None:
    size = 1 << 30
    assert pool.submit(len, bytes(size)).result(SECONDS * 10) == size
    assert len(pool.submit(bytes, size).result(SECONDS * 10)) == size


@pytest.mark.parametrize("count", [300_000, pytest.param(10_000_000, marks=pytest.mark.long)])
def test_tiny_tasks_by_the_million(pool: Executor, count: int) -> None:
    assert sum(pool.map(abs, range(count))) == count * (count - 1) // 2
    rest = count // 10
    assert (
        sum(f.result(SECONDS) for f in [pool.submit(abs, i) for i in range(rest)]) == rest * (rest - 1) // 2
    )
    assert pool.stats().waiting == 0
