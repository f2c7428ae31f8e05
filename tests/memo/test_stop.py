"""Wherever Stop comes, what is kept is found under the keys of what is so now."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from cellmill.memo.checkpoints import CheckpointStore
from cellmill.memo.function_key import FunctionKey
from cellmill.memo.stores import FileStore
from tests.support.stops import each_step


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_a_key_that_was_stopped_is_computed_again(every: int) -> None:
    factor = 0

    def scaled(x: int) -> int:
        return x * factor

    key = FunctionKey(scaled, (), generators=False)
    key.digest()

    def changed(step: int) -> Callable[[], object]:
        nonlocal factor
        factor = step
        return key.digest

    for step in each_step(every, changed):
        assert key.digest() == FunctionKey(scaled, (), generators=False).digest(), step
    assert step > 20


@pytest.mark.parametrize("open_in", [lambda path: FileStore(path, None), CheckpointStore])
def test_results_are_written_after_it(
    open_in: Callable[[Path], FileStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.memo.stores._LATEST_S", 1e6)  # nothing else writes them
    path = tmp_path / "results"
    store = open_in(path)
    others = sqlite3.connect(path, timeout=0)

    def put(step: int) -> Callable[[], None]:
        store.put(key := step.to_bytes(8, "big"), "f", key)
        return store.write

    for step in each_step(1, put):
        others.execute("BEGIN IMMEDIATE")  # raises where it is locked
        others.execute("ROLLBACK")
        assert store.held("f").results == step
    assert step > 10
    others.close()
