"""A notebook on a cluster that Cellmill did not start: %autoreload reaches its workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.dasks import all_there
from tests.support.notebook import Notebook

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")


def test_autoreload(notebook: Notebook, threads: Any, tmp_path: Path) -> None:
    source = tmp_path / "cellmill_own_reloaded.py"
    source.write_text("X = 1\ndef f(): return X\n")
    os.utime(source, (1_700_000_000, 1_700_000_000))
    lent = all_there(threads).cluster
    try:
        assert "backend dask" in notebook.run(f"%cellmill backend {lent.scheduler_address}").ok().stdout
        notebook.run(f"import sys; sys.path.insert(0, {str(tmp_path)!r})").ok()
        notebook.run(f"%load_ext autoreload\n%autoreload 2\nimport {source.stem} as m").ok()
        notebook.run("%%parallel\ndef g(_): return m.f(), m.X").ok()
        assert notebook.value("set(g.map(range(20)))") == "{(1, 1)}"
        source.write_text("X = 22\ndef f(): return X + 1\n")
        assert notebook.value("(m.f(), set(g.map(range(20))))") == "(23, {(23, 22)})"
        assert notebook.value("set(g.map(range(20)))") == "{(23, 22)}"
        said = notebook.run("%cellmill restart").ok().stdout
        assert "your own modules come again" in said
        assert "The processes are not Cellmill's and stay" in said
        assert notebook.value("g(0).result(60)") == "(23, 22)"
    finally:
        notebook.run("%autoreload 0").ok()
        notebook.run("%cellmill backend local").ok()
