"""Odd, deep, long and many arguments and results, and clocks that step."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.support import hostile, tasks
from tests.support.helpers import SECONDS

HERE = os.getpid()
pytestmark = pytest.mark.usefixtures("next_task_works")


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
        pool.submit(hostile.take, value=Holder())
    assert "argument 'value' of take, a Holder, " in str(caught.value)
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
    """Clocks set hours forth and back in kernel and workers: no wait is longer, no limit ends sooner."""
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
    # Dates that a person reads, and nothing computes with; and one that times of files are compared with.
    dates = ("recent.py", "recording.py", "run_registry.py")
    files = [
        f"{name}.py: time.time("
        for name in ("folder", "keeping", "kernels", "module_sources", "server", "stores")
    ]
    files += [f"{name}.py: time.time_ns(" for name in ("machine", "sources")]
    assert sorted(found) == sorted([*[f"{name}: datetime.now" for name in dates], *files])


# -- much


@pytest.mark.long
def test_a_gigabyte_there_and_back(pool: Executor) -> None:
    size = 1 << 30
    assert pool.submit(len, bytes(size)).result(SECONDS * 10) == size
    assert len(pool.submit(bytes, size).result(SECONDS * 10)) == size


@pytest.mark.parametrize("count", [100_000, pytest.param(10_000_000, marks=pytest.mark.long)])
def test_tiny_tasks_by_the_million(pool: Executor, count: int) -> None:
    assert sum(pool.map(abs, range(count))) == count * (count - 1) // 2
    rest = count // 10
    assert (
        sum(f.result(SECONDS) for f in [pool.submit(abs, i) for i in range(rest)]) == rest * (rest - 1) // 2
    )
    assert pool.stats().waiting == 0
