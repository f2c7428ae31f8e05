"""Random numbers of tasks: generators that functions refer to, `cellmill.seed` and `cellmill.task_seed`."""

from __future__ import annotations

import functools
import os
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cellmill
from cellmill import Executor
from cellmill.diagnostics import notices
from cellmill.randomness import streams
from tests.contract import abilities
from tests.contract.abilities import elsewhere, few_on_clusters, own_cluster
from tests.support import tasks
from tests.support.helpers import SECONDS

Cell = Callable[[str], dict[str, Any]]
KINDS = ("np.random.default_rng(5)", "np.random.RandomState(5)", "random.Random(5)")
DRAW = {KINDS[0]: "rng.random()", KINDS[1]: "rng.normal()", KINDS[2]: "rng.gauss(0, 1)"}


@pytest.fixture(autouse=True)
def _seed_off(backend: str) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
    cellmill.seed(None)


@pytest.fixture(params=few_on_clusters(KINDS))
def rng(request: pytest.FixtureRequest) -> Any:
    return eval(str(request.param), {"np": np, "random": random})


def _drawing(rng: Any) -> Callable[..., float]:
    def draw(x: int = 0) -> float:
        return float(rng.random() if hasattr(rng, "random") else rng.random_sample())

    return draw


# -- generators that functions refer to


@elsewhere
def test_tasks_of_a_map_draw_from_children(ex: Executor, rng: Any) -> None:
    """The same whatever the chunks; nothing twice; the generator itself stays as it is."""
    before = streams.keys_of([rng], "", b"")
    first = list(ex.map(_drawing(rng), range(12)))
    assert len(set(first)) == 12
    assert list(ex.map(_drawing(rng), range(12), chunksize=5)) == first
    assert list(ex.options(timeout=60).map(_drawing(rng), range(12))) == first
    assert streams.keys_of([rng], "", b"") == before
    assert _drawing(rng)() not in first  # what this draws changes its state
    assert not set(ex.map(_drawing(rng), range(12))) & set(first)


@elsewhere
def test_single_calls_draw_from_children(ex: Executor, rng: Any) -> None:
    draw = _drawing(rng)
    values = [ex.submit(draw).result(SECONDS) for _ in range(3)]
    values += [ex.submit(draw, x=1).result(SECONDS), ex.options(priority=3).submit(draw, 2).result(SECONDS)]
    assert len(set(values)) == 5
    assert not set(values) & set(ex.map(draw, range(5)))


@elsewhere
@pytest.mark.parametrize("kind", few_on_clusters(KINDS))
def test_single_calls_repeat_with_their_generator(ex: Executor, kind: str) -> None:
    def values() -> list[float]:
        draw = _drawing(eval(kind, {"np": np, "random": random}))
        futures = [ex.submit(draw) for _ in range(6)]
        return [future.result(SECONDS) for future in futures]

    assert values() == values()


@own_cluster
@elsewhere
def test_other_workers_draw_the_same(ex: Executor, another: Callable[..., Executor], backend: str) -> None:
    here = list(ex.map(_drawing(np.random.default_rng(3)), range(9)))
    alone = Executor(1) if backend == "local" else another()
    with alone:
        assert list(alone.map(_drawing(np.random.default_rng(3)), range(9))) == here


class Walk:
    """Keeps a generator, as a model does."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.tools = {"more": [random.Random(seed)]}

    def step(self, x: int = 0) -> tuple[float, float]:
        return float(self.rng.random()), self.tools["more"][0].random()

    def __call__(self, x: int) -> tuple[float, float]:
        return self.step()


@elsewhere
def test_methods_and_callable_objects(ex: Executor) -> None:
    walk = Walk(1)
    ways = (
        [ex.submit(walk.step).result(SECONDS) for _ in range(3)],
        list(ex.map(walk.step, range(3))),
        list(ex.map(walk, range(3), chunksize=1)),
        list(ex.map(functools.partial(walk.step, x=1), range(0))),
        [(x, x) for x in ex.map(walk.rng.normal, range(3))],
    )
    values = [value for way in ways for pair in way for value in pair]
    assert len(set(values)) == 2 * 9 + 3
    assert list(ex.map(Walk(1).step, range(3), chunksize=2)) == ways[1]
    helper = functools.partial(walk.step, x=1)
    assert len({ex.submit(helper).result(SECONDS) for _ in range(3)}) == 3


@elsewhere
def test_wherever_a_function_has_it(ex: Executor, cell: Cell) -> None:
    """Globals of helpers, closures, defaults, attributes of functions, classes, containers."""
    names = cell(
        "import numpy as np\n"
        "one = np.random.default_rng(1)\n"
        "def helper(): return one.random()\n"
        "class Box:\n"
        "    rng = np.random.default_rng(2)\n"
        "held = {'a': [np.random.default_rng(3)]}\n"
        "def task(x, rng=np.random.default_rng(4), *, r=np.random.RandomState(5)):\n"
        "    return helper(), Box.rng.random(), held['a'][0].random(), rng.random(), r.rand(), task.rng.random()\n"
        "task.rng = np.random.default_rng(6)\n"
    )
    rows = list(ex.map(names["task"], range(6)))
    assert len({value for row in rows for value in row}) == 36


@elsewhere
def test_stand_ins_are_real_generators(ex: Executor) -> None:
    """Libraries that ask for the type take them, and what they spawn differs from task to task."""
    rng = np.random.default_rng(4)
    bits = np.random.Philox(7)
    both = np.random.Generator(bits)

    def task(x: int) -> Any:
        assert isinstance(rng, np.random.Generator)
        assert both.bit_generator is bits  # one object here, one object there
        children = [float(child.random()) for child in rng.spawn(2)]
        return *children, float(both.random()), rng.permutation(5).tolist() is not None

    rows = list(ex.map(task, range(4)))
    assert len({value for row in rows for value in row[:3]}) == 12


@elsewhere
def test_generators_in_arguments_are_arguments(ex: Executor) -> None:
    def draw(rng: Any) -> float:
        return float(rng.random())

    expected = np.random.default_rng(1).random()
    assert ex.submit(draw, np.random.default_rng(1)).result(SECONDS) == expected
    assert list(ex.map(draw, [np.random.default_rng(1)] * 2)) == [expected] * 2
    assert ex.submit(tasks.Gather(np.float64(0)).method, 1).result(SECONDS) == 1
    held, given = Walk(3), np.random.default_rng(1)
    value = ex.submit(functools.partial(draw), given).result(SECONDS)
    assert value == expected
    assert ex.submit(held.step, given).result(SECONDS) != ex.submit(held.step, given).result(SECONDS)


@elsewhere
@pytest.mark.parametrize("retries", [2, cellmill.Retry(2, backoff=0.001)])
def test_a_retry_draws_the_same(ex: Executor, tmp_path: Any, retries: Any) -> None:
    rng = np.random.default_rng(8)

    def draw(folder: str) -> float:
        value = float(rng.random())
        with open(os.path.join(folder, "drawn"), "a") as file:
            file.write(f"{value}\n")
        tasks.fail_first(folder)
        return value

    for i, way in enumerate((ex.options(retries=retries).submit, ex.options(retries=retries).map)):
        folder = tmp_path / str(i)
        folder.mkdir()
        found: Any = way(draw, str(folder) if not i else [str(folder)])
        value = found.result(SECONDS) if not i else next(found)
        assert (folder / "drawn").read_text().split() == [str(value)] * 2


@elsewhere
def test_batches(ex: Executor) -> None:
    rng = np.random.default_rng(5)

    @cellmill.parallel(batch=True, executor=ex)
    def draw(items: list[int]) -> list[float]:
        return [float(rng.random()) for _ in items]

    assert len(set(draw.map(range(40)))) == 40
    assert list(draw.map(range(6), chunksize=1)) == list(draw.map(range(6), chunksize=1))
    futures = [draw(i) for i in range(5)]
    assert len({future.result(SECONDS) for future in futures}) == 5


@elsewhere
def test_streams_of_the_process_are_not_sent(ex: Executor) -> None:
    """Functions of `random` and `numpy.random` draw from each worker's own stream."""
    functions: list[Any] = [random.random, np.random.rand]
    functions += [lambda random=random.random: random(), lambda rand=np.random.rand: float(rand())]
    for function in functions:
        assert len({float(ex.submit(function).result(SECONDS)) for _ in range(4)}) == 4


def test_with_the_kernels_own_objects(ex: Executor, able: abilities.Abilities) -> None:
    """In this process tasks draw from the generator itself."""
    if able.apart:
        pytest.skip("its tasks run elsewhere")
    draw = _drawing(np.random.default_rng(2))
    plain = np.random.default_rng(2)
    assert sorted(ex.map(draw, range(5))) == sorted(float(plain.random()) for _ in range(5))


@elsewhere
def test_what_is_said(ex: Executor, cell: Cell) -> None:
    names = cell(
        "import numpy as np\nrng = np.random.default_rng(1)\nother = np.random.default_rng(2)\n"
        "def said_once(x):\n    return rng.random()\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        streams._said.clear()
        notices.forget()
        list(ex.map(names["said_once"], range(3)))
        ex.submit(names["said_once"], 1).result(SECONDS)
    (note,) = [each for each in caught if "children" in str(each.message)]
    assert "tasks of said_once draw from children of rng, one per task" in str(note.message)
    assert note.filename == __file__
    names = cell("def said_once(x):\n    return rng.random() + other.random()\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(ex.map(names["said_once"], range(3)))
    (note,) = [each for each in caught if "children" in str(each.message)]
    assert "children of other, one" in str(note.message)


# -- cellmill.seed


def _streams(x: int = 0) -> tuple[float, float]:
    return random.random(), float(np.random.rand())


def _state(x: int = 0) -> int:
    return int(cellmill.task_seed().generate_state(1)[0])


def _seeded(able: abilities.Abilities) -> None:
    if not able.apart and able.concurrent:
        pytest.skip("its threads share the streams: see test_task_seed")


def test_seeded_tasks_repeat(ex: Executor, able: abilities.Abilities) -> None:
    _seeded(able)

    def everything() -> list[Any]:
        cellmill.seed(11)
        single = [ex.submit(_streams) for _ in range(3)]
        return [
            *(future.result(SECONDS) for future in single),
            ex.submit(_streams, x=1).result(SECONDS),
            *ex.map(_streams, range(7)),
            *ex.map(_streams, range(7), chunksize=3),
            *ex.map(lambda a, b: _streams(), range(2), range(2)),
            ex.options(retries=1).submit(_streams, 1).result(SECONDS),
            ex.submit(random.random).result(SECONDS),
            *ex.map(random.uniform, [0, 0], [1, 1]),
        ]

    first = everything()
    assert everything() == first
    assert len(set(first[4:11])) == 7
    assert first[4:11] == first[11:18]
    assert len(set(first[:4])) == 4
    cellmill.seed(12)
    assert next(iter(ex.map(_streams, [0]))) != first[4]


def test_the_kernels_streams_stay(ex: Executor, able: abilities.Abilities) -> None:
    _seeded(able)
    cellmill.seed(1)
    random.seed(3)
    np.random.seed(3)
    list(ex.map(_streams, range(3)))
    ex.submit(_streams).result(SECONDS)
    here = _streams()
    random.seed(3)
    np.random.seed(3)
    there = _streams()
    assert there[1] == here[1]
    assert able.package is not None or there == here  # their clients draw from `random`, too


def test_seeds_end(ex: Executor, able: abilities.Abilities) -> None:
    """Workers have streams of their own again."""
    _seeded(able)
    runs = []
    for _ in range(2):
        cellmill.seed(4)
        list(ex.map(_streams, range(6), chunksize=1))
        cellmill.seed(None)
        runs += ex.map(_streams, range(6), chunksize=1)
    assert len(set(runs)) == 12


def test_task_seed(ex: Executor) -> None:
    """The same on every backend, and computable from the number and the index."""
    cellmill.seed(21)
    expected = [int(np.random.SeedSequence(21, spawn_key=(i,)).generate_state(1)[0]) for i in range(5)]
    assert list(ex.map(_state, range(5))) == expected
    assert list(ex.map(_state, range(5), chunksize=2)) == expected
    assert [ex.submit(_state).result(SECONDS) for _ in range(3)] == expected[:3]
    assert ex.options(retries=1).submit(_state, x=3).result(SECONDS) == expected[3]
    cellmill.seed(None)
    fresh = [ex.submit(_state).result(SECONDS) for _ in range(3)]
    assert len({*fresh, *expected}) == 8


def test_task_seed_in_a_batch(ex: Executor) -> None:
    cellmill.seed(21)

    @cellmill.parallel(batch=True, executor=ex)
    def states(items: list[int]) -> list[int]:
        return [_state()] * len(items)

    first = list(states.map(range(3), chunksize=1))
    assert first == list(ex.map(_state, range(3)))
    assert list(states.map(range(3), chunksize=1)) == first
    assert states(0).result(SECONDS) == first[0]


def test_calls_in_a_task_are_part_of_it(ex: Executor) -> None:
    """A parallel function called in a task is the plain function: no task, and no seed of its own."""

    def outer(x: int) -> tuple[int, int]:
        inner = cellmill.parallel(_state)
        return _state(), inner(0)

    cellmill.seed(2)
    rows = list(ex.map(outer, range(3)))
    assert all(a == b for a, b in rows)
    assert len(set(rows)) == 3


def test_where_seeds_are_refused(ex: Executor) -> None:
    with pytest.raises(cellmill.UsageError, match="inside a task"):
        cellmill.task_seed()
    for wrong in (-1, 0.5, "x"):
        with pytest.raises(cellmill.UsageError, match="whole number"):
            cellmill.seed(wrong)  # type: ignore[arg-type]
    with pytest.raises(cellmill.UsageError, match="where you submit them"):
        ex.submit(lambda: cellmill.seed(3)).result(SECONDS)


def test_a_seeded_function_with_generators(ex: Executor, able: abilities.Abilities) -> None:
    _seeded(able)
    if not able.apart:
        pytest.skip("it draws from the generator itself")
    rng = np.random.default_rng(1)

    def draw(x: int = 0) -> tuple[float, float]:
        return float(rng.random()), random.random()

    def everything() -> list[Any]:
        cellmill.seed(5)
        walk = Walk(2)
        return [
            *(ex.submit(draw).result(SECONDS) for _ in range(3)),
            *ex.map(draw, range(4)),
            *(ex.submit(walk.step).result(SECONDS) for _ in range(2)),
            *ex.map(walk.step, range(4), chunksize=2),
        ]

    first = everything()
    assert everything() == first
    assert len({row[0] for row in first}) == 13
