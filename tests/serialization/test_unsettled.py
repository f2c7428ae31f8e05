"""Containers that change while they are pickled: by another thread, or by an object in them."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy  # noqa: F401  (arrays are looked for)
import pytest

from cellmill import Executor, PayloadError
from cellmill.by_value import views
from cellmill.by_value.unsettled import MOST_TRIES
from tests.support.helpers import SECONDS

KINDS: tuple[Callable[[], Any], ...] = (dict, OrderedDict, deque)


def _add(held: Any, key: int, value: Any = None) -> None:
    if isinstance(held, deque):
        held.append(value)
    else:
        held[key] = value


def _with_one_that_adds(kind: Callable[[], Any], times: int) -> Any:
    """A container with an object in it that adds to it, so often, when it is pickled."""
    held = kind()

    class Adds:
        def __reduce__(self) -> Any:
            nonlocal times
            times -= 1
            if times >= 0:
                _add(held, len(held))
            return int, ()

    for key in range(3):
        _add(held, key, Adds() if not key else lambda: None)
    return held


def _ways(pool: Executor, held: Any) -> dict[str, Callable[[], int]]:
    def given(value: Any) -> int:
        return len(value)

    def referred() -> int:
        return len(held)

    return {
        "argument": lambda: pool.submit(given, held).result(SECONDS),
        "keyword": lambda: pool.submit(given, value=held).result(SECONDS),
        "element": lambda: next(pool.map(given, [held])),
        "function": lambda: pool.submit(referred).result(SECONDS),
        "shared": lambda: pool.submit(given, pool.share(held)).result(SECONDS),
    }


WAYS = ("argument", "keyword", "element", "function", "shared")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_one_that_changes_for_a_moment_is_sent(pool: Executor, kind: Callable[[], Any], way: str) -> None:
    held = _with_one_that_adds(kind, 2)
    assert _ways(pool, held)[way]() == len(held) > 3


@pytest.mark.parametrize("way", WAYS)
def test_one_that_never_stays_as_it_is_is_told(pool: Executor, way: str) -> None:
    held = _with_one_that_adds(dict, sys.maxsize)
    with pytest.raises(PayloadError, match="a container in it changes while it is pickled"):
        _ways(pool, held)[way]()
    assert len(held) >= MOST_TRIES


def test_a_thread_that_always_changes_them(pool: Executor) -> None:
    class Part:
        pass

    held: list[Any] = [kind() for kind in KINDS]
    whole = Part()
    over, interval = threading.Event(), sys.getswitchinterval()

    def change() -> None:
        while not over.is_set():
            for each in held:
                each.clear()
            for key in range(500):
                for each in held if key < 100 else ():
                    _add(each, key, Part())
                setattr(whole, f"part{key}", key)
            vars(whole).clear()

    thread = threading.Thread(target=change)
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for each in held:
            for way in WAYS:
                assert 0 <= _ways(pool, each)[way]() <= 100
        for _ in range(20_000):
            assert not views.found_in([whole])
        assert sys.getswitchinterval() == pytest.approx(1e-5, rel=0.1)
    finally:
        over.set()
        thread.join(SECONDS)
        sys.setswitchinterval(interval)
