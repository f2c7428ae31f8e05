"""A worker has no input, and says so."""

from __future__ import annotations

import pdb
import sys
from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS


@pytest.mark.parametrize(
    "ask", [lambda: input("name? "), lambda: sys.stdin.readline(), lambda: list(sys.stdin)]
)
def test_what_asks_is_told(pool: Executor, ask: Callable[[], Any]) -> None:
    with pytest.raises(EOFError, match="give it the answer as an argument"):
        pool.submit(ask).result(SECONDS)


def test_what_looks_at_the_stream_finds_one(pool: Executor) -> None:
    def look() -> tuple[Any, ...]:
        return (
            sys.stdin.isatty(),
            sys.stdin.closed,
            sys.stdin.readable(),
            sys.stdin.fileno(),
            sys.stdin.buffer.read(),
        )

    assert pool.submit(look).result(SECONDS) == (False, False, True, 0, b"")


def traced(x: int) -> int:
    pdb.Pdb(nosigint=True).set_trace()
    return x


def test_a_debugger_that_finds_no_input_is_told_in_words(pool: Executor) -> None:
    error = pool.submit(traced, 1).exception(SECONDS)
    assert type(error) is EOFError
    assert "a task has no input, and so no debugger" in str(error)
    assert "in traced" in str(error.__cause__)
