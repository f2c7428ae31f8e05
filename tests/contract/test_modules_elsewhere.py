"""The user's own modules that an import would not find now, or would find another one in their place."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS

_numbers = itertools.count()
HERE, OTHER = "def of(x):\n    return 'here', x\n", "def of(x):\n    return 'other', x\n"


class Places:
    """Two folders with different modules of one name, and what imports one of them."""

    def __init__(self, folder: Path) -> None:
        self.name = f"cellmill_elsewhere_{next(_numbers)}"
        self.here, self.other = folder / "here", folder / "other"
        for path, text in ((self.here, HERE), (self.other, OTHER)):
            path.mkdir()
            (path / f"{self.name}.py").write_text(text)

    def load(self) -> ModuleType:
        importlib.invalidate_caches()
        return importlib.import_module(self.name)

    def load_file(self, file: Path) -> ModuleType:
        """As the documentation of `importlib` imports a file directly."""
        spec = importlib.util.spec_from_file_location(self.name, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[self.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    made = Places(tmp_path)
    yield made
    sys.modules.pop(made.name, None)


def agree(ex: Executor, module: ModuleType) -> None:
    def through(x: int) -> Any:
        return module.of(x)

    def imported(x: int) -> Any:
        return importlib.import_module(module.__name__).of(x)

    for function in (module.of, through, imported):
        assert ex.submit(function, 1).result(SECONDS) == function(1)
        assert list(ex.map(function, range(3))) == [function(x) for x in range(3)]


def test_the_path_was_another_one(ex: Executor, places: Places) -> None:
    sys.path.insert(0, str(places.here))
    module = places.load()
    agree(ex, module)
    sys.path.pop(0)
    agree(ex, module)
    sys.path.insert(0, str(places.other))
    agree(ex, module)


def test_the_directory_was_another_one(ex: Executor, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.path.insert(0, "")
    monkeypatch.chdir(places.here)
    module = places.load()
    os.chdir(places.other)
    agree(ex, module)


def test_a_worker_has_the_other_one(ex: Executor, places: Places) -> None:
    """Its task imported what it found; then the kernel imports another one."""
    name = places.name

    def imported(x: int) -> Any:
        return importlib.import_module(name).of(x)

    sys.path.insert(0, str(places.other))
    assert set(ex.map(imported, [1] * 20)) == {("other", 1)}
    sys.modules.pop(name, None)
    sys.path[0] = str(places.here)
    agree(ex, places.load())


def test_found_by_the_path_again(ex: Executor, places: Places) -> None:
    """Workers that begin then have no file for it any more."""
    module = places.load_file(places.here / f"{places.name}.py")
    agree(ex, module)
    sys.path.insert(0, str(places.other))
    agree(ex, importlib.reload(module))


@pytest.mark.parametrize("package", [False, True], ids=["module", "package"])
def test_loaded_from_a_file_under_a_name_of_its_own(ex: Executor, places: Places, package: bool) -> None:
    file = places.here / f"{places.name}.py"
    if package:
        (places.here / "__init__.py").write_text(f"from .{places.name} import of\n")
        file = places.here / "__init__.py"
    places.name = f"{places.name}_named"
    agree(ex, places.load_file(file))


def test_what_workers_find_by_themselves_stays(ex: Executor, places: Places) -> None:
    """A module that the kernel does not have is what the path and the directory of now say."""
    name = places.name

    def imported(x: int) -> Any:
        return importlib.import_module(name).of(x)

    sys.path.insert(0, str(places.here))
    importlib.invalidate_caches()
    assert ex.submit(imported, 1).result(SECONDS) == ("here", 1)


SOURCES = {
    "its class is its own": """
import sys, types

limit = 1

class Settings(types.ModuleType):
    @property
    def twice(self):
        return 2 * self.limit

def of(x):
    return x, limit

sys.modules[__name__].__class__ = Settings
""",
    "it makes names when they are asked for": """
_held = {"limit": 1, "twice": 2}

def __getattr__(name):
    try:
        return _held[name]
    except KeyError:
        raise AttributeError(name) from None

def of(x):
    return x, _held["limit"]
""",
}


def _set_limit(module: Any) -> None:
    module.limit = 5


def _set_held(module: Any) -> None:
    module._held.update(limit=5, twice=10)


@pytest.mark.parametrize(
    ("kind", "change"), [*zip(SOURCES, (_set_limit, _set_held), strict=True)], ids=[*SOURCES]
)
def test_modules_that_are_more_than_names(
    ex: Executor, places: Places, kind: str, change: Callable[[Any], None]
) -> None:
    (places.here / f"{places.name}.py").write_text(SOURCES[kind])
    sys.path.insert(0, str(places.here))
    module = places.load()

    def read(_: int) -> Any:
        return module.limit, module.twice, module.of(3)

    assert ex.submit(read, 0).result(SECONDS) == read(0) == (1, 2, (3, 1))
    change(module)
    assert ex.submit(read, 0).result(SECONDS) == read(0) == (5, 10, (3, 5))
    assert list(ex.map(read, range(2))) == [read(0)] * 2
