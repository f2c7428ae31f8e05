"""A module of the user's."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.by_value.own_module_source import SOURCE
from tests.support.helpers import prepend_to_path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, as its file makes it."""
    name = "cellmill_test_own_module"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    prepend_to_path(monkeypatch, tmp_path)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)
