"""Objects that only their identity tells from others: what a call is given and its function refers to as well is told
before the result, where tasks have copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from cellmill.diagnostics import notices
from tests.contract.abilities import Abilities
from tests.support.helpers import SECONDS
from tests.support.told import nothing_told, told


class Node:
    """Equal to itself alone."""

    def __init__(self, number: int) -> None:
        self.number = number


class Equal(Node):
    """Found by its number."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.number == other.number

    def __hash__(self) -> int:
        return self.number


pytestmark = pytest.mark.usefixtures("notices_anew")


def test_arguments_that_the_function_refers_to(ex: Executor, able: Abilities) -> None:
    nodes = [Node(i) for i in range(3)]

    def square(x: int) -> int:
        return x * x

    names = {square: "square"}

    def others(node: Node) -> list[int]:
        return [each.number for each in nodes if each is not node]

    def outside(pair: tuple[Node, ...]) -> list[int]:
        return [each.number for each in nodes if each not in pair]

    def name_of(function: Callable[..., Any]) -> str:
        return names.get(function, "?")

    for function, given, kind in (
        (others, nodes[1], "an object of Node"),
        (outside, (nodes[0], nodes[1]), "an object of Node"),
        (name_of, square, "square"),
    ):
        for run in (
            lambda f=function, x=given: ex.submit(f, x).result(SECONDS),
            lambda f=function, x=given: list(ex.map(f, [x])),
        ):
            notices.forget()
            texts = told(run, "is given")
            assert len(texts) == (1 if able.apart else 0)
            if texts:
                assert f"{function.__qualname__} is given {kind}, which it refers to as well" in texts[0]
    if not able.apart:
        assert ex.submit(others, nodes[1]).result(SECONDS) == [0, 2]
        assert list(ex.map(name_of, [square])) == ["square"]


def test_what_is_no_other_in_a_task(ex: Executor) -> None:
    """Within the arguments of a call, of what is equal by its own account, and of what is given alone."""
    node, other, equals = Node(1), Node(2), [Equal(i) for i in range(3)]

    def place(x: Node, among: list[Any]) -> int:
        return among.index(x) if x in among else -1

    def number(x: Node) -> int:
        return x.number + other.number

    def found(x: Equal) -> bool:
        return x in equals

    with nothing_told():
        assert ex.submit(place, node, [other, node]).result(SECONDS) == 1
        assert ex.submit(number, node).result(SECONDS) == 3
        assert list(ex.map(number, [node, Node(3)])) == [3, 5]
        assert ex.submit(found, equals[1]).result(SECONDS)
        assert list(ex.map(found, equals)) == [True] * 3


def test_within_the_arguments_of_each_call(ex: Executor) -> None:
    """Also where they come again in call after call."""

    def same(one: Any, other: Any) -> bool:
        return one is other

    def within(one: Any, many: list[Any]) -> bool:
        return one is many[0]

    for thing in (Node(1), [1], {"a": 1}):
        assert ex.submit(same, thing, other=thing).result(SECONDS)
        assert list(ex.map(same, [thing] * 3, [thing] * 3)) == [True] * 3
        assert list(ex.starmap(same, [(thing, thing)] * 3)) == [True] * 3
        assert list(ex.map(within, [thing] * 3, [[thing] for _ in range(3)])) == [True] * 3
        assert list(ex.map(same, [thing] * 3, [[thing] for _ in range(3)])) == [False] * 3
