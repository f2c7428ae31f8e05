"""Tasks on a real Ray of this machine: the one of all tests, which also serves as one that Cellmill did not start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.cluster.engines.ray import RayEngine, find
from cellmill.process_context.process_tree import descendants
from tests.support import tasks
from tests.support.helpers import Gate, comes_down, start_script
from tests.support.rays import OwnRay, bridges, left_of, processes
from tests.support.staying import make, objects_of_ray

pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")

SECONDS = 120.0  # longest wait; a worker of Ray takes seconds to start, on a busy machine many
SOON = 15.0  # longest wait for the end of processes


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture(scope="module")
def own(own_ray: OwnRay) -> Executor:
    return own_ray.executor


def test_calls_maps_batches_and_what_hangs_on_them(own: Executor) -> None:
    assert own.backend == "ray"
    assert own.max_workers == 2
    first, second = own.submit(tasks.double, 2), own.submit(tasks.double, 3)
    assert own.submit(tasks.add, first, second).result(SECONDS) == 10
    assert list(own.map(tasks.double, range(3000))) == [2 * x for x in range(3000)]
    assert list(own.options(batch=True).map(lambda xs: [x + 1 for x in xs], range(500))) == list(
        range(1, 501)
    )
    with pytest.raises(LookupError, match="as asked"):
        own.submit(tasks.fail).result(SECONDS)
    assert len(set(own.run_on_workers(tasks.pid))) == 2


def answering(ex: Executor) -> set[int]:
    """Return the workers' processes; none where one of them ends before it answers."""
    with contextlib.suppress(cellmill.BackendError):
        return set(ex.run_on_workers(os.getpid))
    return set()


def begin_and_sleep(begun: str) -> None:
    Path(begun).touch()
    time.sleep(1000)


def test_another_actor_stands_in_for_one_that_is_stopped(own: Executor, tmp_path: Path) -> None:
    """One that is there by then: a process needs seconds to start."""
    pool = own._backend.pool  # type: ignore[attr-defined]
    deaf = own.submit(begin_and_sleep, str(tmp_path / "begun"))
    wait_until((tmp_path / "begun").exists, "it has begun")
    wait_until(lambda: len(pool.remotes) == 3, "there is one to spare")
    (spare,) = [remote.pid for key, remote in list(pool.remotes.items()) if key not in pool.lanes]
    assert own.stats().workers == len(own.workers()) == 2
    deaf.cancel(force=True)
    wait_until(lambda: spare in answering(own) and own.stats().workers == 2, "it takes part")
    wait_until(lambda: len(pool.remotes) == 3, "there is another one to spare")
    own.set_workers(1)
    wait_until(lambda: len(pool.remotes) == 2, "one has gone")
    own.set_workers(2)
    wait_until(lambda: len(pool.remotes) == 3 and own.stats().workers == 2, "one is back")


def _name() -> str:
    import ray

    return str(ray.get_runtime_context().get_task_name())


def test_rays_dashboard_has_the_names_of_functions(own: Executor) -> None:
    assert own.submit(_name).result(SECONDS) == "_name"


def test_arrays_there_and_back(own: Executor) -> None:
    array = np.arange(1 << 19, dtype=np.float64)
    back = own.submit(tasks.same, array).result(SECONDS)
    assert np.array_equal(back, array)


def test_what_tasks_print_is_theirs(own: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    own.submit(print, "said by a task").result(SECONDS)
    wait_until(lambda: "said by a task" in read_all(capfd), "nothing was printed")
    assert "pid=" not in "".join(HEARD)


HEARD: list[str] = []
KILLED = {"raylet": "/raylet/raylet ", "bridge": "raybridge"}


def read_all(capfd: pytest.CaptureFixture[str]) -> str:
    out, err = capfd.readouterr()
    HEARD.extend((out, err))
    return "".join(HEARD)


def wait_replaced(own: Executor, before: set[int]) -> None:
    """Wait until one of two workers has a successor: a killed actor is listed until Ray tells of its end."""
    wait_until(
        lambda: len(own.workers()) == 2 and len(pids(own) - before) == 1,
        "the actor was not replaced",
    )


def with_spares(ex: Executor) -> set[int]:
    """Return the processes of its actors, also of one to spare."""
    return {remote.pid for remote in list(ex._backend.pool.remotes.values())}  # type: ignore[attr-defined]


def pids(own: Executor) -> set[int]:
    return {each.pid for each in own.workers()}


def test_a_killed_actor_takes_its_task_along_and_is_replaced(own: Executor, gate: Gate) -> None:
    before = pids(own)
    ahead = own.submit(tasks.hold, gate.folder, "kept")
    gate.wait_started()
    victim = own.submit(tasks.die, "SIGKILL")
    with pytest.raises(cellmill.WorkerLostError, match=r"die.*its process ended from one moment to the next"):
        victim.result(SECONDS)
    gate.release(1000)
    assert ahead.result(SECONDS) == "kept"
    assert sorted(own.map(tasks.double, range(50))) == [2 * x for x in range(50)]
    wait_replaced(own, before)


def test_a_task_past_its_limit_does_not_hold_the_pool(own: Executor, gate: Gate) -> None:
    before = pids(own)
    late = own.options(timeout=0.3).submit(tasks.hold, gate.folder)
    with pytest.raises(cellmill.TaskTimeoutError, match="hold"):
        late.result(SECONDS)
    assert own.submit(tasks.double, 4).result(SECONDS) == 8
    wait_replaced(own, before)


def test_a_borrowed_ray_is_left_as_it_was(own_ray: OwnRay, on_ray: Executor) -> None:
    """What stays of its results comes at the end, and that of another executor beside it stays."""
    own = own_ray.executor
    wait_until(
        lambda: own_ray.actors == with_spares(own) | pids(on_ray) and len(own.workers()) == 2,
        "the workers are not there",
    )
    before, others, objects = own_ray.actors, bridges(), own.submit(objects_of_ray).result(SECONDS)
    with Executor(1, backend=own_ray.backend) as guest:
        assert guest.submit(tasks.double, 21).result(SECONDS) == 42
        ours = own_ray.actors - before
        assert guest.submit(tasks.pid).result(SECONDS) in ours
        (second,) = bridges() - others
        beside, last = on_ray.submit(make, 4), on_ray.submit(make, 5)
        kept = guest.submit(make, 3)
        kept.exception(SECONDS)
        assert (beside.result(SECONDS)[1] == 4).all()
    assert (kept.result()[1] == 3).all()
    assert (last.result(SECONDS)[1] == 5).all()
    assert not left_of({second, *ours}, 10)
    assert before == own_ray.actors
    assert own.submit(tasks.double, 5).result(SECONDS) == 10
    del kept, beside, last
    assert comes_down(lambda: own.submit(objects_of_ray).result(SECONDS), objects)


@pytest.mark.long
def test_a_borrowed_ray_is_left_by_a_kernel_that_is_killed(own_ray: OwnRay, tmp_path: Path) -> None:
    code = """
        import sys, time, cellmill

        def runs(told):
            print("here", file=open(told, "w"), flush=True)
            time.sleep(1000)

        with cellmill.Executor(1, backend=sys.argv[1]) as ex:
            kept = ex.submit(bytes, 2_000_000)
            print(kept.exception(60), flush=True)
            ex.submit(runs, sys.argv[2]).result(1000)
    """
    own, told = own_ray.executor, tmp_path / "told"
    before, others, objects = own_ray.actors, bridges(), own.submit(objects_of_ray).result(SECONDS)
    with start_script(tmp_path, code, own_ray.backend, str(told)) as kernel:
        assert kernel.stdout is not None
        assert kernel.stdout.readline() == "None\n"
        wait_until(told.exists, "the task began")
        ours = {pid for pid, line in processes(own_ray.bridge).items() if "runs" in line}
        assert ours  # an actor that runs a task has its name
        kernel.kill()
    assert not left_of(ours, SOON)
    wait_until(lambda: own_ray.actors <= before and bridges() == others, "nothing of it runs")
    wait_until(lambda: own.submit(objects_of_ray).result(SECONDS) == objects, "no value of it stays")
    assert own.submit(abs, -3).result(SECONDS) == 3


def test_an_address_without_a_server() -> None:
    begun = time.monotonic()
    with pytest.raises(cellmill.BackendError, match=r"127.0.0.1:9 cannot be reached.*ray status"):
        Executor(1, backend="ray:127.0.0.1:9")
    assert time.monotonic() - begun < 30
    assert not [line for line in processes(os.getpid()).values() if "127.0.0.1:9" in line]


def test_options_that_ray_does_not_have() -> None:
    with pytest.raises(TypeError, match=r"the ray backend has no option 'actors'. Did you mean 'actor'\?"):
        Executor(1, backend="ray", actors={})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        ("local", None),
        ("head:6379", "head:6379"),
        ("ray:head:6379", "head:6379"),
        ("ray://head:10001", "ray://head:10001"),
        ("auto", "auto"),
    ],
)
def test_addresses(given: str | None, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert find(given) == found


def test_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "elsewhere:6379")
    assert find(None) == "elsewhere:6379"
    assert find("ray:head:1") == "head:1"
    assert find("local") is find("ray:local") is None
    assert not RayEngine(None).owns


def test_no_address() -> None:
    with pytest.raises(cellmill.UsageError, match="'head' is no address of a Ray cluster"):
        find("ray:head")


def test_without_ray() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "import cellmill\n"
        "try:\n    cellmill.Executor(backend='ray')\n"
        "except cellmill.BackendError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install 'cellmill[ray]'" in said.stdout


@pytest.mark.long
@pytest.mark.parametrize("how", ["kernel", "kernel of a stopped bridge", "raylet", "bridge"])
def test_what_is_killed_takes_all_along_but_the_kernel(tmp_path: Path, how: str) -> None:
    code = """
        import os, sys, cellmill
        ex = cellmill.Executor(1, backend="ray")
        ex.submit(os.getpid).result()
        print("up", flush=True)
        sys.stdin.readline()
        print(ex.submit(abs, -3).result(200), flush=True)
        ex.shutdown()
    """
    with start_script(tmp_path, code, stdin=subprocess.PIPE) as kernel:
        assert kernel.stdout is not None
        assert kernel.stdin is not None
        assert kernel.stdout.readline() == "up\n"
        everything = processes(kernel.pid)
        (bridge,) = [pid for pid, line in everything.items() if KILLED["bridge"] in line]
        if how.startswith("kernel"):
            if how != "kernel":
                os.kill(bridge, signal.SIGSTOP)
            kernel.kill()
            kernel.wait()
            os.kill(bridge, signal.SIGCONT)
        else:
            of_ray = processes(bridge)
            (victim,) = [
                pid for pid, line in {**of_ray, bridge: KILLED["bridge"]}.items() if KILLED[how] in line
            ]
            os.kill(victim, signal.SIGKILL)
            assert not left_of(
                {bridge, *of_ray}, SECONDS
            )  # what guards the kernel's files stays as long as it does
            kernel.stdin.write("\n")
            kernel.stdin.flush()
            out, said = kernel.communicate(timeout=2 * SECONDS)
            assert out == "3\n"  # another Ray, started by itself
            assert "the local Ray is lost" in said
    assert not left_of(set(everything), SOON)


@pytest.mark.long
def test_workers_come_and_go(own: Executor) -> None:
    own.set_workers(3)
    wait_until(lambda: len(own.workers()) == 3, "no third worker")
    own.set_workers(2)
    wait_until(lambda: len(own.workers()) == 2, "the third stays")
    assert len(set(own.run_on_workers(tasks.pid))) == 2


@pytest.mark.long
def test_a_node_that_dies_as_it_starts() -> None:
    """Another one is started; the call that makes the executor succeeds."""
    before = bridges()
    killed = threading.Event()

    def kill_the_first() -> None:
        deadline = time.monotonic() + SECONDS
        while not killed.is_set() and time.monotonic() < deadline:
            for bridge in bridges() - before:
                for pid in descendants(bridge):
                    with contextlib.suppress(OSError):
                        if Path(f"/proc/{pid}/exe").readlink().name == "raylet":
                            os.kill(pid, signal.SIGKILL)
                            killed.set()
                            break

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    with Executor(1, backend="ray") as pool:
        assert pool.submit(abs, -1).result(SECONDS) == 1
    killer.join()
    assert killed.is_set()
