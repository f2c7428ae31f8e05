"""The user's own modules as the kernel has them: what is a reason to look at their files again."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cellmill.by_value.kernel_modules import KernelModules
from tests.support.helpers import prepend_to_path


def test_a_module_that_is_taken_out_and_imported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a reason to look once, not before every call to come."""
    name = "cellmill_test_taken_out"
    (tmp_path / f"{name}.py").write_text("answer = 42\n")
    prepend_to_path(monkeypatch, tmp_path)
    importlib.import_module(name)
    modules = KernelModules()
    modules.note()
    assert not modules.reloaded()
    monkeypatch.delitem(sys.modules, name)
    assert modules.reloaded()
    modules.note()
    assert not modules.reloaded()
    assert modules.loaded == []
    importlib.import_module(name)
    assert modules.reloaded()
    modules.note()
    assert not modules.reloaded()
    assert modules.loaded == [""]  # its file is the same


def test_another_module_in_the_place_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes from no file: a reason to look once, too."""
    name = "cellmill_test_replaced"
    (tmp_path / f"{name}.py").write_text("answer = 42\n")
    prepend_to_path(monkeypatch, tmp_path)
    importlib.import_module(name)
    modules = KernelModules()
    modules.note()
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert modules.reloaded()
    modules.note()
    assert not modules.reloaded()


def test_a_module_whose_file_was_edited_before_the_first_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepend_to_path(monkeypatch, tmp_path)
    names = ["cellmill_test_edited", "cellmill_test_same"]
    text = "class Kind:\n    @property\n    def half(self): return 1\n\ndef double(x): return 2 * x\n"
    for name in names:
        (tmp_path / f"{name}.py").write_text(text)
        importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, sys.modules[name])
    (tmp_path / f"{names[0]}.py").write_text(text.replace("2 * x", "3 * x"))
    modules = KernelModules()
    modules.note()
    assert [name for name, _ in modules.outdated().values()] == names[:1]
    assert [modules.text(name) for name in names] == [None, text.encode()]
