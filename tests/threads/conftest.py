"""Threads of the kernel: what is theirs alone. What all backends share is in the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cellmill import Executor


@pytest.fixture
def pool() -> Iterator[Executor]:
    with Executor(3, backend="threads") as executor:
        yield executor
