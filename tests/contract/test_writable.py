"""Results and arguments are their holder's own to write to, whatever their size."""

from __future__ import annotations

import pytest

from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import each_cluster, elsewhere, few_on_clusters
from tests.support.helpers import SECONDS

numpy = pytest.importorskip("numpy")
SIZES = [  # of 8 bytes each
    *few_on_clusters([20_000, 5, 500, 1_000, 5_000]),
    pytest.param(300_000, marks=each_cluster),
    pytest.param(3_000_000, marks=pytest.mark.long),
]


@pytest.mark.parametrize("size", SIZES)
def test_arguments(ex: Executor, size: int) -> None:
    array = numpy.arange(float(size))
    expected = array - array.mean()
    assert (ex.submit(work.centred, array.copy()).result(SECONDS) == expected).all()
    found = list(ex.map(work.centred, [array.copy() for _ in range(4)]))
    assert all((one == expected).all() for one in found)


@pytest.mark.parametrize("size", SIZES)
def test_results(ex: Executor, size: int) -> None:
    futures = [ex.submit(numpy.full, size, i) for i in range(4)]
    for results in ([f.result(SECONDS) for f in futures], list(ex.map(numpy.full, [size] * 4, range(4)))):
        for i, array in enumerate(results):
            assert (array == i).all()
            array[0] = 100 + i
            array *= 2
        assert [int(array[0]) for array in results] == [200, 202, 204, 206]
        assert [int(array[-1]) for array in results] == [0, 2, 4, 6]


@pytest.mark.parametrize("size", SIZES)
@elsewhere
def test_results_of_others(ex: Executor, size: int) -> None:
    """Each task that takes a result has it as it was made."""
    made = ex.submit(numpy.zeros, size)
    assert [ex.submit(work.add_in_place, made, i).result(SECONDS) for i in range(1, 7)] == [
        i * size for i in range(1, 7)
    ]
    assert not made.result(SECONDS).any()


@pytest.mark.parametrize("rows", [10, 20_000])
def test_frames(ex: Executor, rows: int) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": numpy.arange(rows), "b": numpy.ones(rows)})
    back = ex.submit(work.doubled_frame, frame).result(SECONDS)
    assert back["b"].sum() == 2 * rows
    back.loc[0, "a"] = 5
    assert back.loc[0, "a"] == 5
