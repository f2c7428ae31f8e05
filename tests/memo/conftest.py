"""No result that a test keeps is found by the next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cellmill.memo import calls


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    for store in calls.stores():
        store.clear()
    calls._memos.clear()
