"""The accessors of pandas call functions in the shared pool."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import cellmill
from cellmill import Executor


@pytest.fixture(autouse=True)
def ours(pool: Executor) -> Iterator[None]:
    before = cellmill.peek_default_executor()
    cellmill.set_default_executor(pool)
    yield
    cellmill.set_default_executor(before)
