"""Imports of packages that other threads of a worker's process have begun."""

from __future__ import annotations

import _frozen_importlib
import sys
from typing import Any

_locks: Any = getattr(_frozen_importlib, "_module_locks", {})  # of the modules that are imported now, by name
_passed: Any = getattr(_frozen_importlib, "_lock_unlock_module", None)


def wait_for_imports() -> None:
    """Return when they are over, at once where there are none.

    What a pickle names may be there while another thread still imports the package above it: Python waits for a
    package only where it has not imported the module itself.
    """
    if _locks and _passed is not None:
        for name in list(_locks):
            if hasattr(sys.modules.get(name), "__path__"):
                _passed(name)
