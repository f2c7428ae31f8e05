"""The user's own modules: tasks find in them what the kernel has, also where a function imports them when it runs, and
where a function or a method was set anew.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill import Executor
from cellmill.by_value import kernel_modules
from tests.support.helpers import SECONDS, prepend_to_path
from tests.support.told import nothing_told, told


def test_data_of_a_module_that_the_function_imports(fresh: Executor, own: ModuleType) -> None:
    def whole(x: int) -> tuple[int, int, int]:
        import cellmill_test_own_module

        return (
            x + cellmill_test_own_module.limit,
            cellmill_test_own_module.limited(x),
            cellmill_test_own_module.Scale.factor,
        )

    def names(x: int) -> tuple[int, int]:
        from cellmill_test_own_module import limit, limited

        return x + limit, limited(x)

    def through_a_helper(x: int) -> int:
        return names(x)[0]

    for limit in (1, 50, 3):
        own.limit = limit
        assert fresh.submit(whole, 9).result(SECONDS) == whole(9) == (9 + limit, min(18, limit), 1)
        assert fresh.submit(names, 9).result(SECONDS) == names(9)
        assert list(fresh.map(through_a_helper, range(5))) == [x + limit for x in range(5)]
    own.Scale.factor = 7
    assert fresh.submit(whole, 9).result(SECONDS)[2] == 7
    del own.limit
    with pytest.raises(AttributeError, match="limit"):
        fresh.submit(whole, 9).result(SECONDS)


def test_names_that_are_deleted_before_any_task_has_read_them(fresh: Executor, own: ModuleType) -> None:
    def scaled(x: int) -> int:
        found: int = own.Scale().of(x)
        return found

    def direct() -> int:
        found: int = own.limit
        return found

    del own.limit, own.Scale.factor, own.thrice
    with pytest.raises(NameError, match="limit"):
        fresh.submit(own.limited, 9).result(SECONDS)
    with pytest.raises(AttributeError, match="limit"):
        fresh.submit(direct).result(SECONDS)
    with pytest.raises(AttributeError, match="factor"):
        fresh.submit(scaled, 9).result(SECONDS)
    with pytest.raises(AttributeError, match="thrice"):
        fresh.submit(lambda: own.thrice(1)).result(SECONDS)
    own.limit, own.Scale.factor = 5, 6
    assert [fresh.submit(each, 9).result(SECONDS) for each in (own.limited, scaled)] == [5, 54]


def test_a_name_that_is_deleted_when_the_file_is_gone(fresh: Executor, own: ModuleType) -> None:
    kernel_modules.modules.note()  # as at the end of each cell
    Path(str(own.__file__)).unlink()
    del own.limit
    with pytest.raises(NameError, match="limit"):
        fresh.submit(own.limited, 9).result(SECONDS)


def test_functions_that_others_of_the_module_have_made(fresh: Executor, own: ModuleType) -> None:
    """What a decorator makes bears no name by which it is found, unless `functools.wraps` gives it one."""

    def whole(x: int) -> tuple[Any, Any]:
        return own.decorated(x), own.below(x)

    for limit in (1, 50):
        own.limit = limit
        assert (
            fresh.submit(whole, 9).result(SECONDS)
            == whole(9)
            == (((9 + limit, limit), limit), (limit - 9, limit))
        )
        for each in (own.decorated, own.below):
            assert fresh.submit(each, 9).result(SECONDS) == each(9)


@pytest.mark.parametrize(
    "change",
    [
        "own.add = own.adder(99)",
        "own.add = own.noting(own.add)",
        "own.decorated = own.bare(own.twice)",
        "own.wrapped = own.scaled(5)(own.twice)",
        "own.wrapped = own.scaled(5)(own.wrapped.__wrapped__)",
        "own.Made = own.made(7)",
    ],
)
def test_what_functions_of_the_module_make_anew(fresh: Executor, own: ModuleType, change: str) -> None:
    """It has the code of what the file makes, and may have its name."""

    def whole(x: int) -> tuple[Any, ...]:
        return own.add(x), own.decorated(x), own.wrapped(x), own.Made.number, *own.all_of(x)

    before = whole(5)
    assert fresh.submit(whole, 5).result(SECONDS) == before
    exec(change, {"own": own})
    for limit in (1, 20):
        own.limit = limit
        assert fresh.submit(whole, 5).result(SECONDS) == whole(5) != before
        assert fresh.submit(own.all_of, 5).result(SECONDS) == own.all_of(5)


def test_a_module_that_the_function_finds_by_a_text(fresh: Executor, own: ModuleType) -> None:
    def imported() -> int:
        found: int = importlib.import_module("cellmill_test_own_module").limit
        return found

    def looked_up() -> int:
        found: int = sys.modules["cellmill_test_own_module"].limit
        return found

    own.limit = 6
    assert fresh.submit(imported).result(SECONDS) == fresh.submit(looked_up).result(SECONDS) == 6
    own.limit = 7
    assert fresh.submit(imported).result(SECONDS) == fresh.submit(looked_up).result(SECONDS) == 7


def test_a_module_as_an_argument_is_warned_of(fresh: Executor, own: ModuleType) -> None:
    """Before the result, once."""

    def limit_of(module: ModuleType) -> int:
        found: int = module.limit
        return found

    with pytest.warns(RuntimeWarning, match="given the module cellmill_test_own_module.*Pass the values"):
        future = fresh.submit(limit_of, own)
    with nothing_told():
        assert fresh.submit(limit_of, own).result(SECONDS) == future.result(SECONDS) == 1


def test_attributes_of_an_object_that_cannot_be_sent(
    fresh: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object stays each process's own, and what can be sent of it is set there."""
    source = """
import threading

class Settings:
    def __init__(self):
        self.lock = threading.Lock()
        self.limit = 1

settings = Settings()

def limit():
    with settings.lock:
        return settings.limit
"""
    (tmp_path / "cellmill_test_locked_module.py").write_text(source)
    prepend_to_path(monkeypatch, tmp_path)
    own = importlib.import_module("cellmill_test_locked_module")

    def asked() -> tuple[int, int]:
        return own.settings.limit, own.limit()

    def call(function: Any) -> int:
        found: int = function()
        return found

    try:
        for limit in (1, 5, 3):
            own.settings.limit = limit
            assert fresh.submit(asked).result(SECONDS) == (limit, limit)
            assert fresh.submit(call, own.limit).result(SECONDS) == limit
    finally:
        sys.modules.pop(own.__name__)


def test_a_module_that_is_imported_later(fresh: Executor, own: ModuleType) -> None:
    """It was not imported in the kernel when the function was called first."""

    def limit() -> int:
        import cellmill_test_own_module

        found: int = cellmill_test_own_module.limit
        return found

    del sys.modules[own.__name__]
    assert fresh.submit(limit).result(SECONDS) == 1
    importlib.import_module(own.__name__).limit = 8
    assert fresh.submit(limit).result(SECONDS) == limit() == 8


def test_functions_and_methods_that_are_set_anew(
    fresh: Executor, own: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And as they were, once they are set back."""
    step = 100

    def mine(x: int) -> int:
        return x + step

    def asked(x: int) -> tuple[object, ...]:
        import cellmill_test_own_module as module

        scale = module.Scale()
        return module.twice(x), module.limited(x), module.joined(), scale.of(x), scale.doubled

    mine.__module__ = "__main__"  # as a cell's
    first = asked(3)
    assert fresh.submit(asked, 3).result(SECONDS) == first
    with monkeypatch.context() as patch:
        patch.setattr(own, "twice", mine)
        patch.setattr(own.Scale, "of", lambda self, x: mine(x))
        own.Scale.of.__module__ = "__main__"
        assert fresh.submit(asked, 3).result(SECONDS) == asked(3) == (103, 1, "a/b", 103, 2)
        step = 7
        assert fresh.submit(asked, 3).result(SECONDS) == asked(3) == (10, 1, "a/b", 10, 2)
        patch.setattr(own, "twice", own.thrice)  # another one of the same module
        assert fresh.submit(asked, 3).result(SECONDS) == asked(3) == (9, 1, "a/b", 10, 2)
        patch.setattr(own, "join", max)
        assert fresh.submit(asked, 3).result(SECONDS) == asked(3)
    assert fresh.submit(asked, 3).result(SECONDS) == first


def test_constants_and_functions_of_packages_that_the_function_imports(
    fresh: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    import colorsys
    import json

    def asked(value: int) -> tuple[object, ...]:
        import colorsys
        from json import dumps

        return dumps(value), colorsys.ONE_THIRD

    def dumps(value: int) -> str:
        return f"mine {value}"

    dumps.__module__ = "__main__"
    first = asked(1)
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", dumps)
        patch.setattr(colorsys, "ONE_THIRD", 0.3)
        assert fresh.submit(asked, 1).result(SECONDS) == asked(1) == ("mine 1", 0.3)
    assert fresh.submit(asked, 1).result(SECONDS) == first


def test_attributes_of_functions_and_classes_of_metaclasses(fresh: Executor, own: ModuleType) -> None:
    """Also the one object of a class that its metaclass keeps."""

    def asked(x: int) -> tuple[Any, ...]:
        return own.solved(x), own.Settings.level, own.debugged(), own.Settings().debug

    assert fresh.submit(asked, 2).result(SECONDS) == asked(2) == (2, 1, False, False)
    own.solved.step, own.Settings.level, own.Settings().debug = 7, 5, True
    assert fresh.submit(asked, 2).result(SECONDS) == asked(2) == (14, 5, True, True)
    own.solved.step, own.Settings().debug = 9, False
    assert fresh.submit(asked, 2).result(SECONDS) == asked(2) == (18, 5, False, False)


def test_names_by_text_are_told(fresh: Executor) -> None:
    def asked() -> Any:
        return globals().get("SECONDS")

    asked.__module__ = "__main__"
    assert len(told(lambda: fresh.submit(asked).result(SECONDS), "calls globals()")) == 1
