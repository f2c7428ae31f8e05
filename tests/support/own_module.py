"""A module of the user's own, which is edited while it is in use."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.helpers import prepend_to_path

_numbers = itertools.count()
_times = itertools.count(1_700_000_000, 10)


@contextlib.contextmanager
def imported(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, source: str) -> Iterator[ModuleType]:
    """A module of this text, as its file makes it, until the block ends."""
    (folder / f"{name}.py").write_text(source)
    prepend_to_path(monkeypatch, folder)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


class OwnModule:
    """One file, written anew with a later time stamp each time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"cellmill_own_{next(_numbers)}.py"
        self.name = self.path.stem

    def write(self, text: str) -> None:
        self.path.write_text(text)
        os.utime(self.path, (now := next(_times), now))

    def load(self) -> Any:
        """As a notebook imports it, or imports it again."""
        if self.name in sys.modules:
            return importlib.reload(sys.modules[self.name])
        importlib.invalidate_caches()
        return importlib.import_module(self.name)

    def forget(self) -> None:
        """As if it had never been imported."""
        sys.modules.pop(self.name, None)
