"""One kernel for each test module: starting one takes a second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.helpers import Gate
from tests.magics.notebook import Notebook


@pytest.fixture(scope="module")
def kernel() -> Iterator[Notebook]:
    """A kernel with Cellmill loaded and two workers."""
    notebook = Notebook()
    try:
        notebook.run("%load_ext cellmill").ok()
        notebook.run("%cellmill workers 2").ok()
        yield notebook
    finally:
        notebook.close()


@pytest.fixture
def notebook(kernel: Notebook) -> Notebook:
    """The module's kernel without the variables of earlier tests."""
    kernel.run("%reset -f").ok()
    kernel.outputs.clear()
    return kernel


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    folder = tmp_path / "gate"
    folder.mkdir()
    made = Gate(folder)
    yield made
    made.close()
