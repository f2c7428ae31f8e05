"""How much is kept of what arguments read."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest

from cellmill.by_value import argument_names
from cellmill.by_value.argument_names import MOST_BYTES, MOST_KNOWN, Sent


def test_a_worker_keeps_the_latest_up_to_so_many_bytes() -> None:
    def come(data: bytes) -> object:
        return pickle.loads(pickle.dumps(Sent(data)))

    argument_names._came.clear()
    small = come(b"small")
    assert come(b"small") is small
    for i in range(3):
        large = come(bytes(MOST_BYTES // 2 + i))
        assert come(bytes(MOST_BYTES // 2 + i)) is large
    assert sum(map(len, argument_names._came)) <= MOST_BYTES
    assert come(b"small") is not small
    whole = come(bytes(2 * MOST_BYTES))
    assert come(bytes(2 * MOST_BYTES)) is whole
    assert len(argument_names._came) == 1
    for i in range(2 * MOST_KNOWN):
        come(b"%d" % i)
    assert len(argument_names._came) == MOST_KNOWN
    argument_names._came.clear()


class _Importing(dict[str, ModuleType]):
    """Modules, of which another thread imports one more each time the last one is asked for."""

    def __reversed__(self) -> Iterator[str]:
        found = super().__reversed__()
        self[f"imported_{len(self)}"] = ModuleType("imported")
        return found


def test_modules_that_other_threads_import_at_this_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = _Importing(sys.modules)
    monkeypatch.setattr(argument_names, "sys", SimpleNamespace(modules=modules))
    assert argument_names.in_arguments(pickle.dumps(print), (), None) is None
    assert len(modules) == len(sys.modules) + 1


class Importing:
    """Garbage whose finalizer brings a module, and more of its kind."""

    names: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        self.names.append(f"cellmill_test_{len(self.names)}")
        sys.modules[self.names[-1]] = ModuleType(self.names[-1])
        if len(self.names) < 1000:
            Importing()


def test_modules_may_come_while_they_are_looked_at() -> None:
    """A coroutine that was never awaited does so: its warning imports. The call ended with RuntimeError."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        Importing()
        assert argument_names._Own().look() is not None
    finally:
        gc.set_threshold(*thresholds)
        Importing.names.extend([""] * 1000)
        for name in Importing.names:
            sys.modules.pop(name, None)
