"""`share`: put once, and every task gets the object itself, whatever runs the tasks."""

from __future__ import annotations

import functools
import os
from itertools import repeat
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, PayloadError
from tests.contract.abilities import Abilities, each_cluster, elsewhere, outside
from tests.support import sharing
from tests.support.helpers import SECONDS, comes_down
from tests.support.sharing import Heavy, Model

numpy = pytest.importorskip("numpy")
MB = 1 << 20


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return Model(tmp_path, numpy.arange(MB // 8, dtype=float))


@each_cluster
def test_the_object_itself(ex: Executor, able: Abilities, model: Model) -> None:
    shared = cellmill.share(model)
    assert ex.submit(sharing.kinds, [shared, (1, shared)], {"a": shared}, key=shared).result(SECONDS) == [
        *("Model", "int", "Model", "Model", "Model")
    ]
    assert ex.submit(sharing.at, shared, ex.submit(abs, -7)).result(SECONDS) == 7.0
    assert list(ex.map(functools.partial(sharing.at, shared), range(50))) == list(range(50))
    assert list(ex.map(sharing.at, repeat(shared), range(50))) == list(range(50))

    def closure(x: int) -> float:
        return shared.at(x) + float(shared.weights[0])  # type: ignore[no-any-return]

    assert ex.submit(closure, 5).result(SECONDS) == 5.0
    assert list(ex.map(closure, range(50))) == list(range(50))
    shared.close()
    with pytest.raises(PayloadError, match="closed"):
        ex.submit(sharing.at, shared, 1).result(SECONDS)
    processes = model.loads()
    if able.apart:
        assert len(processes) == len(set(processes)) <= able.workers
        assert os.getpid() not in processes
    else:
        assert not processes


@elsewhere
def test_arrays_are_read_only(ex: Executor, model: Model) -> None:
    with ex.share(model) as shared:
        assert not any(ex.submit(sharing.writeable, shared).result(SECONDS) for _ in range(4))
        assert "Model, 1,04" in repr(shared)
    assert repr(shared) == "<cellmill.Shared, closed>"


@elsewhere
def test_what_does_not_come_back(ex: Executor, tmp_path: Path) -> None:
    with cellmill.share(Heavy(tmp_path)) as shared:
        for _ in range(4):
            with pytest.raises(
                PayloadError, match="shared Heavy cannot be unpickled in a worker: OSError: no such"
            ):
                ex.submit(sharing.who, shared).result(SECONDS)


@each_cluster
@outside
def test_it_leaves_the_store(ex: Executor, model: Model) -> None:
    keeper = ex._backend.keeper  # type: ignore[attr-defined]
    assert comes_down(lambda: keeper.outstanding, 0)
    shared = ex.share(model)
    assert "in the store" in repr(shared)
    assert keeper.outstanding == 1
    futures = [ex.submit(sharing.at, shared, i) for i in range(20)]
    del shared
    assert [f.result(SECONDS) for f in futures] == list(range(20))
    assert comes_down(lambda: ex.submit(abs, keeper.outstanding).result(SECONDS), 0)
