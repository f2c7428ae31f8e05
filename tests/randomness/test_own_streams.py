"""Functions that draw from `random` and `numpy.random` themselves are told from others by their code."""

from __future__ import annotations

import random
import re
from functools import partial
from pathlib import Path
from random import choice
from typing import Any

import numpy as np
import pytest

from cellmill.randomness.own_streams import drawn_by
from tests.support.helpers import run_script


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


SCRIPT = """
import random
import numpy as np
from numpy.random import seed
import cellmill

def of_random(i):
    return random.random()

def of_numpy(i):
    return np.random.rand()

if __name__ == "__main__":
    {seeding}
    with cellmill.Executor(2) as ex:
        list(ex.map(of_random, range(4)))
        ex.submit(of_numpy, 1).result()
        ex.submit(of_numpy, 2).result()
"""


@pytest.mark.parametrize(
    ("seeding", "told"),
    [
        ("random.seed(3)", ["tasks of of_random draw from random,"]),
        pytest.param(
            "np.random.seed(3); random.seed(3)",
            ["tasks of of_random draw", "tasks of of_numpy draw from numpy.random"],
            marks=pytest.mark.long,  # each alone is told of in the cases beside it
        ),
        ("seed(3)", ["tasks of of_numpy draw from numpy.random, of which"]),
        ("random.seed(3); cellmill.seed(3)", []),
        ("pass  # random.seed(3)", []),
    ],
)
def test_a_script_that_seeds_them_is_told(tmp_path: Path, seeding: str, told: list[str]) -> None:
    _, errors = run_script(tmp_path, SCRIPT.replace("{seeding}", seeding))
    assert errors.count("does not reach them") == len(told)
    assert all(text in errors for text in told)


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
    with cellmill.Executor(2) as ex:
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
    named = re.findall(r"tasks of (\S+) draw from random, ", errors)
    assert named == [
        *("Walker.step", "Drawer", "draw", "Random.gauss"),
        *("stepped", "stepped_once", "call", "by_module"),
    ]


IN_PACKAGES = """
import numpy as np
import pandas as pd
from numpy.random import seed as begin
import cellmill

table = pd.DataFrame({"a": range(100)})

def sampled(i):
    return table.sample(2).a.sum()

def in_its_own_order(i):
    return table.sample(2, random_state=i).a.sum()

def of_its_own_seed(i):
    begin(i)
    return table.sample(2).a.sum()

def draw(ex):
    for function in (sampled, in_its_own_order, of_its_own_seed):
        list(ex.map(function, range(4)))
    ex.submit(table.sample, 2).result()
    ex.submit(sampled, 2).result()

if __name__ == "__main__":
    {first}
    with cellmill.Executor({how}) as ex:
        draw(ex)
        {then}
        draw(ex)
"""


@pytest.mark.parametrize(
    ("first", "then", "told", "how"),
    [
        ("np.random.seed(3)", "pass", ["sampled", "NDFrame.sample"], "2"),
        ("np.random.seed(3)", "pass", ["sampled", "NDFrame.sample"], "1, backend='dask'"),
        ("pass", "cellmill.seed(3)", [], "2"),
        # a worker of a cluster is told of the seed as in `tests/contract/test_random.py`
        pytest.param("pass", "cellmill.seed(3)", [], "1, backend='dask'", marks=pytest.mark.long),
    ],
)
def test_packages_draw(tmp_path: Path, first: str, then: str, told: list[str], how: str) -> None:
    """A worker sees the draws that do not show in the function's own code. Each function is told of once."""
    script = IN_PACKAGES.replace("{first}", first).replace("{then}", then).replace("{how}", how)
    _, errors = run_script(tmp_path, script)
    assert re.findall(r"tasks of (\S+) draw from numpy.random, ", errors) == told
