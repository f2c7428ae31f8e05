"""Globals of a script that prepare its workers: an initializer sets them, as with the standard library's pools."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS, run_script

START = """
from cellmill import Executor

model = None
table = {}
limit = 1

def load(size):
    global model, limit, new
    model = list(range(size))
    limit = 9
    table["a"] = 1
    new = 7

def use(x):
    return (sum(model) if model else None), limit, dict(table), new, x

"""


def test_what_an_initializer_sets(tmp_path: Path) -> None:
    program = """
expected = [(6, 9, {"a": 1}, 7, x) for x in range(4)]
with Executor(2, initializer=load, initargs=(4,)) as ex:
    assert list(ex.map(use, range(4))) == expected
    assert [ex.submit(use, x).result() for x in range(4)] == expected
    assert list(ex.map(lambda x: use(x), range(4))) == expected
    limit = 5  # another value of the program's: that one holds
    assert ex.submit(use, 0).result() == (6, 5, {"a": 1}, 7, 0)
    ex.restart()
    assert ex.submit(use, 0).result() == (6, 5, {"a": 1}, 7, 0)
assert (model, table, limit) == (None, {}, 5)
"""
    assert run_script(tmp_path, START + program) == ("", "")


def test_what_a_call_on_each_worker_sets(tmp_path: Path) -> None:
    program = """
def used(x):
    return model

def loaded():
    load(4)

with Executor(2) as ex:
    assert list(ex.map(used, range(4))) == [None] * 4
    ex.run_on_workers(loaded)
    assert list(ex.map(used, range(4))) == [[0, 1, 2, 3]] * 4
    assert list(ex.map(use, range(1))) == [(6, 9, {"a": 1}, 7, 0)]
"""
    assert run_script(tmp_path, START + program) == ("", "")


def test_on_clusters_it_is_said() -> None:
    pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
    space: dict[str, object] = {"__name__": "__main__"}
    exec("held = None\ndef prepare():\n    global held\n    held = 3\ndef read():\n    return held\n", space)
    with (
        pytest.warns(
            RuntimeWarning, match="the initializer sets held in its own copy of this program's globals"
        ),
        Executor(1, backend="dask", initializer=space["prepare"]) as ex,  # type: ignore[arg-type]
    ):
        assert ex.submit(space["read"]).result(SECONDS) is None  # type: ignore[arg-type]
