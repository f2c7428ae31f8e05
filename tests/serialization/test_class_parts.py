"""Classes of cells and scripts in calls and results: pickled once, as long as they stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.serialization import class_parts
from tests.support.helpers import SECONDS


def test_a_class_is_pickled_once_for_many_calls(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    step = 1

    class Count:
        def __init__(self, n: int) -> None:
            self.n = n

        def more(self) -> Any:
            return Count(self.n + step)

    def more(count: Any) -> Any:
        return count.more()

    packed, pack = [], class_parts._packed
    monkeypatch.setattr(class_parts, "_packed", lambda cls, name: packed.append(cls) or pack(cls, name))
    for step in (1, 5):
        packed.clear()
        for n in range(5):
            made = pool.submit(more, Count(n)).result(SECONDS)
            assert type(made) is Count
            assert made.n == n + step
        assert packed == [Count]
    failed = pool.submit(lambda count: count.n / 0, Count(7)).exception(SECONDS)
    assert failed is not None
    assert "Count(n=7)" in "".join(failed.__notes__)


def test_a_class_that_refers_to_shared_objects_goes_with_its_calls(pool: Executor) -> None:
    class Sum:
        table = cellmill.share([1, 2, 3])

        def of(self) -> int:
            return sum(self.table)  # type: ignore[call-overload,no-any-return]

    for _ in range(3):
        assert pool.submit(lambda one: one.of(), Sum()).result(SECONDS) == 6
