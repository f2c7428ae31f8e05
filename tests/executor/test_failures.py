"""Failures by kind: the calls of each, their arguments as Python, and exactly these calls again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.diagnostics.literals import call_literal, literal
from cellmill.telemetry import schema
from cellmill.views import commands
from tests.support.helpers import SECONDS

WORKERS = {"local": 2, "threads": 2}


class Odd(Exception):
    """An error of its own."""


class Point:
    """A value that has no source."""


def check(number: int, gate: str = "", **_: Any) -> int:
    if number % 2 and not (gate and Path(gate).exists()):
        raise Odd(f"odd: {number}")
    return number


def take(*things: Any, **named: Any) -> None:
    raise ValueError("taken")


def empty(things: list[int]) -> None:
    things.clear()
    raise ValueError("emptied")


@pytest.fixture(params=WORKERS)
def pool(request: pytest.FixtureRequest) -> Iterator[Executor]:
    before = cellmill.peek_default_executor()
    with Executor(WORKERS[request.param], backend=request.param) as made:
        cellmill.set_default_executor(made)
        yield made
    cellmill.set_default_executor(before)


def fail(executor: Executor, function: Any, *args: Any, **kwargs: Any) -> None:
    assert executor.submit(function, *args, **kwargs).exception(SECONDS) is not None


def answer(kind: str, **more: Any) -> Any:
    """What a view is told."""
    command = {"cellmill": schema.VERSION, "kind": kind, "request": 7, "run": None, **more}
    return commands.obey(command, cellmill.peek_default_executor())


def listed(failure: int) -> Any:
    return answer("list-failure", failure=failure, python=False)


def running(found: Any) -> bool:
    return any(call["again"] == "running" for call in found["calls"])


def until(ask: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + SECONDS
    while not good(found := ask()):
        assert time.monotonic() < deadline, found
        time.sleep(0.005)
    return found


def test_literals_are_exact_or_refused() -> None:
    exact: list[Any] = [
        *(None, True, -7, 10**5000, -0.0, 1e-300, math.inf, 1 - 2j, complex(-0.0, math.inf)),
        *("a\n'\"\\\u2028\udcff", b"\x00'", bytearray(b"x"), (), (1,), [1, [2]], {}, {"a": {1: (2,)}}),
        *(set(), {1, 2}, frozenset(), frozenset({(3,)}), range(1, 9, 3), ..., slice(None, 3)),
    ]
    for value in exact:
        source = literal(value)
        assert source is not None, value
        again = eval(source, {"__builtins__": __builtins__})
        assert type(again) is type(value)
        assert again == value
        assert repr(again)[:4000] == repr(value)[:4000] if value != 10**5000 else again == value
    assert math.isnan(eval(literal(math.nan) or ""))
    nested: Any = 0
    for _ in range(100):
        nested = [nested]
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (Point(), [Point()], {1: Point()}, int, nested, cycle, memoryview(b"x"), Odd()):
        assert literal(value) is None
    for value in ([1], (1, [2]), {}, {1}, bytearray(b"")):
        assert literal(value, mutable=False) is None
    assert call_literal((1,), {"class": "x"}) == ("(1,)", "{'class': 'x'}")


def test_a_fold_has_its_calls_as_python_and_makes_them_again(pool: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    results = list(pool.map(check, range(20), [str(gate)] * 20, return_exceptions=True, chunksize=3))
    assert sum(isinstance(result, Odd) for result in results) == 10
    fail(pool, take, 1)
    other, fold = cellmill.failures()
    assert (other.type, len(other), other.total) == ("ValueError", 1, 1)
    assert (fold.type, fold.total, len(fold)) == ("Odd", 10, 10)
    expected = [(number, str(gate)) for number in range(1, 20, 2)]
    assert sorted(eval(fold.python())) == expected
    assert sorted(call.call()[1] for call in fold) == expected
    gate.touch()
    assert sorted(future.result(SECONDS) for future in fold.retry()) == list(range(1, 20, 2))
    assert len(cellmill.failures()[1]) == 10


def test_failures_of_an_executor_of_ones_own_are_found_by_the_number_of_the_run() -> None:
    """Without a name of either it is no empty list, which would say that nothing has failed."""
    default = cellmill.peek_default_executor()
    cellmill.set_default_executor(None)
    try:
        with Executor(2, backend="threads") as own:
            list(own.map(check, range(4), return_exceptions=True))
            number = cellmill.runs()[-1].id
            (fold,) = cellmill.failures(number)
            assert (fold.type, fold.total) == ("Odd", 2)
            assert cellmill.account(number).tasks == 4
            assert len(cellmill.failures(executor=own)) == 1
            with pytest.raises(UsageError, match="or the executor by executor="):
                cellmill.failures()
            with pytest.raises(UsageError, match="no run that is remembered"):
                cellmill.failures(10**9)
    finally:
        cellmill.set_default_executor(default)


def test_what_has_no_exact_source_is_a_comment(pool: Executor) -> None:
    fail(pool, take, 1, name="a")
    fail(pool, take, Point())
    fail(pool, take, (2, "b"))
    fail(pool, take, "x" * 20_000)
    (fold,) = cellmill.failures()
    source = fold.python()
    assert eval(source) == [((1,), {"name": "a"}), (((2, "b"),), {})]
    assert source.count("no exact source of") == 2
    assert "Point" in source
    assert [call.kept for call in fold] == [True, True, True, False]
    with pytest.raises(cellmill.UsageError, match="of these 4 calls are kept"):
        fold.retry()
    assert len(fold.retry(part=True)) == 3


def test_arguments_that_the_call_has_changed_are_not_copied(pool: Executor) -> None:
    fail(pool, empty, [1, 2])
    (fold,) = cellmill.failures()
    # worker processes have a copy; a thread has the caller's own list
    assert eval(fold.python()) == ([([1, 2],)] if pool.backend == "local" else [])


def test_a_name_cannot_leave_its_comment(pool: Executor) -> None:
    def named(thing: Any) -> None:
        raise ValueError("taken")

    named.__qualname__ = "evil\n__import__('os').abort()\n"
    fail(pool, named, Point())
    assert eval(cellmill.failures()[0].python()) == []


def test_constants_of_a_map_are_in_its_source(pool: Executor) -> None:
    mapped = cellmill.parallel(check)
    list(mapped.map([3], extra=5, return_exceptions=True))
    assert eval(cellmill.failures()[0].python()) == [((3,), {"extra": 5})]
    list(mapped.map([5], extra=[5], return_exceptions=True))
    assert eval(cellmill.failures()[0].python()) == [((3,), {"extra": 5})]


def test_a_view_lists_copies_and_retries_what_it_has_seen(pool: Executor) -> None:
    if pool.backend == "threads":
        pytest.skip("the same part answers for both")
    list(pool.map(check, range(200), chunksize=10, return_exceptions=True))
    (group,) = answer("list-tasks", states=[], order="news", text="", count=1)["failures"]
    seen = listed(group["id"])
    assert (seen["count"], seen["known"], seen["open"], len(seen["calls"])) == (100, 100, 100, 50)
    assert seen["python"] is None
    assert {call["again"] for call in seen["calls"]} == {None}
    copied = answer("list-failure", failure=group["id"], python=True)["python"]
    assert sorted(eval(copied)) == [(number,) for number in range(1, 200, 2)]
    fail(pool, check, 1001)  # after the list
    told = answer("retry-failure", failure=group["id"], until=seen["until"])
    assert (told["submitted"], told["refused"], told["reason"]) == (100, 0, "")
    # those that failed again, and the one that failed after the list
    found = until(lambda: listed(group["id"]), lambda found: found["count"] == 201 and not running(found))
    assert {call["again"] for call in found["calls"]} == {"failed"}
    assert found["open"] == 101
    with pytest.raises(cellmill.UsageError, match="not known"):
        listed(10**6)
    with pytest.raises(cellmill.UsageError, match="moment"):
        answer("retry-failure", failure=group["id"], until="now")
