"""A parallel function that is called in a task: its value, as of the plain function, and what is said otherwise."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import pytest

from cellmill import Executor, parallel

WORDS = (
    "In a task a parallel function is the plain function: inner(...) gives its value there, and no future."
)


@parallel
def inner(x: Any) -> Any:
    return x


def test_it_gives_the_value(ex: Executor) -> None:
    @parallel(executor=ex)
    def outer(x: int) -> int:
        return inner(x) + sum(inner.map([x, x]))

    assert outer(5).result() == 15
    assert list(outer.map([1, 2])) == [3, 6]


@pytest.mark.parametrize("value", [3, None, "text", [1, 2]])
def test_asked_for_its_result_it_says_what_to_write(ex: Executor, value: Any) -> None:
    def asks(x: Any) -> Any:
        return inner(x).result()

    def asks_several(x: Any) -> Any:
        futures = [inner(x) for _ in range(3)]
        return [future.result() for future in futures]

    for function in (asks, asks_several):
        with pytest.raises(AttributeError, match="has no attribute 'result'") as caught:
            ex.submit(function, value).result()
        (said,) = [note for note in caught.value.__notes__ if note.startswith(WORDS)]
        assert "Write `inner(x)` where it says `inner(x).result()`" in said
        (error,) = ex.map(function, [value], return_exceptions=True)
        assert any(note.startswith(WORDS) for note in error.__notes__)


def test_waited_for_or_awaited_it_says_so_too(ex: Executor) -> None:
    def waits(x: int) -> Any:
        return concurrent.futures.wait([inner(x)])

    def awaits(x: int) -> Any:
        async def go() -> Any:
            return await inner(x)

        return asyncio.run(go())

    for function, kind in ((waits, AttributeError), (awaits, TypeError)):
        with pytest.raises(kind) as caught:
            ex.submit(function, 1).result()
        assert any(note.startswith(WORDS) for note in caught.value.__notes__)


def test_other_errors_get_no_such_note(ex: Executor) -> None:
    def fails(x: int) -> Any:
        return inner(x), object().result()  # type: ignore[attr-defined]

    with pytest.raises(AttributeError) as caught:
        ex.submit(fails, 1).result()
    assert not any(WORDS in note for note in caught.value.__notes__)
