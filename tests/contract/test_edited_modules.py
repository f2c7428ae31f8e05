"""The user's own modules that are edited and loaded again in the middle of a cell: tasks follow it."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill import Executor
from cellmill.by_value import kernel_modules
from tests.support.helpers import SECONDS, prepend_to_path
from tests.support.own_module import OwnModule

TEXT = "K = {0}\n\ndef g(x):\n    return x + K + {0}\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnModule]:
    prepend_to_path(monkeypatch, tmp_path)
    made = OwnModule(tmp_path)
    yield made
    made.forget()


def call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def agree(ex: Executor, module: ModuleType) -> None:
    """Calls one right after another, of a function and of one that refers to its module, and a map."""

    def through(x: int) -> int:
        found: int = module.g(x)
        return found

    for function in (module.g, through):
        assert ex.submit(function, 1).result(SECONDS) == function(1)
        assert list(ex.map(function, range(3))) == [function(x) for x in range(3)]


def test_loaded_again(ex: Executor, module: OwnModule) -> None:
    for number in (1, 22, 333):
        module.write(TEXT.format(number))
        loaded = module.load()
        agree(ex, loaded)
        loaded.K = number * 10
        agree(ex, loaded)


def test_taken_out_and_imported_again(ex: Executor, module: OwnModule) -> None:
    for number in (1, 22):
        module.write(TEXT.format(number))
        agree(ex, module.load())
        module.forget()


def test_a_call_right_after_it_was_loaded_again(ex: Executor, module: OwnModule) -> None:
    module.write("def g():\n    return 1\n")
    loaded = module.load()

    def of_it() -> int:
        found: int = loaded.g()
        return found

    assert [ex.submit(of_it).result(SECONDS) for _ in range(20)] == [1] * 20
    module.write("def g():\n    return 2222\n")
    module.load()
    assert [ex.submit(of_it).result(SECONDS) for _ in range(20)] == [2222] * 20


def test_its_file_changes_right_after_it_was_loaded_again(ex: Executor, module: OwnModule) -> None:
    """Before the next call: tasks have what the program has loaded, whatever the file is by now."""
    module.write(TEXT.format(1))
    loaded = module.load()
    agree(ex, loaded)
    module.write(TEXT.format(22))
    module.load()
    module.write(TEXT.format(333))
    agree(ex, loaded)
    module.load()
    module.path.unlink()
    agree(ex, loaded)


@pytest.mark.parametrize("anew", ["loaded again", "imported again"])
def test_functions_of_before(ex: Executor, module: OwnModule, anew: str) -> None:
    """What the program has of the module before stays what it was, in its own functions, too."""
    module.write(
        "import functools\n\ndef g(x):\n    return x + 1\n\n@functools.cache\ndef kept(x):\n    return x + 1\n"
    )
    loaded = module.load()
    g, kept = loaded.g, loaded.kept

    def through(x: int) -> tuple[int, int]:
        return g(x), kept(x)

    for text in ("x + 1", "x + 2222"):
        module.write(
            f"import functools\n\ndef g(x):\n    return {text}\n\n@functools.cache\ndef kept(x):\n    return {text}\n"
        )
        if anew == "imported again":
            module.forget()
        present = module.load().g
        kernel_modules.modules.note()  # as at the end of each cell, and as another executor's call does
        assert ex.submit(through, 1).result(SECONDS) == (2, 2)
        assert [ex.submit(each, 1).result(SECONDS) for each in (g, kept)] == [2, 2]
        assert ex.submit(present, 1).result(SECONDS) == present(1)


GIVEN = """
class Model:
    def of(self, x):
        return {} * x

model = None

def used(x):
    return model.of(x)
"""


def test_an_object_that_a_module_was_given(ex: Executor, module: OwnModule) -> None:
    """What comes along with a function among the arguments is the same bytes, and of another class."""
    for number in (1, 22):
        module.write(GIVEN.format(number))
        loaded = module.load()
        loaded.model = loaded.Model()
        assert ex.submit(call, loaded.used, 3).result(SECONDS) == loaded.used(3) == 3 * number
        assert list(ex.map(call, [loaded.used], [3])) == [3 * number]


def test_a_file_that_is_gone(ex: Executor, module: OwnModule, tmp_path: Path) -> None:
    """Moved or deleted, as by another branch of its repository: program and tasks go on with what they have."""
    module.write(TEXT.format(1))
    inner = tmp_path / f"{module.name}_package"
    inner.mkdir()
    for name, text in {
        "__init__": "K = 2\n",
        "inner": f"from {module.name} import K\n{TEXT.format(3)}",
    }.items():
        (inner / f"{name}.py").write_text(text)
    loaded, within = module.load(), importlib.import_module(f"{inner.name}.inner")
    kernel_modules.modules.note()  # as at the end of each cell
    module.path.unlink()
    shutil.rmtree(inner)
    agree(ex, loaded)
    agree(ex, within)
    loaded.K = 10
    agree(ex, loaded)
    module.write(TEXT.format(444))
    agree(ex, module.load())
    for name in (within.__name__, inner.name):
        del sys.modules[name]


def test_a_package_that_is_only_a_folder_now(
    ex: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is gone, and the import finds the folder."""
    prepend_to_path(monkeypatch, tmp_path)
    inner = tmp_path / f"cellmill_own_folder_{id(ex)}"
    inner.mkdir()
    (inner / "__init__.py").write_text("K = 2\n")
    found = importlib.import_module(inner.name)
    assert ex.submit(lambda: found.K).result(SECONDS) == 2
    shutil.rmtree(inner)
    inner.mkdir()
    del sys.modules[inner.name]
    importlib.invalidate_caches()
    present = importlib.import_module(inner.name)
    with pytest.raises(AttributeError, match="has no attribute 'K'"):
        ex.submit(lambda: present.K).result(SECONDS)
    del sys.modules[inner.name]
