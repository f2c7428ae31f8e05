"""Wherever Stop comes, what is kept is found under the keys of what is so now."""

from __future__ import annotations

from collections.abc import Callable

from cellmill.memo.function_key import FunctionKey
from tests.support.stops import each_step


def test_a_key_that_was_stopped_is_computed_again() -> None:
    factor = 0

    def scaled(x: int) -> int:
        return x * factor

    key = FunctionKey(scaled, (), generators=False)
    key.digest()

    def changed(step: int) -> Callable[[], object]:
        nonlocal factor
        factor = step
        return key.digest

    for step in each_step(1, changed):
        assert key.digest() == FunctionKey(scaled, (), generators=False).digest(), step
    assert step > 20
