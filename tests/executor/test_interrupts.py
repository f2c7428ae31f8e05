"""Stop in a notebook is KeyboardInterrupt at any instruction: it loses no task and leaves the pool as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.helpers import Gate, run_script
from tests.support.programs import WITH_STOPS, in_parts, of_parts

PARTS = {
    "results": """
begin()
rounds = 12 if MANY else 3
for round in range(rounds):
    called, calls = [], threading.Semaphore(0)
    def note(future):
        called.append(future)
        calls.release()
    futures = [ex.submit(tasks.double, i) for i in range(8000)]
    for future in futures[::40]:
        future.add_done_callback(note)
    allow(40, 0.0003 + 0.0001 * round)
    assert collect(futures) == [2 * i for i in range(8000)]
    allow(0, 0)
    assert all(calls.acquire(timeout=20) for _ in range(200)), len(called)
    assert set(called) == set(futures[::40]), len(called)
ex.shutdown()
stats = ex.stats()
assert stats.submitted == stats.done == stats.succeeded == rounds * 8000, stats
print(hits > 5, ex._backend.slots.entries.count(None) == len(ex._backend.slots.free))
""",
    "waiting beside it": """
begin()
for round in range(100):
    if round >= 4 and hits > 5:
        break  # on a slow machine few of them hit
    futures = [ex.submit(tasks.double, i) for i in range(6000)]
    seen = []
    def watch():
        seen.append(len(concurrent.futures.wait(futures, timeout=20).done))
        seen.append(len(set(concurrent.futures.as_completed(futures, timeout=20))))
    thread = threading.Thread(target=watch)
    thread.start()
    allow(40, 0.0004)
    collect(futures)
    allow(0, 0)
    thread.join(30)
    assert seen == [6000, 6000], seen
ex.shutdown()
print(hits > 5)
""",
    "maps and batches": """
begin()
def doubled(items): return [2 * i for i in items]
for rounds in range(100):
    if rounds >= (10 if MANY else 2) and hits > 5:
        break  # few of them hit where results come soon
    results = ex.map(tasks.double, range(50_000), chunksize=20)
    futures = [ex.options(batch=True).submit(doubled, i) for i in range(1000)]
    allow(40, 0.0005)
    assert collect(futures) == [2 * i for i in range(1000)]
    allow(0, 0)
    assert list(results) == [2 * i for i in range(50_000)]
ex.shutdown()
stats = ex.stats()
assert stats.submitted == stats.done == stats.succeeded == rounds * 51_000, stats
print(hits > 5)
""",
    "a map": """
begin()
rounds = 100 if MANY else 20  # twenty of them are at different times
ended = 0
for round in range(rounds):
    try:
        results = ex.map(tasks.double, range(20_000))
        allow(1, 0.0002 + 0.0002 * (round % 20))
        for r in results:
            pass
        allow(0, 0)
    except KeyboardInterrupt:
        ended += 1
    del results
allow(0, 0)
assert ended > rounds / 5, ended
assert ex.submit(tasks.double, 1).result(30) == 2
assert list(ex.map(tasks.double, range(1000))) == [2 * i for i in range(1000)]
ex.shutdown()
stats = ex.stats()
assert stats.submitted == stats.done, stats
assert stats.failed == 0, stats
from cellmill import run_registry
assert not run_registry.active_runs(), run_registry.active_runs()
print("good")
""",
    "submitting": """
begin()
count = 20_000 if MANY else 10_000
futures = []
allow(100, 0.0005)
while len(futures) < count:
    try:
        while len(futures) < count:
            futures.append(ex.submit(tasks.double, len(futures)))
    except KeyboardInterrupt:
        hits += 1
allow(0, 0)
assert collect(futures) == [2 * i for i in range(count)]
assert list(ex.map(tasks.double, range(9000))) == [2 * i for i in range(9000)]
ex.shutdown()
stats = ex.stats()
assert stats.submitted == stats.done, stats
assert len(ex._backend.slots.entries) <= 2 * count, len(ex._backend.slots.entries)
print(hits > 5)
""",
    "the table of tasks": """
begin()
from array import array
slots = ex._backend.slots

def lines(frame, event, _):
    global left
    if event == "line" and frame.f_code is slots.take.__code__:
        left -= 1
        if not left:
            signal.raise_signal(signal.SIGINT)
    return lines

for at in range(1, 100):
    slots.entries[:], slots.free = [], array("I")  # no task is running
    left = at
    try:
        sys.settrace(lines)
        slots.take()
        break
    except KeyboardInterrupt:
        sys.settrace(None)
    assert len(slots.entries) - len(slots.free) in (0, 1), (at, len(slots.entries), len(slots.free))
sys.settrace(None)
print(at > 6, len(slots.entries) - len(slots.free))
""",
    "cancelling": """
begin()
rounds = 10 if MANY else 5
cancelled = 0
for round in range(rounds):
    futures = [ex.submit(tasks.double, i) for i in range(3000)]
    allow(40, 0.0003)
    place = len(futures)
    while place:
        try:
            while place:
                futures[place - 1].cancel()
                place -= 1
        except KeyboardInterrupt:
            hits += 1
    allow(0, 0)
    done = concurrent.futures.wait(futures, timeout=20).done
    assert len(done) == 3000
ex.shutdown()
stats = ex.stats()
assert stats.submitted == stats.done == 3000 * rounds, stats
assert stats.failed == 0
print(hits > 5)
""",
    "a map that is made": """
begin()
rounds = 20 if MANY else 8
from cellmill import run_registry

def items():
    yield 60
    while not ex.stats().running:
        ex.stats()
    raise KeyboardInterrupt

for round in range(rounds):
    run_registry.bump_epoch()
    try:
        ex.map(tasks.spin, items(), chunksize=1)
    except KeyboardInterrupt:
        assert run_registry.stop_cell() == 1
    while run_registry.active_runs():
        ex._backend.resolver.resolve()
stats = ex.stats()
assert stats.cancelled == stats.submitted == rounds, stats
ex.shutdown()
print("good")
""",
    "pickling": """
begin()
rounds = 20 if MANY else 10
class Stops:  # at its n-th pickling
    def __init__(self, at):
        self.left = at
    def __reduce__(self):
        self.left -= 1
        if not self.left:
            signal.raise_signal(signal.SIGINT)
        return int, ()
def submit(*args):
    try:
        return ex.submit(tasks.same, *args).result(30)
    except BaseException as error:
        return type(error).__name__
class Words(Exception):  # whose text is where Stop comes
    def __str__(self):
        signal.raise_signal(signal.SIGINT)
class Speaks:
    def __reduce__(self):
        raise Words
lock = threading.Lock()
print(submit(Stops(1)), submit(Stops(2)), submit(Speaks()), submit([Speaks()]))
shared = share([Stops(2), lock])
print(submit(shared), submit(shared), submit(shared), submit(share(Speaks())))
print({submit({"a": [Stops(at), lock]}) for at in range(1, 7)}, submit([lock]))
words, errors = [["word"] * 20 for _ in range(300)], []
for round in range(rounds):
    allow(5, 0.0004 + 0.0002 * round)
    for _ in range(10):
        try:
            ex.submit(tasks.same, [words, lock])
        except KeyboardInterrupt:
            hits += 1
        except Exception as error:
            errors.append(str(error))
    allow(0, 0)
assert errors and not [text for text in errors if "KeyboardInterrupt" in text], errors
print(hits > 5, submit(3))
""",
    "an item of a batch": """
begin()
def halted(folders):
    return [tasks.hold(folder, 4) for folder in folders]
def same(items): return items
folder = sys.argv[2]
batch = ex.options(batch=True)
held = batch.submit(halted, folder)
with Executor(2, backend="threads") as other:
    for wait in (
        lambda: ex.submit(abs, held).result(30),
        lambda: batch.submit(same, held).result(30),
        lambda: list(ex.map(abs, [1, held], chunksize=1)),
        lambda: list(ex.options(after=[held]).map(abs, [1])),
        lambda: other.submit(abs, held).result(30),
        lambda: list(other.map(abs, [1, held])),
    ):
        allow(1, 0.05)
        try:
            wait()
            print("over too early")
        except KeyboardInterrupt:
            print("stopped")
    allow(0, 0)
    with open(os.path.join(folder, "open"), "wb", buffering=0) as opened:
        opened.write(b"x")
    print(held.result(30), list(other.map(abs, [held])))
""",
    "the end of an executor": """
begin()
from tests.support.waiting import until

def stop_the_end(number, frame):
    while frame is not None and frame.f_code.co_name != "__exit__":
        frame = frame.f_back
    if frame is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(signal.SIGINT)

threads = threading.active_count()
signal.signal(signal.SIGALRM, stop_the_end)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
try:
    with Executor(1) as other:
        held = other.submit(tasks.hold, sys.argv[3], 4)
        until(held.running)
except KeyboardInterrupt:
    print("stopped", held.done())
with open(os.path.join(sys.argv[3], "open"), "w") as opened:
    opened.write("x")
until(lambda: threading.active_count() <= threads and not other.workers())
print(held.result(), other.closed)
other.shutdown()
""",
}


@pytest.fixture(scope="module", params=["few", pytest.param("many", marks=pytest.mark.long)])
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each part prints of one program, in which Stop comes at few other moments or at many."""
    folder = tmp_path_factory.mktemp("interrupts")
    gates = []
    for name in ("one", "other"):
        (folder / name).mkdir()
        gates.append(Gate(folder / name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]), prepend=":")
        args = (request.param, *(gate.folder for gate in gates))
        out, err = run_script(folder, WITH_STOPS + in_parts(PARTS), *args, limit=300)
    for gate in gates:
        gate.close()
    assert not err, err
    return of_parts(out)


def test_result_loses_no_future(said: dict[str, str]) -> None:
    assert said["results"] == "True True\n"


def test_others_who_wait_are_told(said: dict[str, str]) -> None:
    assert said["waiting beside it"] == "True\n"


def test_maps_and_batches_beside_it(said: dict[str, str]) -> None:
    assert said["maps and batches"] == "True\n"


def test_an_interrupted_map_ends_and_the_pool_goes_on(said: dict[str, str]) -> None:
    assert said["a map"] == "good\n"


def test_submitting(said: dict[str, str]) -> None:
    assert said["submitting"] == "True\n"


def test_the_table_of_tasks_grows_whole(said: dict[str, str]) -> None:
    """Stop at any line of its growth: what it holds is told apart from what is free as before."""
    assert said["the table of tasks"] == "True 1\n"


def test_cancelling(said: dict[str, str]) -> None:
    assert said["cancelling"] == "True\n"


def test_a_map_interrupted_while_it_is_made_stays_known(said: dict[str, str]) -> None:
    """Its task has begun and Stop comes before `map` returns: stopping the cell finds the run."""
    assert said["a map that is made"] == "good\n"


def test_pickling_is_interrupted(said: dict[str, str]) -> None:
    """Stop stays Stop, also while it is looked which argument cannot be pickled; and the pool goes on."""
    assert said["pickling"].splitlines() == [
        "KeyboardInterrupt 0 KeyboardInterrupt KeyboardInterrupt",
        "KeyboardInterrupt PayloadError PayloadError KeyboardInterrupt",
        "{'KeyboardInterrupt'} PayloadError",
        "True 3",
    ]


def test_what_waits_for_an_item_of_a_batch_is_interrupted(said: dict[str, str]) -> None:
    """Stop comes while a call, a map or a batch waits for a future that the scheduler does not know."""
    assert said["an item of a batch"].splitlines() == [*["stopped"] * 6, "4 [4]"]


def test_stop_while_an_executor_ends_leaves_it_to_end(said: dict[str, str]) -> None:
    """It ends the wait: what runs is finished, and the workers and threads go, as those of the standard executors."""
    assert said["the end of an executor"] == "stopped False\n4 True\n"
