"""What an executor with a name leaves on a cluster of Dask: found by a later kernel, bounded, listed, removed."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.backends.cluster.left.keeping import Block
from cellmill.backends.cluster.left.reattaching import LeftBehind
from cellmill.magics.loop_body import Finished, LoopBody, Terms, loop_function
from tests.support import tasks
from tests.support.dasks import all_there
from tests.support.helpers import Gate, prepend_to_path
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")

KERNEL = """
import sys
import time

import cellmill

HELD = sys.argv[2]


def work(i):
    time.sleep(0.06)  # so long that each travels alone
    if i == 3:
        raise LookupError("not three")
    if i >= 20:
        with open(HELD, "rb", buffering=0) as held:
            held.read(1)
    return i * i


if __name__ == "__main__":
    ex = cellmill.Executor(backend=sys.argv[1], name="screen")
    print(ex.submit(abs, -1).result(), flush=True)
    list(ex.map(abs, [-1, -2]))
    list(ex.map(work, range(30), return_exceptions=True, chunksize=1))
"""


@pytest.fixture
def address(processes: Any) -> str:
    """A scheduler that ends with none of the kernels, and two workers."""
    return str(all_there(processes).cluster.scheduler_address)


def _left(address: str) -> dict[str, Any]:
    return {left.name: left for left in cellmill.left_behind(address)}


def test_a_later_kernel_finds_what_a_killed_one_has_left(address: str, gate: Gate, tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    with subprocess.Popen(
        [sys.executable, str(script), address, os.path.join(gate.folder, "open")], stdout=subprocess.PIPE
    ) as kernel:
        try:
            assert kernel.stdout is not None
            assert kernel.stdout.readline().strip() == b"1"
            told = until(
                lambda: (
                    (found := _left(address).get("screen")) and found.values + found.errors >= 22 and found
                )
            )
            assert (told.values, told.errors) == (21, 1)
            assert "21 values and 1 error, " in repr(told)
            alive = cellmill.reattach("screen", address)  # it stays there: its kernel may add to it
            assert [len(run.values) for run in alive] == [2, 19]
        finally:
            kernel.send_signal(signal.SIGKILL)
    gate.release(10)
    first, second = cellmill.reattach("screen", address)
    assert (first.name, first.values, first.errors, first.missing) == ("abs", {0: 1, 1: 2}, {}, [])
    assert (second.name, second.total) == ("work", 30)
    assert second.values == {i: i * i for i in range(20) if i != 3}
    assert list(second.errors) == [3]
    assert isinstance(second.errors[3], LookupError)
    assert second.errors[3].args == ("not three",)
    assert second.missing == list(range(20, 30))
    assert repr(second) == "<left of a map of work: 19 of 30 done, 1 failed, 10 without an outcome>"
    assert not _left(address)
    with pytest.raises(UsageError, match="nothing is left of an executor 'screen'"):
        cellmill.reattach("screen", address)


def test_what_nobody_collects_goes_when_its_time_is_over(address: str) -> None:
    with Executor(backend=address, name="brief", keep_seconds=0.5) as ex:
        assert list(ex.map(tasks.double, range(5))) == [0, 2, 4, 6, 8]
    with distributed.Client(address, set_as_default=False) as client:
        until(lambda: not client.list_datasets())
        until(lambda: not client.who_has())
        assert not cellmill.left_behind(client)


def test_no_more_is_kept_than_was_said(address: str) -> None:
    """The maps themselves go on, and the user is told."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with Executor(backend=address, name="large", keep_bytes=100_000) as ex:
            assert list(ex.map(bytes, [1_000] * 3)) == [bytes(1_000)] * 3
            until(lambda: (left := _left(address).get("large")) and left.values == 3)
            assert list(ex.map(bytes, [200_000] * 3)) == [bytes(200_000)] * 3
            assert list(ex.map(bytes, [10] * 3)) == [bytes(10)] * 3
            cellmill.set_default_executor(ex)
            try:
                (only,) = [run for run in cellmill.reattach("large") if run.values]
            finally:
                cellmill.set_default_executor(None)
    assert len([each for each in said if "keeps no further results" in str(each.message)]) == 1
    assert only.values == dict.fromkeys(range(3), bytes(1_000))
    assert cellmill.reattach("large", address)
    assert not _left(address)


def test_where_nothing_can_be_left(address: str) -> None:
    with pytest.raises(UsageError, match="ends with this kernel"):
        Executor(1, backend="dask", name="screen")
    with pytest.raises(TypeError, match="name= is an option of clusters"):
        Executor(1, name="screen")
    with pytest.raises(UsageError, match="keep_seconds"):
        Executor(backend=address, name="screen", keep_seconds=0)
    with pytest.raises(UsageError, match="clusters of Dask"):
        cellmill.left_behind("local")
    with pytest.raises(UsageError, match="which cluster"):
        cellmill.reattach("screen")


def test_what_cannot_be_read_stays_until_it_can(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says to call again: then the values are there."""
    (tmp_path / "parts_of_a_screen.py").write_text(
        "class Part:\n    def __init__(self, i): self.i = i\ndef made(i): return Part(i)\n"
    )
    with monkeypatch.context() as there:
        prepend_to_path(there, tmp_path)
        module = importlib.import_module("parts_of_a_screen")
        with Executor(backend=address, name="parts") as ex:
            list(ex.map(module.made, range(3)))
    del sys.modules["parts_of_a_screen"], module
    (unread,) = cellmill.reattach("parts", address)
    assert (unread.values, sorted(unread.errors)) == ({}, [0, 1, 2])
    assert "parts_of_a_screen" in str(unread.errors[0])
    assert "call reattach again" in str(unread.errors[0])
    prepend_to_path(monkeypatch, tmp_path)
    (run,) = cellmill.reattach("parts", address)
    assert ({place: part.i for place, part in run.values.items()}, run.name) == ({0: 0, 1: 1, 2: 2}, "made")
    assert not _left(address)


def test_places_are_those_of_the_input_also_where_a_cache_had_results(address: str) -> None:
    with Executor(backend=address, name="kept") as ex:
        half = ex.options(memo=True)
        assert list(half.map(tasks.double, [1, 2, 3])) == [2, 4, 6]
        assert list(half.map(tasks.double, [1, 5, 2, 6])) == [2, 10, 4, 12]
        assert list(half.map(tasks.double, (i for i in [1, 7]))) == [2, 14]
    _, listed, streamed = cellmill.reattach("kept", address)
    assert (listed.values, listed.total, listed.missing) == ({1: 10, 3: 12}, 4, [0, 2])
    assert (streamed.values, streamed.total) == ({1: 14}, None)


def test_what_went_with_a_worker_is_counted(address: str) -> None:
    with Executor(backend=address, name="frail") as ex:
        list(ex.map(tasks.double, range(3)))
    with distributed.Client(address, set_as_default=False) as client:
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        until(lambda: not client.who_has())
        found = cellmill.reattach("frail", client)
        assert (found, found.lost) == ([], 3)
        assert not cellmill.left_behind(client)


def test_of_a_loop_the_values_of_its_items_are_left(address: str) -> None:
    """And not the record of what they change."""

    class Doubled(LoopBody):
        def __call__(self, item: Any) -> Any:
            return Finished([2 * item, 0, item]) if item else [0, 0, item]

    terms = Terms("t", frozenset(), (), (), frozenset(), here=False, looking=frozenset())
    body = Doubled("pfor x in range(3)", compile("", "cell", "exec"), {}, "", terms)
    with Executor(backend=address, name="loop") as ex:
        assert [type(left) for left in ex.map(loop_function(body), range(3))] == [list, Finished, Finished]
    (run,) = cellmill.reattach("loop", address)
    assert run.values == {0: 0, 1: 2, 2: 4}


def test_all_of_it_is_told_to_be_there_until_its_first_part_goes() -> None:
    blocks = [Block("long", "s", number, 1e9 + 3600 * number, 10, 1, 0) for number in (1, 2, 3)]
    told = LeftBehind("long", blocks)
    assert told.expires.timestamp() == 1e9 + 3600
    assert "3 values and 0 errors" in repr(told)
