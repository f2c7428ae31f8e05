"""User code that forks: the kernel (multiprocessing, loaders, `os.fork`, subprocesses) or a worker, from within a task.

The child neither holds what is its parent's nor disturbs it, and says so at once when it is asked to.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS, run_script, shared_descriptors
from tests.support.programs import in_parts, of_parts

HOLDS = """
import gc, os, sys, threading, time, warnings
from cellmill import CellmillError, Executor
from tests.support.helpers import shared_descriptors, shared_maps
warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads

def descriptors():
    return set(shared_descriptors())

def maps():
    return set(shared_maps())

def passes(pid):
    assert os.waitpid(pid, 0)[1] == 0
"""


PARTS = {
    "a child holds nothing of ours": """
before = descriptors()
ex = Executor(2)
ex.submit(bytes, 100_000).result()
assert maps() and descriptors() > before
pid = os.fork()
if pid == 0:
    assert descriptors() <= before, descriptors() - before
    assert not maps(), maps()
    os._exit(0)
passes(pid)
print(len(ex.submit(bytes, 100_000).result()))
""",
    "subprocesses inherit nothing": """
import subprocess
LOOK = "import os; print(sorted(l for l in (os.readlink('/proc/self/fd/' + f) for f in os.listdir('/proc/self/fd')"
LOOK += " if os.path.lexists('/proc/self/fd/' + f)) if 'cellmill' in l or l.startswith(('socket', 'anon_inode'))))"
def look(**how):
    command = [sys.executable, "-S", "-E", "-c", LOOK]
    return subprocess.run(command, close_fds=False, stdout=subprocess.PIPE, text=True, **how).stdout.strip()
def shell():
    return os.popen("ls -l /proc/self/fd").read()
with Executor(2) as ex:
    ex.submit(bytes, 100_000).result()
    print(look(), look(preexec_fn=int), look(start_new_session=True))
    print(ex.submit(look).result(), ex.submit(look, start_new_session=True).result())
    for text in (shell(), ex.submit(shell).result()):
        print("cellmill" in text, "anon_inode" in text)
""",
    "a child uses the pool": """
ex = Executor(2)
kept = ex.submit(bytes, 100_000).result()
futures = [ex.submit(pow, i, 2) for i in range(500)]
pid = os.fork()
if pid == 0:
    try:
        ex.submit(pow, 1, 2)
    except Exception as error:
        print(type(error).__name__, flush=True)
    with Executor(1) as own:
        print(own.submit(pow, 3, 2).result(), flush=True)
    ex.shutdown()
    del ex, futures, kept
    os._exit(0)
passes(pid)
assert [f.result() for f in futures] == [i * i for i in range(500)]
assert ex.submit(pow, 5, 2).result() == 25
print("kernel goes on")
""",
    "a child exits normally": """
ending = Executor(1)
ending.submit(time.sleep, 0.5)
ending.shutdown(wait=False)  # the thread that ends it is not the child's
ex = Executor(2)
futures = [ex.submit(pow, i, 2) for i in range(500)]
pid = os.fork()
if pid == 0:
    sys.exit(0)
passes(pid)
assert [f.result() for f in futures] == [i * i for i in range(500)]
print("good")
""",
    "multiprocessing": """
import multiprocessing
ex = Executor(2)
futures = [ex.submit(pow, i, 2) for i in range(100)]
with multiprocessing.get_context("fork").Pool(2) as other:
    print(other.map(abs, [-1, -2]))
print(sum(f.result() for f in futures), ex.submit(pow, 2, 3).result())
""",
    "arrays that it was given": """
import numpy
ex = Executor(2)
array = ex.submit(numpy.ones, 1_000_000).result()
def total(_):
    return array.sum()
with multiprocessing.get_context("fork").Pool(2) as other:
    found = other.map(total, range(3))
print({float(f) for f in found}, ex.submit(abs, -1).result())
""",
}


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one program says that forks in all of these ways. Lines are written at once: children write none again."""
    start = f"{HOLDS}sys.stdout.reconfigure(line_buffering=True)\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]), prepend=":")
        out, err = run_script(tmp_path_factory.mktemp("forked"), start + in_parts(PARTS))
    assert not err, err
    return of_parts(out)


def test_child_holds_no_descriptor_or_memory_of_ours(forked: dict[str, str]) -> None:
    assert forked["a child holds nothing of ours"] == "100000\n"


def test_subprocesses_inherit_nothing(forked: dict[str, str]) -> None:
    assert forked["subprocesses inherit nothing"] == "[] [] []\n[] []\nFalse False\nFalse False\n"


def test_forked_child_leaves_the_pool_alone(forked: dict[str, str]) -> None:
    lines = forked["a child uses the pool"].splitlines()
    assert lines[1:] == ["9", "kernel goes on"]
    assert lines[0].endswith("Error")


def test_forked_child_that_exits_normally(forked: dict[str, str]) -> None:
    assert forked["a child exits normally"] == "good\n"


def test_multiprocessing_fork_beside_the_pool(forked: dict[str, str]) -> None:
    assert forked["multiprocessing"] == "[1, 2]\n328350 8\n"


def test_child_keeps_the_arrays_it_was_given(forked: dict[str, str]) -> None:
    assert forked["arrays that it was given"] == "{1000000.0} 1\n"


def test_a_task_that_forks(pool: Executor) -> None:
    def fork() -> int:
        child = os.fork()
        if child == 0:
            os._exit(4)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert pool.submit(fork).result() == 4
    assert pool.submit(tasks.double, 1).result() == 2


@pytest.fixture
def forking(script: Callable[..., str], tests_on_path: None) -> Callable[[str], str]:
    """Run a program that can look at what it holds."""
    return lambda code: script(HOLDS + code)


def test_child_forked_at_any_line_of_a_worker_s_start_holds_none(forking: Callable[[str], str]) -> None:
    out = forking(
        """
from cellmill.backends.local import pool
from cellmill.backends.scheduled import scheduler

STEPS = {pool.Pool._start_one, scheduler.Scheduler.add_worker, scheduler.Scheduler.close_passed}
CODES = {step.__code__ for step in STEPS}
forked = []

def follow(frame, event, argument):
    if frame.f_code not in CODES:
        return None
    if event == "line":
        pid = os.fork()
        if pid == 0:
            held = {name for name in descriptors() if "cellmill" in name}
            if held:
                print(frame.f_code.co_name, frame.f_lineno, held, flush=True)
            os._exit(len(held))
        passes(pid)
        forked.append(frame.f_code.co_name)
    return follow

threading.settrace(follow)  # first: the thread that starts a worker may start the next one, too
ex = Executor(1)
ex.submit(bytes, 100_000).result()
ex.set_workers(2)
ex.submit(bytes, 1).result()
while "close_passed" not in forked:
    ex.submit(bytes, 1).result()
print(set(forked) == {code.co_name for code in CODES})
"""
    )
    assert out == "True\n"


def test_everything_of_the_parents_is_refused(forking: Callable[[str], str]) -> None:
    out = forking(
        """
import asyncio, concurrent.futures
from cellmill import CellmillError, Executor, default_executor, parallel
ex = Executor(2)
for each in (ex, default_executor()):
    each.pause()  # until the child is there: a result that has come is its own
@parallel(batch=True)
def double(items):
    return [2 * x for x in items]
gathered = [double(i) for i in range(300)]
futures = [ex.submit(pow, i, 2) for i in range(500)]
futures[-1].add_done_callback(lambda f: print("called", os.getpid() == parent))
results = ex.map(abs, range(5000))
async def wait_for(future):
    await future
parent = os.getpid()
pid = os.fork()
if pid == 0:
    uses = dict(
        submit=lambda: ex.submit(abs, 1), options=lambda: ex.options(retries=1).submit(abs, 1),
        map=lambda: ex.map(abs, [1]), stats=ex.stats, workers=ex.workers, stop=ex.stop, restart=ex.restart,
        grow=lambda: ex.set_workers(3), pause=ex.pause, everywhere=lambda: ex.run_on_workers(int),
        preload=lambda: ex.preload("json"), result=lambda: futures[-1].result(), next=lambda: next(results),
        error=lambda: futures[-2].exception() and futures[-2].result(), batch=lambda: gathered[-1].result(),
        awaiting=lambda: asyncio.run(wait_for(futures[-3])), policy=lambda: setattr(ex, "policy", "random"),
    )
    for name, use in uses.items():
        try:
            print(name, use())
        except CellmillError as error:
            assert "forked" in str(error) and "make an Executor here" in str(error)
    done = concurrent.futures.wait([*futures, *gathered], timeout=20)
    assert not done.not_done
    assert not futures[-4].cancel() and not futures[-4].running()
    print(ex, double(4).result())  # the default executor is the child's own
    ex.shutdown()
    raise SystemExit
for each in (ex, default_executor()):
    each.resume()
passes(pid)
assert sum(f.result() for f in futures) == sum(i * i for i in range(500))
assert [f.result() for f in gathered] == list(range(0, 600, 2))
assert list(results) == list(range(5000))
"""
    )
    assert sorted(out.splitlines()) == ["<cellmill.Executor local, 2 workers> 8", "called True"]


def test_forks_beside_threads_that_submit(forking: Callable[[str], str]) -> None:
    """A lock that a thread holds at the fork is never released in the child: the child may wait for none."""
    out = forking(
        """
ex = Executor(2)
stop, go, rounds = threading.Event(), threading.Event(), []
def submit():
    while not stop.is_set():
        go.wait()
        for f in [ex.submit(pow, i, 2) for i in range(50)]:
            f.add_done_callback(id)
            f.result()
        list(ex.map(abs, range(100)))
        rounds.append(1)
threads = [threading.Thread(target=submit) for _ in range(3)]
for t in threads:
    t.start()
children = []
for i in range(5):
    before = len(rounds)
    go.set()
    while len(rounds) < before + 3:  # they are in the middle of anything
        time.sleep(0.001)
    pid = os.fork()
    if pid == 0:
        try:
            ex.submit(abs, 1)
        except CellmillError:
            pass
        gc.collect()
        if i % 4 == 0:
            with Executor(1) as own:
                assert list(own.map(abs, [-1, -2])) == [1, 2]
        raise SystemExit
    go.clear()  # what they do while the child ends is not of interest
    passes(pid)
stop.set()
go.set()
for t in threads:
    t.join()
print("all ended", ex.submit(pow, 3, 2).result())
"""
    )
    assert out == "all ended 9\n"


def test_multiprocessing_spawn_and_daemonised_children(forking: Callable[[str], str]) -> None:
    out = forking(
        """
import concurrent.futures, multiprocessing
if __name__ == "__main__":
    ex = Executor(2)
    futures = [ex.submit(pow, i, 2) for i in range(100)]
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.write(write, repr((sorted(n for n in descriptors() if "cellmill" in n), sorted(maps()))).encode())
        os._exit(0)
    passes(pid)
    print(os.read(read, 1000).decode())
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        print(other.submit(abs, -3).result())
    print(sum(f.result() for f in futures))
"""
    )
    assert out == "([], [])\n3\n328350\n"


# -- within tasks


def fork_and_wait(act: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_child_that_comes_back_from_its_task(pool: Executor, size: int) -> None:
    def twice() -> bytes:
        child = os.fork()
        if child == 0:
            return b"child" * size  # an error of the user's: two processes return from one task
        os.waitpid(child, 0)
        return b"right" * size

    for _ in range(3):
        assert pool.submit(twice).result(SECONDS) == b"right" * size
    assert [f.result(SECONDS) for f in [pool.submit(tasks.double, i) for i in range(50)]] == list(
        range(0, 100, 2)
    )


def test_a_child_of_a_task_holds_no_descriptors(pool: Executor) -> None:
    def in_child() -> int:
        return fork_and_wait(lambda: os._exit(len(shared_descriptors())))

    assert pool.submit(shared_descriptors).result(SECONDS)
    assert pool.submit(in_child).result(SECONDS) == 0


def test_a_child_of_a_task_prints(script: Callable[..., str]) -> None:
    out = script(
        """
        import os
        from cellmill import Executor
        def work():
            print("held", end=" ")
            child = os.fork()
            if child == 0:
                print("from the child", flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            print("from the task")
        with Executor(1) as ex:
            ex.submit(work).result()
        """
    )
    assert sorted(out.splitlines()) == ["from the child", "held from the task"]


def test_multiprocessing_in_a_task(pool: Executor) -> None:
    def work(n: int) -> list[int]:
        import multiprocessing

        with multiprocessing.get_context("fork").Pool(2) as other:
            return other.map(abs, range(-n, 0))

    assert pool.submit(work, 5).result(SECONDS) == [5, 4, 3, 2, 1]
    assert [len(r) for r in pool.map(work, [1, 2, 3])] == [1, 2, 3]
