"""The folder of the example notebooks' modules."""

from __future__ import annotations

from pathlib import Path

_SHIPPED = Path(__file__).with_name("example_modules")  # in an installation from a wheel
_IN_TREE = Path(__file__).resolve().parents[2] / "examples"  # in a checkout


def examples_folder() -> str:
    """The folder to put on `sys.path` for the example notebooks' own modules, such as `docking`."""
    return str(_SHIPPED if _SHIPPED.is_dir() else _IN_TREE)
