"""Globals of a script that prepare its workers: an initializer sets them, as with the standard library's pools."""

from __future__ import annotations

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS, run_script
from tests.support.programs import in_parts, of_parts

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


PARTS = {
    "an initializer": """
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
print("as asserted")
""",
    "a call on each worker": START
    + """
def used(x):
    return model

def loaded():
    load(4)

with Executor(2) as ex:
    assert list(ex.map(used, range(4))) == [None] * 4
    ex.run_on_workers(loaded)
    assert list(ex.map(used, range(4))) == [[0, 1, 2, 3]] * 4
    assert list(ex.map(use, range(1))) == [(6, 9, {"a": 1}, 7, 0)]
print("as asserted")
""",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each part prints of one program."""
    out, err = run_script(tmp_path_factory.mktemp("globals"), START + in_parts(PARTS))
    assert not err, err
    return of_parts(out)


def test_what_an_initializer_sets(said: dict[str, str]) -> None:
    assert said["an initializer"] == "as asserted\n"


def test_what_a_call_on_each_worker_sets(said: dict[str, str]) -> None:
    assert said["a call on each worker"] == "as asserted\n"


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
