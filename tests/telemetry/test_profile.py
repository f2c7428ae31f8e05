"""Samples of stacks: what of them is user code, how they are told, and how the profiles of workers are merged."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

import pytest

from cellmill.errors import OWN_FOLDER
from cellmill.telemetry import call_tree
from cellmill.telemetry.call_tree import OTHERS, CallTree, user_part
from cellmill.telemetry.profile import Flame, Profile, flame

NAMES = {1: "work", 2: "sleep"}


def code(name: str, file: str = "user.py", line: int = 1) -> CodeType:
    return compile("0", file, "exec").replace(co_name=name, co_qualname=name, co_firstlineno=line)


BASE = code("run", os.path.join(OWN_FOLDER, "worker_process", "worker.py"))
CHUNK = code("run_chunk", os.path.join(OWN_FOLDER, "worker_process", "chunk.py"))
LOADING = code("decode", os.path.join(OWN_FOLDER, "serialization", "payload.py"))
PLAIN = code("__call__", os.path.join(OWN_FOLDER, "parallel.py"))
MAIN = code("main", "zygote.py")
WATCHED = code("__call__", os.path.join(OWN_FOLDER, "by_value", "watched.py"))
BROUGHT = code("call", os.path.join(OWN_FOLDER, "by_value", "brought.py"))
LOOK = code("states", os.path.join(OWN_FOLDER, "by_value", "stream_looks.py"))
WORK, INNER_A, INNER_B = code("work"), code("inner_a", line=5), code("inner_b", line=9)


def frames(*codes: CodeType) -> list[Any]:
    return [part for each in codes for part in (each, 3)]


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        ((INNER_A, WORK, BASE, MAIN), (WORK, INNER_A)),
        ((INNER_A, WORK, CHUNK, BASE, MAIN), (WORK, INNER_A)),
        ((INNER_A, PLAIN, WORK, BASE, MAIN), (WORK, INNER_A)),  # a parallel function called in a task
        ((CHUNK, BASE, MAIN), ()),  # native code, called by Cellmill
        ((INNER_A, WORK, WATCHED, BASE, MAIN), (WORK, INNER_A)),
        ((INNER_A, WORK, BROUGHT, WATCHED, BASE, MAIN), (WORK, INNER_A)),
        ((INNER_A, LOOK, WATCHED, BASE, MAIN), None),  # what Cellmill looks at before a call and after it
        ((LOOK, WATCHED, BASE, MAIN), None),
        ((WORK, LOADING, BASE, MAIN), None),  # arguments with code of the user's
        ((code("_find_and_load", "<frozen importlib._bootstrap>"), CHUNK, BASE), None),
        ((WORK, INNER_A, INNER_B), (INNER_B, INNER_A, WORK)),  # too deep for the loop to be read
        ((), None),
    ],
)
def test_the_part_of_user_code(stack: tuple[CodeType, ...], part: tuple[CodeType, ...] | None) -> None:
    assert user_part(frames(*stack), BASE) == (None if part is None else frames(*part))


def told(*trees: CallTree, most: int = 100, least: float = 0.0) -> Flame:
    profile = Profile()
    for source, tree in enumerate(trees):
        profile.take(source, NAMES, *tree.news())
    return flame(profile, most, least)


def rows(found: Flame) -> list[tuple[str, int, float, float]]:
    return [(bar.name, bar.depth, round(bar.total, 6), round(bar.own, 6)) for bar in found.bars]


def test_workers_are_merged_and_parents_have_the_sum() -> None:
    one, other = CallTree(), CallTree()
    one.add(1, frames(WORK, INNER_A), 3_000_000_000)
    one.add(1, frames(WORK), 1_000_000_000)
    other.add(1, frames(WORK, INNER_B), 2_000_000_000)
    other.add(1, frames(WORK, INNER_A), 1_000_000_000)
    other.add(2, [], 500_000_000)
    found = told(one, other)
    assert rows(found) == [
        ("work", 0, 7.0, 1.0),
        ("inner_a", 1, 4.0, 4.0),
        ("inner_b", 1, 2.0, 2.0),
        ("sleep", 0, 0.5, 0.5),
    ]
    assert (found.seconds, found.samples) == (7.5, 5)
    assert [(bar.parent, bar.line, bar.hottest) for bar in found.bars] == [
        (-1, 1, 3),
        (0, 5, 3),
        (0, 9, 3),
        (-1, 0, 0),
    ]


def test_only_what_is_new_is_told_and_it_must_follow() -> None:
    tree, profile = CallTree(), Profile()
    tree.add(1, frames(WORK), 1_000)
    first = tree.news()
    tree.add(1, frames(WORK, INNER_A), 2_000)
    second = tree.news()
    assert [node[1] for node in second[1]] == ["inner_a"]
    profile.take(0, NAMES, *second)  # of a worker whose beginning was not heard
    assert flame(profile, 10, 0.0).seconds == 0
    profile.take(0, NAMES, *first)
    profile.take(0, NAMES, *second)
    assert flame(profile, 10, 0.0).seconds == pytest.approx(3e-6)
    assert tree.news() == (3, [], {})
    profile.forget(0)  # it has died: its successor's numbers begin anew
    profile.take(0, NAMES, *first)
    assert flame(profile, 10, 0.0).seconds == pytest.approx(4e-6)


def test_a_sample_between_two_calls_of_python_code_is_none() -> None:
    tree = CallTree()
    tree.add(1, frames(WORK), 1_000)
    tree.add(1, [], 5_000)
    assert told(tree).samples == 1


def test_what_is_too_much_is_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_tree, "MOST_NODES", 3)
    tree = CallTree()
    for name in ("f", "g", "h"):
        tree.add(1, frames(WORK, code(name)), 1_000_000_000)
    assert rows(told(tree)) == [("work", 0, 3.0, 0.0), ("f", 1, 1.0, 1.0), (OTHERS, 1, 2.0, 2.0)]


def test_small_parts_are_shown_together() -> None:
    def tree() -> CallTree:
        made = CallTree()
        made.add(1, frames(WORK, INNER_A), 98_000_000_000)
        made.add(1, frames(WORK, INNER_B), 1_000_000_000)
        made.add(1, frames(WORK, code("c")), 1_000_000_000)
        return made

    expected = [("work", 0, 100.0, 0.0), ("inner_a", 1, 98.0, 98.0), (OTHERS, 1, 2.0, 2.0)]
    assert rows(told(tree(), least=0.02)) == expected
    assert rows(told(tree(), most=2)) == expected
