"""How much is kept of what arguments read."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

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
