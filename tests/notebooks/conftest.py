"""Shared pieces of the notebook tests."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHEMISTRY = (
    "rdkit",
    "gemmi",
    "dimorphite_dl",
    "meeko",
    "vina",
    "prolif",
    "sklearn",
    "matplotlib",
    "py3Dmol",
    "pandas",
)


@pytest.fixture
def chemistry() -> None:
    """Skip, by name, where the docking packages cannot be installed."""
    missing = [name for name in CHEMISTRY if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"docking needs {', '.join(missing)} (vina has no wheel for Python 3.13)")


@pytest.fixture
def executed(tmp_path: Path) -> Iterator[Callable[[Any, int], None]]:
    """Run a notebook (no cell longer than so many seconds) in a kernel of this interpreter."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    spec = tmp_path / "kernels" / "same"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": command, "display_name": "same", "language": "python"})
    )
    specs = KernelSpecManager(kernel_dirs=[str(spec.parent)], ensure_native_kernel=False)
    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:  # a short name, as sockets need

        def execute(document: Any, seconds: int) -> None:
            manager = AsyncKernelManager(
                kernel_name="same", kernel_spec_manager=specs, transport="ipc", ip=f"{folder}/kernel"
            )
            NotebookClient(
                document, timeout=seconds, km=manager, resources={"metadata": {"path": str(EXAMPLES)}}
            ).execute()

        yield execute
