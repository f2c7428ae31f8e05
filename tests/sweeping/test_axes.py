"""The axes of a sweep: given ones, those of the signature, and what makes no sense."""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Callable
from typing import Any, Literal

import numpy
import pytest

import cellmill
from cellmill import UsageError


class Kind(enum.Enum):
    RIDGE = 1
    LASSO = 2


def train(
    lr: float,
    depth: int = 3,
    *,
    fast: bool = False,
    kind: Kind = Kind.LASSO,
    loss: Literal["l1", "l2"] | None = "l2",
    name: str = "run",
) -> float:
    return lr * depth


def test_axes_are_given_or_the_signatures() -> None:
    made = cellmill.sweep(train, lr=[0.1, 0.2])
    assert made.axes == {
        "lr": [0.1, 0.2],
        "fast": [False, True],
        "kind": [Kind.RIDGE, Kind.LASSO],
        "loss": ["l1", "l2", None],
    }
    assert made.fixed == {"depth": 3, "name": "run"}
    assert len(made) == 2 * 2 * 2 * 3


def test_a_single_value_is_no_axis() -> None:
    made = cellmill.sweep(train, lr=0.1, fast=True, kind=Kind, loss="l1", depth=numpy.array(4))
    assert made.axes == {"kind": [Kind.RIDGE, Kind.LASSO]}
    assert made.fixed == {"lr": 0.1, "fast": True, "loss": "l1", "depth": 4, "name": "run"}


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (range(3), [0, 1, 2]),
        ((2.0, 1.0), [2.0, 1.0]),
        (numpy.linspace(0, 1, 3), [0.0, 0.5, 1.0]),
        (itertools.islice(itertools.count(), 2), [0, 1]),
        ([1, 2, 1, True, 1.0], [1, 2, True, 1.0]),  # a value once; another type is another value
        ([[1, 2], [1, 2], [3]], [[1, 2], [3]]),
        ({"b", "a"}, ["a", "b"]),
    ],
)
def test_values(values: Any, kept: list[Any]) -> None:
    found = cellmill.sweep(lambda x: x, x=values).axes["x"]
    assert found == kept
    assert [*map(type, found)] == [*map(type, kept)] or isinstance(values, numpy.ndarray)


def test_values_that_are_no_numbers_are_one() -> None:
    nan = float("nan")
    assert len(cellmill.sweep(lambda x: x, x=[nan, float("nan"), 1.0])) == 2
    arrays = [numpy.arange(3), numpy.arange(3), numpy.arange(3.0)]
    assert len(cellmill.sweep(lambda x: x, x=arrays)) == 2


def test_a_list_on_an_axis_is_what_it_was() -> None:
    layers = [8, 8]
    made = cellmill.sweep(lambda layers: sum(layers), layers=[layers, [4]])
    layers.append(100)
    assert made.axes == {"layers": [[8, 8], [4]]}


def by_position(x: int, y: int = 5, /, z: int = 1) -> int:
    return x + y + z


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (train, {}, r"train needs lr, which has neither an axis nor a default"),
        (train, {"lr": []}, r"the axis lr has no values"),
        (train, {"lr": numpy.array([])}, r"the axis lr has no values"),
        (train, {"lr": [1], "dept": [1]}, r"train has no parameter 'dept'; did you mean 'depth'\?"),
        (train, {"lr": {"a": 1}}, r"the axis lr is a dict: give a list of values"),
        (train, {"lr": range(2_000), "depth": range(2_000)}, r"span .* points; a sweep has at most"),
        (train, {"lr": itertools.count()}, r"the axis lr has more than 1,000,000 values"),
        (
            train,
            {"axes": [1, 2]},
            r"axes takes a dict .*, not \[1, 2\]; for a parameter that is called axes: axes={",
        ),
        (train, {"lr": [1], "axes": {"lr": [2]}}, r"lr is given twice: in axes, and as lr=…"),
        (lambda: 1, {"x": [1]}, r"has no parameter 'x'; it has no parameters"),
        (cellmill.parallel(batch=True)(lambda xs: xs), {"xs": [1]}, r"is a batch function"),
        (cellmill.parallel(checkpoint="f")(lambda x: x), {"x": [1]}, r"by path=, not by checkpoint="),
        (7, {}, r"parallel takes a function"),
    ],
)
def test_bad_axes(function: Callable[..., Any], values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cellmill.sweep(function, **values)


def test_parameters_by_position_and_other_callables(inline: cellmill.Executor) -> None:
    def run(function: Any, **values: Any) -> list[Any]:
        made = cellmill.sweep(cellmill.parallel(executor=inline)(function), **values)
        return [row["result"] for row in made.run().rows()]

    assert run(by_position, x=[1, 2]) == [7, 8]
    assert run(by_position, x=1, z=[1, 2]) == [7, 8]
    assert run(by_position, x=1, y=[0, 1]) == [2, 3]
    assert run(functools.partial(by_position, 1), y=[0, 1]) == [2, 3]
    assert run(lambda **names: sorted(names), b=[1], a=[2]) == [["a", "b"]]
    assert run(lambda path: path, axes={"path": ["a", "b"]}) == ["a", "b"]
