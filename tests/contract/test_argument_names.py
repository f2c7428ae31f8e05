"""Functions and objects among the arguments find in the user's modules what the kernel has there, as a plain call does.

Each test asks a plain call first, sets something anew, and asks again.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

import pytest

from cellmill import Executor, UsageError
from cellmill.by_value import argument_names
from cellmill.diagnostics import notices
from tests.contract.abilities import Abilities, elsewhere, own_cluster
from tests.support.helpers import SECONDS
from tests.support.own_module import imported
from tests.support.told import nothing_told

SOURCE = """
import enum
import functools

scale = 2
table = list(range(3000))

def scaled(x):
    return scale * x

def at(i):
    return table[i]

def clipped(function):
    @functools.wraps(function)
    def inner(*args):
        return min(5, function(*args))
    return inner

@clipped
def decorated(x):
    return scale * x

class Unit(enum.Enum):
    ONE = 1

    def scaled(self):
        return self.value * scale

class Base:
    rate = 1

    def rated(self):
        return self.rate + scale

class Model(Base):
    def __init__(self, k):
        self.k = k

    def of(self, x):
        return self.k * x

class Special(Model):
    def of(self, x):
        return -1

    def plain(self):
        return super().of
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, as its file makes it."""
    with imported(monkeypatch, tmp_path, "cellmill_test_arguments_module", SOURCE) as module:
        yield module


def call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def called(function: Callable[..., Any]) -> Any:
    return function(4)


def rated(model: Any) -> int:
    found: int = model.rated() + model.of(3)
    return found


def of_unit(unit: Any) -> int:
    found: int = unit.scaled()
    return found


def made(kind: type, k: int) -> Any:
    return kind(k)


def same(thing: Any) -> Any:
    return thing


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any) -> Any:
        return "traced", function(*args)

    return run


def agree(ex: Executor, function: Callable[..., Any], *args: Any) -> Any:
    """A call and a map of one element give what a plain call gives."""
    plain = function(*args)
    assert ex.submit(function, *args).result(SECONDS) == plain
    assert list(ex.map(function, *([arg] for arg in args))) == [plain]
    return plain


def test_functions(ex: Executor, own: ModuleType) -> None:
    def of_a_cell(x: int) -> int:
        found: int = own.scale * x
        return found

    for scale in (2, 7, 3):
        own.scale = scale
        assert agree(ex, call, own.scaled, 4) == 4 * scale
        assert agree(ex, called, own.decorated) == 5
        assert agree(ex, call, of_a_cell, 4) == 4 * scale
        assert agree(ex, call, lambda x: own.scaled(x), 4) == 4 * scale
        assert agree(ex, call, functools.partial(own.scaled, 5)) == 5 * scale
        assert list(ex.map(called, [own.scaled, of_a_cell])) == [4 * scale, 4 * scale]


def test_what_is_large(ex: Executor, own: ModuleType) -> None:
    """More than fits into a message: it is sent once."""
    for step in (1, 3):
        own.table = list(range(0, 9000, step))
        futures = [ex.submit(call, own.at, i) for i in range(50)]
        assert [future.result(SECONDS) for future in futures] == [step * i for i in range(50)]


def test_objects(ex: Executor, own: ModuleType) -> None:
    """Data of their classes, of the classes' bases, and what their methods read."""
    model = own.Model(4)
    for rate, scale in ((1, 2), (5, 2), (5, 9)):
        own.Base.rate, own.scale = rate, scale
        assert agree(ex, rated, model) == rate + scale + 12
        assert agree(ex, of_unit, own.Unit.ONE) == scale
        assert list(ex.map(rated, [own.Model(k) for k in range(50)])) == [
            rate + scale + 3 * k for k in range(50)
        ]


def test_methods_set_anew(ex: Executor, backend: str, own: ModuleType) -> None:
    model = own.Model(4)
    assert agree(ex, rated, model) == 1 + 2 + 12
    own.Model.of = lambda self, x: -x
    if backend in ("dask", "ray"):
        with pytest.raises(UsageError, match=r"Model\.of, which the kernel has otherwise"):
            ex.submit(rated, model).result(SECONDS)
    else:
        assert agree(ex, rated, model) == 1 + 2 - 3


def test_objects_that_tasks_hand_on(ex: Executor, own: ModuleType) -> None:
    def makes(k: int) -> Any:
        return own.Model(k)

    for rate in (1, 5):
        own.Base.rate = rate
        for maker in (
            ex.submit(makes, 4),
            ex.submit(made, own.Model, 4),
            ex.submit(same, ex.submit(same, own.Model(4))),
        ):
            assert ex.submit(rated, maker).result(SECONDS) == rate + 2 + 12


def test_methods_that_their_object_has_not_under_their_names(ex: Executor, own: ModuleType) -> None:
    """Bound to an object of another class than the one that gives this name."""
    special = own.Special(4)
    for method in (special.plain(), MethodType(own.Model.of, special)):
        assert agree(ex, call, method, 3) == 12
        assert agree(ex, call, functools.partial(method, 3)) == 12
        assert ex.submit(call, ex.submit(same, method), 3).result(SECONDS) == 12
        assert ex.submit(same, method).result(SECONDS)(3) == 12
        assert ex.submit(method, 3).result(SECONDS) == 12
    assert agree(ex, call, special.of, 3) == -1


def test_methods_and_functions_set_anew_of_what_tasks_hand_on(
    ex: Executor, backend: str, own: ModuleType
) -> None:
    """Also by names that only an earlier argument had. They are as the file makes them once they are put back."""
    before = own.Model.of, own.scaled

    def makes(k: int) -> Any:
        return own.Model(k)

    assert ex.submit(rated, ex.submit(same, own.Model(4))).result(SECONDS) == 3 + 12
    assert ex.submit(called, ex.submit(same, own.scaled)).result(SECONDS) == 8
    made, function = ex.submit(makes, 4), ex.submit(same, own.scaled)
    made.result(SECONDS), function.result(SECONDS)
    own.Model.of = lambda self, x: -x
    try:
        if backend in ("dask", "ray"):
            with pytest.raises(UsageError, match=r"reads .*Model\.of, which the kernel has otherwise"):
                ex.submit(rated, made).result(SECONDS)
        else:
            assert ex.submit(rated, made).result(SECONDS) == 3 - 3
            own.scaled = lambda x: -x
            assert ex.submit(call, ex.submit(same, own.Model(4).of), 3).result(SECONDS) == -3
    finally:
        own.Model.of, own.scaled = before
    assert ex.submit(rated, made).result(SECONDS) == 3 + 12
    assert ex.submit(called, function).result(SECONDS) == 8


def test_replacements_in_packages(ex: Executor, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that `functools.wraps` gives the names of those which they replace. Workers of several threads say that
    they cannot set them.
    """

    def reads(x: int) -> Any:
        return json.dumps(x)

    assert agree(ex, reads, 7) == "7"
    monkeypatch.setattr(json, "dumps", traced(json.dumps))
    assert agree(ex, call, json.dumps, 7) == ("traced", "7")
    if backend in ("dask", "ray"):
        with pytest.raises(UsageError, match=r"json\.dumps, which the kernel has otherwise"):
            ex.submit(reads, 7).result(SECONDS)
    else:
        assert agree(ex, reads, 7) == ("traced", "7")


def test_replacements_in_modules_of_the_users(ex: Executor, backend: str, own: ModuleType) -> None:
    def reads(x: int) -> Any:
        return own.scaled(x)

    assert agree(ex, reads, 7) == 14
    for function, value in ((own.clipped(own.scaled), 5), (traced(own.scaled), ("traced", 14))):
        before, own.scaled = own.scaled, function
        if backend in ("dask", "ray"):
            with pytest.raises(UsageError, match=r"scaled, which the kernel has otherwise"):
                ex.submit(reads, 7).result(SECONDS)
            with pytest.raises(UsageError, match=r"among the arguments reads .*scaled, which the kernel has"):
                ex.submit(call, own.scaled, 7).result(SECONDS)
        else:
            assert agree(ex, reads, 7) == agree(ex, call, own.scaled, 7) == value
            assert list(ex.map(called, [own.scaled] * 2)) == [own.scaled(4)] * 2
        own.scaled = before
    assert agree(ex, reads, 7) == 14


@elsewhere
def test_data_that_cannot_be_pickled(ex: Executor, own: ModuleType) -> None:
    """It stays each process's own, and the rest goes along."""
    own.scale, own.table = 6, (i for i in range(3))
    assert ex.submit(call, own.scaled, 2).result(SECONDS) == 12

    def both(x: int) -> Any:
        return own.scale * x, type(own.table).__name__

    assert ex.submit(call, both, 2).result(SECONDS) == (12, "list")


def test_shared_objects(ex: Executor, own: ModuleType) -> None:
    """As arguments, in a list, and as a variable of the function."""
    model = ex.share(own.Model(4))
    models = ex.share([own.Model(4)])

    def of_a_variable() -> int:
        return rated(model)

    def first(them: Any) -> int:
        return rated(them[0])

    for rate in (1, 5):
        own.Base.rate = rate
        assert ex.submit(rated, model).result(SECONDS) == rate + 2 + 12
        assert ex.submit(first, models).result(SECONDS) == rate + 2 + 12
        assert ex.submit(of_a_variable).result(SECONDS) == rate + 2 + 12


@own_cluster
@elsewhere
def test_what_prepares_workers(another: Callable[..., Executor], able: Abilities, own: ModuleType) -> None:
    """An initializer with its arguments, and a call on each worker."""
    own.Base.rate, own.scale = 5, 7

    def prepare(model: Any) -> None:
        sys.cellmill_test_prepared = (own.scale, rated(model))  # type: ignore[attr-defined]

    executor = another(initializer=prepare, initargs=(own.Model(4),))
    prepared = executor.run_on_workers(lambda: sys.cellmill_test_prepared)  # type: ignore[attr-defined]
    assert prepared == [(7, 5 + 7 + 12)] * able.workers
    own.scale = 8
    assert executor.run_on_workers(lambda: own.scaled(2)) == [16] * able.workers


@elsewhere
def test_elements_whose_modules_change_while_they_are_taken(ex: Executor, own: ModuleType) -> None:
    """It is told: they are sent several at once."""

    def models() -> Iterator[Any]:
        for rate in (1, 2, 3):
            own.Base.rate = rate
            yield own.Model(rate)

    notices.forget()
    with pytest.warns(RuntimeWarning, match=r"elements of rated read of modules was changed .*Base\.rate"):
        assert len(list(ex.map(rated, models()))) == 3


@elsewhere
def test_elements_whose_modules_stay_as_they_are(ex: Executor, own: ModuleType) -> None:
    """Also where so much else was looked at meanwhile that it is looked up anew."""
    own.Base.rate = 2

    def models() -> Iterator[Any]:
        for k in range(5):
            argument_names._known.clear()
            yield own.Model(k)

    notices.forget()
    with nothing_told():
        assert list(ex.map(rated, models())) == [2 + 2 + 3 * k for k in range(5)]


@own_cluster
@elsewhere
def test_what_tasks_hand_on_imports_no_module(
    another: Callable[..., Executor], able: Abilities, own: ModuleType
) -> None:
    """Data of modules that earlier arguments had is sent along, and waits until something imports them."""

    def has_module(_: Any) -> bool:
        return own_name in sys.modules

    own_name = own.__name__
    with another() as before:
        assert before.submit(rated, own.Model(4)).result(SECONDS) == 1 + 2 + 12
    with another() as after:
        assert after.submit(has_module, after.submit(same, 3)).result(SECONDS) is False
