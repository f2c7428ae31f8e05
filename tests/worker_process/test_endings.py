"""Ending anyhow, while tasks run or wait: each scenario is a program of its own with a hard limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.helpers import ends, run_script, start_script
from tests.support.programs import START, in_parts, of_parts

PARTS = {
    "while threads submit": """
sys.setswitchinterval(0.0005)  # each round ends soon, and at more moments
refused = []
for round in range(6):
    ex = Executor(2)
    futures = [[] for _ in range(4)]
    begun = threading.Barrier(5)
    def submit(mine):
        begun.wait()
        try:
            while True:
                mine.append(ex.submit(abs, -1))
        except RuntimeError as error:
            refused.append(str(error))
    threads = [threading.Thread(target=submit, args=(mine,)) for mine in futures]
    for t in threads: t.start()
    begun.wait()
    while not all(futures): pass
    ex.shutdown(wait=round % 2 == 0, cancel_futures=round % 3 == 0)
    for t in threads: t.join()
    for f in (f for mine in futures for f in mine):
        assert f.cancelled() or f.result(20) == 1
    ex.shutdown()
print(len(refused), set(refused))
sys.setswitchinterval(0.005)
""",
    "while a map is read": """
import itertools
ex = Executor(2)
results = ex.map(abs, range(-5000, 0), prefetch=100)
numbers = ex.map(abs, (-x for x in range(1000)), prefetch=10)
endless = ex.map(abs, itertools.count(), prefetch=100)
read, few = [next(results)], [next(endless)]
ex.shutdown()
read.extend(results)
print(read == list(range(5000, 0, -1)), list(numbers) == list(range(1000)))
try:
    for value in endless:
        few.append(value)
except RuntimeError as error:
    print(error)
print(few == list(range(len(few))))
""",
    "in every way": """
ex = Executor(2)
fs = [ex.submit(pow, i, 2) for i in range(100)]
ex.shutdown(wait=False)
ex.shutdown(wait=False)
ex.shutdown()
ex.shutdown(cancel_futures=True)
print(sum(f.result(0) for f in fs))

ex = Executor(2)  # from a callback, waiting
done = threading.Event()
ex.submit(abs, 1).add_done_callback(lambda f: (ex.shutdown(), done.set()))
assert done.wait(20)

ex = Executor(2)  # from another thread, twice at once
fs = [ex.submit(pow, i, 2) for i in range(100)]
threads = [threading.Thread(target=ex.shutdown) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
print(all(f.done() for f in fs))

try:
    with Executor(2) as ex:
        held = ex.submit(pow, 3, 2)
        processes = pids(ex)
        raise LookupError("out of the block")
except LookupError as error:
    print(error, held.result(0))
workers_gone(processes)

ex = Executor(2)  # paused: nothing would ever be over
ex.pause()
fs = [ex.submit(pow, i, 2) for i in range(10)]
ex.shutdown()
print(sum(f.result(0) for f in fs))
""",
    "by being dropped": """
processes, futures = [], []
for round in range(4):
    ex = Executor(2)
    processes += pids(ex)
    futures += [ex.submit(pow, i, 2) for i in range(50)]
    if round % 2:
        ex.itself = ex  # only the collector finds it
    gone = weakref.ref(ex)
    del ex
    gc.collect()
    assert gone() is None
print(sum(f.result(20) for f in futures))
workers_gone(processes)
iterator = Executor(2).map(abs, range(-10, 0))
gc.collect()
print(sum(iterator))
""",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one program says that ends executors in all of these ways."""
    out, err = run_script(tmp_path_factory.mktemp("endings"), START + in_parts(PARTS))
    assert not err, err
    return of_parts(out)


def test_shutdown_while_threads_submit(ended: dict[str, str]) -> None:
    assert ended["while threads submit"] == "24 {'cannot schedule new futures after shutdown'}\n"


def test_shutdown_while_a_map_is_read(ended: dict[str, str]) -> None:
    """What its input still has is taken then; of one without an end, the rest is refused where it would have been."""
    assert ended["while a map is read"] == "True True\ncannot schedule new futures after shutdown\nTrue\n"


def test_shutdown_in_every_way(ended: dict[str, str]) -> None:
    assert ended["in every way"] == "328350\nTrue\nout of the block 9\n285\n"


def test_executors_that_are_dropped(ended: dict[str, str]) -> None:
    assert ended["by being dropped"] == f"{4 * sum(i * i for i in range(50))}\n55\n"


WAYS = """
paused, waited, followed, apart = (Executor(1) for _ in range(4))
def say(way, i):
    print(way, i)

paused.pause()
fs = [paused.submit(say, "paused", i) for i in range(3)]

fs = [waited.submit(say, "waited for by a daemon thread", i) for i in range(3)]
never = cf.Future()
threading.Thread(target=lambda: cf.wait([*fs, never]), daemon=True).start()

def then(f):
    try:
        followed.submit(say, "submitted by a callback", 2)
    except RuntimeError:  # it came too late
        print("submitted by a callback", 2)
followed.submit(say, "submitted by a callback", 0)
followed.submit(say, "submitted by a callback", 1).add_done_callback(then)

submitted = threading.Event()
def submit():
    for i in range(3):
        apart.submit(say, "from a thread", i)
    submitted.set()
    sys.exit(0)
threading.Thread(target=submit).start()
submitted.wait()

with Executor(1) as ex:
    fs = [ex.submit(say, "within with", i) for i in range(3)]
    sys.exit(0)
"""
BESIDE_THREADS = """
ex = Executor(1)
for i in range(3):
    ex.submit(print, i)
def for_ever(act):
    try:
        while True:
            act()
    except RuntimeError:  # refused: the interpreter ends
        pass
for act in (lambda: ex.submit(abs, 1).result(), lambda: ex.submit(abs, 1), lambda: list(ex.map(abs, [1, 2]))):
    threading.Thread(target=for_ever, args=(act,), daemon=True).start()
"""


def test_exit(program: Callable[[str], str]) -> None:
    """As with the standard executors: what was submitted is finished first (see test_life.py as well)."""
    ways = (
        "paused",
        "waited for by a daemon thread",
        "submitted by a callback",
        "from a thread",
        "within with",
    )
    assert sorted(program(WAYS).splitlines()) == sorted(f"{way} {i}" for way in ways for i in range(3))


def test_exit_beside_daemon_threads_that_submit(program: Callable[[str], str]) -> None:
    assert sorted(program(BESIDE_THREADS).split()) == ["0", "1", "2"]


def test_signal_at_exit(tmp_path: Path) -> None:
    """Ctrl-C while the end of the program waits for work ends the wait, and leaves nothing behind."""
    code = (
        START
        + """
import time
ex = Executor(2)
processes = pids(ex)
fs = [ex.submit(time.sleep, 600) for _ in range(2)]
while sum(f.running() for f in fs) < 2:
    time.sleep(0.005)
print(*processes, flush=True)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
"""
    )
    with start_script(tmp_path, code) as process:
        assert process.stdout is not None
        processes = [int(pid) for pid in process.stdout.readline().split()]
        try:
            assert ends(process.pid)
        finally:
            process.kill()
        assert len(processes) == 2
        assert all(ends(pid) for pid in processes)
        process.communicate()
