"""Functions that draw from `random` and `numpy.random` themselves are told from others by their code."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import choice
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cellmill
from cellmill import Executor
from cellmill.diagnostics import notices
from cellmill.randomness import own_streams
from cellmill.randomness.own_streams import drawn_by
from tests.support.helpers import SECONDS, run_script
from tests.support.told import told


def helper() -> float:
    return float(np.random.normal())


def by_helper(_: int) -> float:
    return helper()


def nested(count: int) -> list[int]:
    return [random.randrange(6) for _ in range(count)]


def of_a_generator(seed: int) -> float:
    rng = np.random.default_rng(seed)
    return float(rng.normal())


def seeds_itself(seed: int) -> float:
    random.seed(seed)
    return random.random()


def imports_it(_: int) -> float:
    import random as stream

    return stream.random()


def imports_from_numpy(_: int) -> float:
    from numpy import random

    return float(random.rand())


def has_a_variable_of_that_name(random: list[int]) -> int:
    return random.index(1)


class Walker:
    """Its steps draw, its place does not."""

    def __init__(self) -> None:
        self.place = random.random()

    def step(self) -> float:
        return self.place + self.direction()

    def direction(self) -> int:
        return random.choice([-1, 1])

    def read(self) -> float:
        return self.place


def own_object(seed: int) -> float:
    return random.Random(seed).random()


@pytest.mark.parametrize(
    ("function", "drawn"),
    [
        (by_helper, {"numpy.random"}),
        (nested, {"random"}),
        (choice, {"random"}),
        (lambda _: np.random.sample(), {"numpy.random"}),
        (lambda n: (np.random.rand(n), random.random()), {"random", "numpy.random"}),
        (random.gauss, {"random"}),
        (partial(np.random.normal, 3), {"numpy.random"}),
        (of_a_generator, set()),
        (seeds_itself, set()),
        (own_object, set()),
        (imports_it, {"random"}),
        (imports_from_numpy, {"numpy.random"}),
        (has_a_variable_of_that_name, set()),
        (Walker().step, {"random"}),
        (Walker().read, set()),
        (lambda _: random.getstate(), set()),
        (len, set()),
    ],
)
def test_what_a_function_draws_from(function: Any, drawn: set[str]) -> None:
    assert drawn_by(function) == drawn


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Take a text for that of the script that runs: nothing is known of what ran before."""
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "seed", np.random.seed, raising=False)
    texts = itertools.count()

    def run(text: str) -> None:
        seeds = own_streams._Seeds()
        for name in ("met", "came_along", "given", "drew", "before_cell"):
            monkeypatch.setattr(own_streams, name, getattr(seeds, name))
        file = tmp_path / f"script_{next(texts)}.py"
        file.write_text(text)
        monkeypatch.setattr(main, "__file__", str(file), raising=False)
        notices.forget()

    yield run
    notices.forget()
    cellmill.seed(None)


@pytest.mark.parametrize(
    ("text", "seeded", "of"),
    [
        ("random.seed(3)", None, ["of_random draw from random,"]),
        ("seed(3)", None, ["of_numpy draw from numpy.random, of which"]),
        (
            "np.random.seed(3); random.seed(3)",
            None,
            ["of_random draw from random,", "of_numpy draw from numpy.random,"],
        ),
        ("random.seed(3); cellmill.seed(3)", 3, []),
        ("pass  # random.seed(3)", None, []),
    ],
)
def test_a_script_that_seeds_them_is_told(
    runs: Callable[[str], None], pool: Executor, text: str, seeded: int | None, of: list[str]
) -> None:
    def of_random(_: int) -> float:
        return random.random()

    def of_numpy(_: int) -> float:
        return float(np.random.rand())

    def draw() -> None:
        list(pool.map(of_random, range(4)))
        for number in (1, 2):
            pool.submit(of_numpy, number).result(SECONDS)

    runs(text)
    cellmill.seed(seeded)
    texts = told(draw, "does not reach them")
    assert len(texts) == len(of)
    for each, part in zip(texts, of, strict=True):
        assert part in each


def named_in(texts: list[str], stream: str) -> list[str]:
    """The functions of which it is told that they draw from a stream, without the one that a test is around them."""
    found = re.findall(rf"tasks of (\S+) draw from {re.escape(stream)}, ", "\n".join(texts))
    return [name.rpartition("<locals>.")[2] for name in found]


ALONG = """
import random
from functools import partial
import cellmill
import walking_module

class Walker:
    def step(self):
        return random.choice([-1, 1])
    def read(self):
        return 0

class Drawer:
    def __call__(self, i):
        return random.random()

def draw(*_):
    return random.random()

def stepped(walker):
    return walker.step()

def stepped_once(walker):
    return walker.step()

def read(walker):
    return walker.read()

def call(function):
    return function()

def by_module(i):
    return walking_module.draw()

if __name__ == "__main__":
    random.seed(3)
    with cellmill.Executor(1) as ex:
        ex.submit(Walker().step).result()
        list(ex.map(Drawer(), range(2)))
        ex.submit(partial(draw, 1)).result()
        ex.submit(random.gauss, 0, 1).result()
        list(ex.map(stepped, [Walker()]))
        ex.submit(stepped_once, Walker()).result()
        ex.submit(call, draw).result()
        list(ex.map(by_module, range(2)))
        ex.submit(Walker().read).result()
        list(ex.map(read, [Walker()]))
"""


def test_what_comes_with_a_call_draws(tmp_path: Path) -> None:
    """Methods and other callables that have no number, functions and objects among the arguments, and modules."""
    (tmp_path / "walking_module.py").write_text("import random\ndef draw():\n    return random.random()\n")
    _, errors = run_script(tmp_path, ALONG)
    assert named_in([errors], "random") == [
        *("Walker.step", "Drawer", "draw", "Random.gauss"),
        *("stepped", "stepped_once", "call", "by_module"),
    ]


@pytest.mark.parametrize(
    ("text", "then", "of"),
    [
        ("np.random.seed(3)", None, ["sampled", "NDFrame.sample"]),
        # that nothing is told where nothing is seeded, or after `cellmill.seed`, is asked of scripts above
        pytest.param("pass", 3, [], marks=pytest.mark.long),
    ],
)
def test_packages_draw(runs: Callable[[str], None], text: str, then: int | None, of: list[str]) -> None:
    """A worker sees the draws that do not show in the function's own code. Each function is told of once."""
    table = pd.DataFrame({"a": range(100)})

    def sampled(_: int) -> int:
        return int(table.sample(2).a.sum())

    def in_its_own_order(i: int) -> int:
        return int(table.sample(2, random_state=i).a.sum())

    def of_its_own_seed(i: int) -> int:
        np.random.seed(i)
        return int(table.sample(2).a.sum())

    def draw(ex: Executor) -> None:
        for function in (sampled, in_its_own_order, of_its_own_seed):
            list(ex.map(function, range(4)))
        ex.submit(table.sample, 2).result(SECONDS)
        ex.submit(sampled, 2).result(SECONDS)

    runs(text)
    with Executor(1) as ex:
        texts = told(lambda: draw(ex), "does not reach them")
        cellmill.seed(then)
        texts += told(lambda: draw(ex), "does not reach them")
    assert named_in(texts, "numpy.random") == of


def test_workers_of_a_cluster_tell_of_draws(runs: Callable[[str], None]) -> None:
    def hidden(_: int) -> float:
        return float(vars(np)["random"].rand())

    runs("np.random.seed(3)")
    with Executor(1, backend="dask") as ex:
        texts = told(lambda: [list(ex.map(hidden, range(4))) for _ in range(2)], "does not reach them")
    assert named_in(texts, "numpy.random") == ["hidden"]
