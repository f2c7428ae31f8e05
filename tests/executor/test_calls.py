"""Plain calls, which workers run one after another in C: every way in, every way out, nothing kept."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from cellmill import Executor

MANY = 3000
KEPT = object()


def same(value: Any) -> Any:
    return value


def pair(first: Any, second: Any = None) -> tuple[Any, Any]:
    return first, second


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1,
        2**31,
        2**63,
        -(2**70),
        1.5,
        float("inf"),
        "",
        "plain",
        "ends like a tuple: \x85",
        "\u0345\u0094.",
        b"",
        b"\x85\x94.",
        (),
        (1, 2),
        (1, 2, 3, 4, 5),
        [],
        [1],
        {},
        {"a": 1},
        [()],
        {"a": (1, 2, 3)},
        "x" * 5000,
        b"y" * 20_000,
        2**5000,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_values_go_there_and_back(pool: Executor, value: Any) -> None:
    futures = [pool.submit(same, value) for _ in range(20)]
    assert [future.result() for future in futures] == [value] * 20
    assert pool.submit(pair, value, value).result() == (value, value)
    assert pool.submit(pair, value, second=value).result() == (value, value)


def test_what_raises_between_others_fails_alone(pool: Executor) -> None:
    def third_raises(i: int) -> int:
        if i % 3 == 0:
            raise KeyError(i)
        return i

    futures = [pool.submit(third_raises, i) for i in range(300)]
    for i, future in enumerate(futures):
        if i % 3:
            assert future.result() == i
        else:
            error = future.exception()
            assert type(error) is KeyError
            assert error.args == (i,)
            assert "third_raises" in str(error.__cause__)
            assert "in third_raises" in str(
                error.__cause__
            )  # the user's own line is the first of the traceback


class Unloadable:
    def __reduce__(self) -> Any:
        return (int, ("this is no number",))


def test_arguments_that_do_not_load_fail_their_own_task(pool: Executor) -> None:
    futures = [pool.submit(same, i if i % 5 else Unloadable()) for i in range(50)]
    for i, future in enumerate(futures):
        if i % 5:
            assert future.result() == i
        else:
            assert isinstance(future.exception(), ValueError)


def test_what_prints_keeps_its_place(pool: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    def talk(i: int) -> int:
        if i % 10 == 0:
            print(f"[{i}]", end="")
        return i

    futures = [pool.submit(talk, i) for i in range(100)]
    assert [future.result() for future in futures] == list(range(100))
    said = capfd.readouterr().out
    assert all(f"[{i}]" in said for i in range(0, 100, 10))


def test_exits_and_interrupts_raised_by_a_task_are_its_own(pool: Executor) -> None:
    def leave(i: int) -> int:
        if i == 3:
            raise SystemExit(3)
        if i == 5:
            raise KeyboardInterrupt
        return i

    futures = [pool.submit(leave, i) for i in range(10)]
    assert [f.result() for i, f in enumerate(futures) if i not in (3, 5)] == [0, 1, 2, 4, 6, 7, 8, 9]
    assert isinstance(futures[3].exception(), SystemExit)
    assert isinstance(futures[5].exception(), KeyboardInterrupt)
    assert len({worker.pid for worker in pool.workers()}) == 2


def test_nothing_is_kept_of_calls() -> None:
    def count() -> tuple[int, int, int]:
        gc.collect()
        return sys.getrefcount(None), sys.getrefcount(KEPT), len(gc.get_objects())

    def refuse(i: int) -> None:
        raise ValueError(i)

    with Executor(1) as pool:
        for _ in range(2):  # the first round fills caches
            before = pool.submit(count).result()
            answers = [pool.submit(same, i) for i in range(MANY)]
            answers += [pool.submit(same, (i, "text", None)) for i in range(MANY)]
            answers += [pool.submit(same, [i]) for i in range(MANY)]
            assert all(answer.exception() is None for answer in answers)
            assert all(pool.submit(refuse, i).exception() is not None for i in range(100))
            after = pool.submit(count).result()
    for was, now in zip(before, after, strict=True):
        assert abs(now - was) < 100


def test_answers_wait_for_room() -> None:
    with Executor(1) as pool:
        futures = [pool.submit(same, "x" * 900) for _ in range(MANY)]
        assert {len(future.result()) for future in futures} == {900}
