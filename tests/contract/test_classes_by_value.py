"""Classes of cells: enumerations with all that their members are, and classes whose making runs code of the user's."""

from __future__ import annotations

import abc
import enum
from typing import Any, Generic, TypeVar

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS
from tests.support.told import nothing_told

T = TypeVar("T")


def test_enumerations(ex: Executor) -> None:
    """Members with attributes of their own, made by `__new__`, of several names, and of built-in types."""

    class Planet(enum.Enum):
        EARTH = (5.9, 6.3)
        MARS = (6.4, 3.3)

        def __init__(self, mass: float, radius: float) -> None:
            self.mass, self.radius = mass, radius

    class Coded(bytes, enum.Enum):
        label: str

        def __new__(cls, value: int, label: str) -> Any:
            made = bytes.__new__(cls, [value])
            made._value_ = value
            made.label = label
            return made

        A = (1, "a")
        B = (2, "b")

    class Number(enum.IntEnum):
        ONE = 1
        TWO = 2
        SINGLE = 1

    class Set(enum.Flag):
        X = enum.auto()
        Y = enum.auto()
        BOTH = X | Y

    def told(planet: Any, coded: Any, number: Any, flag: Any) -> Any:
        return (
            (planet.mass, planet is Planet.EARTH, [each.radius for each in Planet]),
            (coded.value, coded.label, coded[0], coded is Coded.B, Coded(2).label),
            (number is Number.SINGLE, number + 1, list(Number.__members__), Number(2).name),
            ((flag | Set.X) is Set.BOTH, Set.BOTH.value, Set(2).name),
        )

    given = (Planet.EARTH, Coded.B, Number.ONE, Set.Y)
    with nothing_told():
        assert ex.submit(told, *given).result(SECONDS) == told(*given)
        assert list(ex.starmap(told, [given])) == [told(*given)]
        assert ex.submit(lambda: Planet.MARS).result(SECONDS) is Planet.MARS


def test_what_runs_when_a_class_is_made_runs_once(ex: Executor) -> None:
    """`__init_subclass__` with arguments of the class statement, and metaclasses."""

    class Base(Generic[T]):
        made: list[tuple[str, str]] = []  # noqa: RUF012

        def __init_subclass__(cls, tag: str, **rest: Any) -> None:
            super().__init_subclass__(**rest)
            Base.made.append((cls.__name__, tag))

    class One(Base[int], tag="one"):
        pass

    class Meta(abc.ABCMeta):
        count = 0

        def __new__(mcs, name: str, bases: Any, namespace: Any, **rest: Any) -> Any:
            Meta.count += 1
            made: Any = super().__new__(mcs, name, bases, namespace)
            made.tag = rest.get("tag")
            return made

        def __init__(cls, name: str, bases: Any, namespace: Any, **_: Any) -> None:
            super().__init__(name, bases, namespace)

    class Shape(metaclass=Meta, tag="shape"):
        tag: str

        @abc.abstractmethod
        def area(self) -> int: ...

    class Square(Shape, tag="square"):
        def area(self) -> int:
            return 4

    def told(one: Any) -> Any:
        try:
            Shape()  # type: ignore[abstract]
        except TypeError:
            shapes = Meta.count, Shape.tag, Square.tag, Square().area(), isinstance(Square(), Shape)
        return Base.made, type(one).__name__, isinstance(one, Base), shapes

    with nothing_told():
        assert ex.submit(told, One()).result(SECONDS) == told(One())


def model_of(pydantic: Any) -> Any:
    class Model(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        a: int = 1

        @pydantic.field_validator("a")
        @classmethod
        def checked(cls, value: int) -> int:
            if value < 0:
                raise ValueError("negative")
            return value + 1

    return Model


def test_models_of_pydantic(ex: Executor) -> None:
    """Classes that are made of their own methods, and completed when they are first used."""
    pydantic = pytest.importorskip("pydantic")
    Model = model_of(pydantic)

    def made(a: int) -> Any:
        return Model(a=a)

    def told(model: Any) -> Any:
        return model.model_dump(), Model(a=5).a

    with nothing_told():
        assert ex.submit(told, Model(a=4)).result(SECONDS) == ({"a": 5}, 6)
        assert ex.submit(made, 3).result(SECONDS) == Model(a=3)
        assert list(ex.map(made, range(3))) == [Model(a=a) for a in range(3)]
    with pytest.raises(pydantic.ValidationError, match="negative"):
        ex.submit(made, -1).result(SECONDS)


def test_a_class_that_a_task_has_made(ex: Executor) -> None:
    """It is the caller's own from then on, for what later tasks return."""

    def made() -> Any:
        class Point:
            def __init__(self, x: int) -> None:
                self.x = x

        return Point

    point = ex.submit(made).result(SECONDS)
    for x in range(4):
        assert type(ex.submit(lambda x: point(x), x).result(SECONDS)) is point
        assert type(ex.submit(lambda one: one, point(x)).result(SECONDS)) is point
