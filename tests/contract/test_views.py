"""Arrays of one object that share memory do so in tasks, in results and in elements of maps."""

from __future__ import annotations

import array
import concurrent.futures
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import pytest

from cellmill import Executor
from tests.contract.abilities import few_on_clusters
from tests.support.helpers import SECONDS

numpy = pytest.importorskip("numpy")


class Grid:
    """Steps through a view of its cells."""

    def __init__(self, cells: int) -> None:
        self.cells = numpy.zeros(cells)
        self.inner = self.cells[1:-1]
        self.rows = self.cells.reshape(2, -1)
        self.times: list[float] = []

    def step(self) -> float:
        self.cells += 1
        self.inner *= 2
        self.rows[1] += 3
        self.times.append(float(self.cells.sum()))
        return self.times[-1]


def stepped(grid: Any) -> Any:
    grid.step()
    grid.step()
    return grid


def steps(grid: Any) -> list[float]:
    return [grid.step() for _ in range(3)]


@pytest.mark.parametrize("cells", [6, 20_000])
def test_a_view_stays_a_view(ex: Executor, cells: int) -> None:
    """Small arrays, and those that travel outside of the pickle."""
    plain = steps(Grid(cells))
    assert ex.submit(steps, Grid(cells)).result(SECONDS) == plain
    assert list(ex.map(steps, [Grid(cells), Grid(cells)])) == [plain, plain]
    back = ex.submit(stepped, Grid(cells)).result(SECONDS)
    assert [*back.times, back.step()] == plain
    (mapped,) = ex.map(stepped, [Grid(cells)])
    assert [*mapped.times, mapped.step()] == plain


@pytest.mark.parametrize("cells", [6, 20_000])
@pytest.mark.parametrize("state", few_on_clusters(["waits", "over", "read"]))
def test_one_that_another_task_made(ex: Executor, cells: int, state: str) -> None:
    """Whatever its future has come to, by itself, in a list, in a map, and beside a generator that is drawn from."""

    def first_steps(grid: Any, *_: Any) -> list[float]:
        return steps(grid[0] if isinstance(grid, list) else grid)[:1]

    def made() -> Any:
        future = ex.submit(stepped, Grid(cells))
        if state != "waits":
            concurrent.futures.wait([future], SECONDS)
        if state == "read":
            future.result(SECONDS)
        return future

    wanted = steps(Grid(cells))[2:]
    assert ex.submit(first_steps, made()).result(SECONDS) == wanted
    assert ex.submit(first_steps, [made()]).result(SECONDS) == wanted
    assert ex.submit(first_steps, made(), random.Random(1)).result(SECONDS) == wanted
    assert ex.submit(first_steps, made(), lambda: None).result(SECONDS) == wanted
    assert list(ex.map(first_steps, [made(), [made()]])) == [wanted, wanted]


class Named(NamedTuple):
    cells: Any
    inner: Any


@dataclass(slots=True)
class Slotted:
    cells: Any
    inner: Any


class Rows(list[Any]):
    pass


class Fields(dict[str, Any]):
    pass


def _row(cells: Any, inner: Any) -> Rows:
    row = Rows([cells])
    row.inner = inner  # type: ignore[attr-defined]
    return row


def _often(cells: Any, inner: Any) -> list[Any]:
    held = [cells, inner]
    for _ in range(9):
        held = [held, held]
    return held


def _at_the_end(held: Any) -> Any:
    while isinstance(held[0], list):
        held = held[0]
    return held


_members, _names, _attributes = itemgetter(-2, -1), itemgetter("cells", "inner"), attrgetter("cells", "inner")


@pytest.mark.parametrize(
    ("holder", "parts"),
    few_on_clusters(
        [
            (Named, _attributes),
            (Slotted, _attributes),
            (lambda cells, inner: Rows([cells, inner]), _members),
            (_row, lambda row: (row[0], row.inner)),
            (lambda cells, inner: Fields(cells=cells, inner=inner), _names),
            (lambda cells, inner: OrderedDict(cells=cells, inner=inner), _names),
            (lambda cells, inner: deque([cells, inner]), _members),
            (lambda cells, inner: numpy.array([cells, inner, None], dtype=object)[:2], _members),
            (lambda cells, inner: [[(number,) for number in range(300)], cells, inner], _members),
            (_often, _at_the_end),
        ],
        2,
    ),
)
def test_whatever_holds_them(
    ex: Executor, holder: Callable[[Any, Any], Any], parts: Callable[[Any], Any]
) -> None:
    def run(held: Any) -> Any:
        cells, inner = parts(held)
        inner += 1
        cells[1] += 1
        return cells.tolist(), inner.tolist(), held

    def made() -> Any:
        cells = numpy.zeros(4)
        return holder(cells, cells[1:])

    for *found, held in (ex.submit(run, made()).result(SECONDS), *ex.map(run, [made()])):
        assert found == [[0, 2, 1, 1], [2, 1, 1]]
        assert run(held)[0] == [0, 4, 2, 2]


def test_views_that_are_arguments(ex: Executor) -> None:
    def run(u: Any, v: Any) -> list[float]:
        v[:] = 1
        u[0] = 7
        found: list[float] = [*u.tolist(), *v.tolist()]
        return found

    y = numpy.zeros(4)
    wanted = run(y, y[1:])
    z = numpy.zeros(4)
    assert ex.submit(run, z, z[1:]).result(SECONDS) == wanted


def test_views_of_a_part_of_what_is_large(ex: Executor) -> None:
    """They share what they have in common, and the rest stays here."""

    def run(parts: Any) -> list[float]:
        parts[0][:] = 1
        parts[1][::2] = 2
        return [float(part.sum()) for part in parts]

    def parts() -> list[Any]:
        large = numpy.zeros((1000, 1000))
        return [large[3, 5:15], large[3, 10:20], large[3:5, 12][::-1]]

    assert ex.submit(run, parts()).result(SECONDS) == run(parts())
    assert list(ex.map(run, [parts()])) == [run(parts())]


def test_parts_of_what_is_large_travel_by_themselves(ex: Executor) -> None:
    """Two small views do not take the whole array along."""
    large = numpy.arange(4_000_000.0)
    first, second = large[:10], large[-10:]
    assert ex.submit(lambda parts: sum(float(p.sum()) for p in parts), [first, second]).result(
        SECONDS
    ) == float(first.sum() + second.sum())


class Buffer:
    """Writes through views of its memory."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.part = memoryview(memory)[1:3]

    def write(self) -> list[Any]:
        self.part[1] = 7
        self.memory[1] = 5
        return [*self.memory, *self.part]


def written(buffer: Any) -> Any:
    return buffer.write(), buffer


@pytest.mark.parametrize(
    "make", [lambda: bytearray(4), lambda: array.array("d", range(4)), lambda: numpy.zeros(4)]
)
def test_views_of_memory(ex: Executor, make: Callable[[], Any]) -> None:
    wanted = Buffer(make()).write()
    for found, back in (
        ex.submit(written, Buffer(make())).result(SECONDS),
        *ex.map(written, [Buffer(make())]),
    ):
        assert found == wanted
        back.memory[2] = 9
        assert [*back.part] == [5, 9]


def test_a_view_of_a_part_of_much_memory(pool: Executor) -> None:
    large = bytearray(1 << 20)
    found = pool.submit(lambda view: view, memoryview(large)[3:5]).result(SECONDS)
    assert (type(found.obj), len(found.obj), found.readonly) == (bytearray, 2, False)
