"""A module of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.by_value.own_module_source import SOURCE
from tests.support.own_module import imported


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, as its file makes it."""
    with imported(monkeypatch, tmp_path, "cellmill_test_own_module", SOURCE) as module:
        yield module
