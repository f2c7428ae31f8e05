"""The user's own modules as the kernel has them: what is a reason to look at their files again."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from cellmill.by_value.kernel_modules import KernelModules


def test_a_module_that_is_taken_out_and_imported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a reason to look once, not before every call to come."""
    name = "cellmill_test_taken_out"
    (tmp_path / f"{name}.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(name)
    modules = KernelModules()
    assert not modules.note()
    assert not modules.reloaded()
    monkeypatch.delitem(sys.modules, name)
    assert modules.reloaded()
    assert not modules.note()
    assert not modules.reloaded()
    importlib.import_module(name)
    assert modules.reloaded()
    assert modules.note()
    assert not modules.reloaded()
