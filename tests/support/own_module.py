"""A module of the user's own, which is edited while it is in use."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from pathlib import Path
from typing import Any

_numbers = itertools.count()
_times = itertools.count(1_700_000_000, 10)


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
