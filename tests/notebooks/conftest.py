"""Shared pieces of the notebook tests."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHEMISTRY = ("rdkit", "meeko", "vina", "prolif", "sklearn", "matplotlib", "py3Dmol", "pandas")


@pytest.fixture
def chemistry() -> None:
    """Skip, by name, where the docking packages cannot be installed."""
    missing = [name for name in CHEMISTRY if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"docking needs {', '.join(missing)} (vina has no wheel for Python 3.13)")


@pytest.fixture
def kernel_folder(tmp_path: Path) -> Path:
    """A kernels folder whose one kernel, ``same``, runs this interpreter."""
    import sys

    spec = tmp_path / "kernels" / "same"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "same", "language": "python"})
    )
    return spec.parent
