"""Kernels that share a process of a cluster: what belongs to the process is each one's own while its tasks run."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from cellmill.backends.cluster import lane
from cellmill.backends.cluster.remote import turns as module
from cellmill.backends.cluster.remote.turns import Turn, Turns
from tests.support import tasks
from tests.support.dasks import all_there
from tests.support.helpers import SECONDS, Gate, start_script
from tests.support.waiting import until

# -- the order, without a cluster


class Guest:
    """Of a kernel with this name, in a process whose state is a list."""

    def __init__(self, name: str, state: list[str], owner: str = "") -> None:
        self.name = name
        self.owner = (owner or name).encode()
        self._state = state

    def agrees(self, other: Any) -> bool:
        return bool(self.name == other.name)

    def put_in(self) -> None:
        assert not self._state
        self._state.append(self.name)

    def take_out(self, alone: bool) -> None:
        assert self._state.pop() == self.name


class Asking:
    """A thread that asks for a turn."""

    def __init__(self, turns: Turns, guest: Guest) -> None:
        self.turn: Turn | None = None
        self.gives_up = threading.Event()
        self._thread = threading.Thread(target=self._ask, args=(turns, guest))
        self._thread.start()
        before = len(turns._waiting)
        until(lambda: not self._thread.is_alive() or len(turns._waiting) > 0 or before)

    def _ask(self, turns: Turns, guest: Guest) -> None:
        self.turn = turns.enter(guest, self.gives_up.is_set)

    def over(self) -> Turn | None:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        return self.turn

    @property
    def waits(self) -> bool:
        return self._thread.is_alive()


def test_the_same_may_be_there_at_once_and_others_after_them() -> None:
    state: list[str] = []
    turns = Turns()
    first = turns.enter(Guest("a", state))
    second = turns.enter(Guest("a", state, owner="of another kernel"))
    assert first is not None
    assert second is not None
    other = Asking(turns, Guest("b", state))
    turns.leave(first)
    turns.leave(first)  # also a second time
    assert other.waits
    assert state == ["a"]
    turns.leave(second)
    third = other.over()
    assert state == ["b"]
    assert third is not None
    turns.leave(third)
    assert state == []
    assert not turns.held


def test_who_waits_is_not_passed_over() -> None:
    """Tasks like those that run begin only while one is there that is waited for anyway."""
    state: list[str] = []
    turns = Turns()
    first = turns.enter(Guest("a", state))
    assert first is not None
    other = Asking(turns, Guest("b", state))
    until(lambda: turns._waiting)
    second = turns.enter(Guest("a", state))  # the first one was there before the other came
    assert second is not None
    turns.leave(first)
    late = Asking(turns, Guest("a", state))
    until(lambda: len(turns._waiting) == 2)
    assert late.waits
    assert other.waits
    turns.leave(second)
    came = other.over()
    assert came is not None
    assert state == ["b"]
    assert late.waits
    turns.leave(came)
    last = late.over()
    assert last is not None
    turns.leave(last)


def test_one_that_runs_may_wait_for_one_that_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while in which nothing ends, more of the same are let in."""
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)
    state: list[str] = []
    turns = Turns()
    first = turns.enter(Guest("a", state))
    assert first is not None
    other = Asking(turns, Guest("b", state))
    until(lambda: turns._waiting)
    second = turns.enter(Guest("a", state))
    turns.leave(first)
    third = Asking(turns, Guest("a", state)).over()  # which the second one waits for
    assert other.waits
    for each in (second, third):
        assert each is not None
        turns.leave(each)
    assert other.over() is not None


def test_who_does_not_want_it_any_more_keeps_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    state: list[str] = []
    turns = Turns()
    first = turns.enter(Guest("a", state))
    assert first is not None
    early = Asking(turns, Guest("b", state))
    until(lambda: turns._waiting)
    early.gives_up.set()
    assert early.over() is None
    assert not turns._waiting
    later = Asking(turns, Guest("c", state))
    until(lambda: turns._waiting)
    again = Asking(turns, Guest("b", state))
    until(lambda: len(turns._waiting) == 2)
    turns.leave(first)
    came = again.over()
    assert came is not None
    assert state == ["b"]
    turns.leave(came)
    last = later.over()
    assert last is not None
    assert state == ["c"]


# -- on a worker of Dask with several threads

KERNEL = """
import os, pathlib, sys, time
from cellmill import Executor

address, name, rounds, own = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "own"
folder = pathlib.Path(__file__).parent
os.chdir(folder)
(folder / "name.txt").write_text(name)
if own:
    for module in ["same_name", *(f"late_{i}" for i in range(rounds))]:
        (folder / f"{module}.py").write_text(f"NAME = {name!r}\\n")
    (folder / "same_package").mkdir()
    (folder / "same_package" / "__init__.py").write_text("")
    (folder / "same_package" / "part.py").write_text(f"from same_name import NAME\\n")
    import same_name


def look(turn):
    '''Everything that tells whose task this is, twice.'''
    told = set()
    for _ in range(2):
        told |= {os.environ["CELLMILL_TEST_KERNEL"], open("name.txt").read(), os.path.basename(os.getcwd())}
        if own:
            import importlib
            late = importlib.import_module(f"late_{turn}")
            from same_package.part import NAME
            told |= {same_name.NAME, importlib.import_module("same_name").NAME, late.NAME, NAME}
            told.add(os.path.basename(next(each for each in sys.path if each and "cellmill_of" in each)))
        time.sleep(0.001)
    return sorted(told)


with Executor(backend=address) as ex:
    os.environ["CELLMILL_TEST_KERNEL"] = name
    print("ready", flush=True)
    sys.stdin.readline()
    seen = []
    for turn in range(rounds):
        seen += ex.map(look, [turn] * 40)
        seen += [each.result(60) for each in [ex.submit(look, turn) for _ in range(10)]]
    wrong = [each for each in seen if each != [name]]
    assert len(seen) == 50 * rounds
    assert not wrong, wrong[:3]
"""

HOLDS = """
import sys
from cellmill import Executor

address, folder = sys.argv[1:]


def hold(folder):
    with open(f"{folder}/started", "wb", buffering=0) as started:
        started.write(b"s")
    with open(f"{folder}/open", "rb", buffering=0) as gate:
        gate.read(1)
    return 1


with Executor(backend=address) as ex:
    assert ex.submit(hold, folder).result(60) == 1
"""


@pytest.fixture
def client(threads: Any) -> Any:
    """Of a cluster that Cellmill did not start: one process with three threads."""
    client = all_there(threads)
    client.run(_load)
    return client


def _load() -> None:
    """Import what tasks will."""
    import cellmill.backends.cluster.remote.entry  # noqa: F401


def _found(dask_worker: Any = None) -> list[Any]:
    return [
        os.getcwd(),
        dict(os.environ),
        list(sys.path),
        sorted(sys.modules.keys() & {"same_name", "late_0"}),
    ]


@pytest.mark.parametrize("own", ["own", pytest.param("plain", marks=pytest.mark.long)])
def test_two_kernels_in_folders_of_their_own(client: Any, tmp_path: Path, own: str) -> None:
    """With modules of the same names in both: neither finds anything of the other's, and Dask's tasks of neither."""
    before = client.run(_found)
    started = []
    for name in ("cellmill_of_one", "cellmill_of_two"):
        (tmp_path / name).mkdir()
        arguments = [client.scheduler.address, name, "3", own]
        started.append(start_script(tmp_path / name, KERNEL, *arguments, stdin=-1))
    with started[0], started[1]:
        for each in started:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in started:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        said = [each.communicate(timeout=2 * SECONDS) for each in started]
    assert [each.returncode for each in started] == [0, 0], said
    assert client.run(_found) == before


def test_kernels_that_need_the_same_run_at_once(client: Any, tmp_path: Path) -> None:
    """Two in one folder, without modules of their own: as Dask's own tasks do."""
    gates = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        gates.append(Gate(tmp_path / name))
    path = tmp_path / "script.py"
    arguments = [[client.scheduler.address, gate.folder] for gate in gates]
    with (
        start_script(tmp_path, HOLDS, *arguments[0], cwd=tmp_path) as first,
        start_script(tmp_path, HOLDS, *arguments[1], cwd=tmp_path) as second,
    ):
        assert path.exists()
        for gate in gates:
            gate.wait_started()  # both are there, and none has been let through
        for gate in gates:
            gate.release()
        said = [each.communicate(timeout=SECONDS) for each in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said


def _sum_of_natives(folder: str) -> int:
    """Held, and then what needs places on this very worker."""
    from distributed import worker_client

    tasks.hold(folder)
    with worker_client() as client:
        return sum(client.gather(client.map(abs, range(-6, 0), pure=False)))


@pytest.mark.parametrize("initializer", [None, os.getpid])
def test_a_thread_may_join_while_tasks_of_its_kernel_run(
    client: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch, initializer: Any
) -> None:
    """It is told of the environment as it was when the executor was made, and those run in another one."""
    others, greeted, met = threading.Event(), threading.Semaphore(1), lane.greet

    def greet(one: Any, settings: bytes) -> bool:
        if not greeted.acquire(blocking=False):
            others.wait(SECONDS)
        return met(one, settings)

    monkeypatch.setattr(lane, "greet", greet)
    with Executor(backend=client, initializer=initializer) as ex:
        monkeypatch.setenv("SAID_LATER", "1")
        held = [ex.submit(tasks.hold, gate.folder)]
        gate.wait_started()
        others.set()
        held += [ex.submit(tasks.hold, gate.folder) for _ in range(2)]
        gate.wait_started(2)
        gate.release(3)
        assert [future.result(SECONDS) for future in held] == [None] * 3
        assert ex.run_on_workers(lambda: os.environ["SAID_LATER"]) == ["1"] * 3


def test_who_waits_for_a_turn_takes_no_place(client: Any, gate: Gate) -> None:
    """A task that waits for tasks of Dask's own gets them, while another kernel's tasks wait for it."""
    with Executor(backend=client) as first, Executor(backend=client) as second:
        assert second.submit(abs, -1).result(SECONDS) == 1
        waits = first.submit(_sum_of_natives, gate.folder)
        gate.wait_started()
        others = [second.submit(tasks.double, i) for i in range(30)]
        until(lambda: sum(client.run(_waiting).values()) == 3)
        gate.release()
        assert waits.result(SECONDS) == 21
        assert [each.result(SECONDS) for each in others] == [2 * i for i in range(30)]


def _waiting() -> int:
    return len(module.turns._waiting)


def test_what_waits_for_a_turn_can_be_stopped_and_is_not_late(
    client: Any, gate: Gate, tmp_path: Path
) -> None:
    """A limit of time counts while a task runs, not while it waits."""
    with Executor(backend=client) as first, Executor(backend=client) as second:
        assert second.submit(abs, -1).result(SECONDS) == 1
        held = first.submit(tasks.hold, gate.folder, 1)
        gate.wait_started()
        stopped = second.submit(tasks.count_call, str(tmp_path))
        limited = second.options(timeout=0.3).submit(abs, -2)
        until(lambda: sum(client.run(_waiting).values()))
        assert stopped.cancel(force=True)
        until(stopped.done)
        waited = time.monotonic()
        until(lambda: time.monotonic() - waited > 1)  # several times the limit
        assert not limited.done()
        gate.release()
        assert held.result(SECONDS) == 1
        assert limited.result(SECONDS) == 2
    assert not list(tmp_path.glob("call-*"))
