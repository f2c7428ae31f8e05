"""Submitting from anywhere: the scenarios are parts of programs with a hard limit.

One that hangs is shown with the stack of every thread (`run_script`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.helpers import SECONDS, run_script
from tests.support.programs import START, in_parts, of_parts

PARTS = {
    "many threads": """
ex = Executor(2)
totals = []
def use(n):
    total = 0
    for i in range(10):
        fs = [ex.submit(pow, i, 2) for i in range(20)]
        total += sum(f.result(20) for f in fs)
        total += sum(ex.map(abs, range(-50, 0)))
        total += sum(f.result() for f in cf.as_completed([ex.submit(abs, -1) for _ in range(5)], timeout=20))
    totals.append(total)
threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(set(totals), len(totals))
""",
    "callbacks": """
import logging
logging.disable()  # callbacks that raise are logged, as the standard library does
ex = Executor(2)
ended = threading.Semaphore(0)
seen = []
def again(f):
    seen.append(f.result())
    if f.result() < 20:
        ex.submit(abs, f.result() + 1).add_done_callback(again)
    else:
        ended.release()
def raises(f):
    raise LookupError
def waits(f):
    seen.append(ex.submit(abs, -100).result(20))  # in the thread that runs callbacks
    seen.append(list(ex.map(abs, range(3))))
    ended.release()
first = ex.submit(abs, 0)
first.add_done_callback(raises)
first.add_done_callback(again)
assert ended.acquire(timeout=20)
print(seen == list(range(21)))
seen.clear()
ex.submit(abs, 1).add_done_callback(waits)
assert ended.acquire(timeout=20)
print(seen)
late = ex.submit(abs, 5)
late.result()
late.add_done_callback(lambda f: seen.append("late"))
print(seen[-1])
logging.disable(logging.NOTSET)
""",
    "callbacks that wait": """
ex = Executor(2)
ended = threading.Semaphore(0)
seen = []
def waits(f):
    done, left = cf.wait([ex.submit(abs, -i) for i in range(50)], timeout=20)
    seen.append((len(done), len(left)))
    seen.append(sum(f.result() for f in cf.as_completed([ex.submit(abs, -i) for i in range(5)], timeout=20)))
    seen.append(list(ex.map(abs, range(-3, 0))))
    ended.release()
for _ in range(5):
    ex.submit(abs, 1).add_done_callback(waits)
for _ in range(5):
    assert ended.acquire(timeout=20)
print(seen == 5 * [(50, 0), 10, [3, 2, 1]])

blocked, go = threading.Event(), threading.Event()
def holds(f):
    blocked.set()
    go.wait(20)
ex.submit(abs, 1).add_done_callback(holds)
assert blocked.wait(20)
print(len(cf.wait([ex.submit(abs, -i) for i in range(50)], timeout=20).done))  # of others, meanwhile
go.set()
ended = threading.Semaphore(0)
def shuts(f):
    ex.shutdown()
    ended.release()
ex.submit(abs, 1).add_done_callback(shuts)
print(ended.acquire(timeout=20))
""",
    "asyncio": """
import time
@parallel
def double(x):
    return 2 * x
@parallel
def fail(x):
    raise LookupError(x)
@parallel
def hold(path, number):
    open(path + str(number), "w").close()
    while not os.path.exists(path):
        time.sleep(0.01)

async def main():
    print(await double(2), await asyncio.gather(*map(double, range(5))))
    print(await asyncio.wrap_future(double(3)))
    print(await asyncio.gather(fail(1), double(1), return_exceptions=True))
    ex = default_executor()
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(ex, abs, -4), await asyncio.wait_for(double(5), 20))
    ex.run_on_workers(int)
    holding = [hold(__file__ + ".go", i) for i in range(ex.max_workers)]
    while not all(os.path.exists(f"{__file__}.go{i}") for i in range(ex.max_workers)):
        await asyncio.sleep(0.01)
    waiting = [double(i) for i in range(100)]
    async def wait_for(future):
        return await future
    tasks = [asyncio.ensure_future(wait_for(f)) for f in waiting]
    await asyncio.sleep(0)
    for t in tasks:
        t.cancel()  # what has not begun does not run
    print({type(r).__name__ for r in await asyncio.gather(*tasks, return_exceptions=True)})
    open(__file__ + ".go", "w").close()
    await asyncio.gather(*holding)
    print(sum(f.cancelled() for f in waiting) > 50, await double(8))
asyncio.run(main())
""",
    "inputs": """
ex = Executor(2)
def inputs():
    for i in range(200):
        yield ex.submit(pow, i, 2).result(20)
print(sum(ex.map(abs, inputs())))
def maps():
    for i in range(5):
        yield sum(ex.map(abs, range(i)))
print(list(ex.map(abs, maps())))
""",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each part prints of one program."""
    out, err = run_script(tmp_path_factory.mktemp("anywhere"), START + in_parts(PARTS))
    assert not err, err
    return of_parts(out)


def test_many_threads(said: dict[str, str]) -> None:
    assert said["many threads"] == f"{{{10 * (sum(i * i for i in range(20)) + sum(range(51)) + 5)}}} 8\n"


def test_callbacks_submit_wait_and_raise(said: dict[str, str]) -> None:
    assert said["callbacks"] == "True\n[100, [0, 1, 2]]\nlate\n"


def test_callbacks_wait_in_every_way(said: dict[str, str]) -> None:
    """`wait` and `as_completed` sleep until another thread resolves."""
    assert said["callbacks that wait"] == "True\n50\nTrue\n"


def test_asyncio(said: dict[str, str]) -> None:
    assert said["asyncio"].splitlines() == [
        "4 [0, 2, 4, 6, 8]",
        "6",
        "[LookupError(1), 2]",
        "4 10",
        "{'CancelledError'}",
        "True 16",
    ]


def test_from_inputs(said: dict[str, str]) -> None:
    assert said["inputs"] == f"{sum(i * i for i in range(200))}\n[0, 0, 1, 3, 6]\n"


def test_inside_a_task_there_is_no_second_pool(tmp_path: Path) -> None:
    """Calls run inline, and each worker says so once, naming the line."""
    code = """
ex = Executor(2)
def nested(n):
    inner = Executor(4)  # here
    return inner.backend, inner.submit(pow, n, 2).result(), os.getpid() == inner.submit(os.getpid).result()
def default(n):
    return default_executor().backend, list(default_executor().map(abs, [-n]))  # or here
@parallel
def plain(n):
    return n
def called(n):
    return plain(n)
ex.run_on_workers(int)
print(ex.submit(called, 1).result(20), *ex.map(called, range(4)))
print(file=sys.stderr)
print({ex.submit(nested, 3).result(20) for _ in range(20)}, ex.submit(default, 3).result(20))
"""
    out, err = run_script(tmp_path, START + code)
    assert out == "1 0 1 2 3\n{('inline', 9, True)} ('inline', [3])\n"
    before, _, after = err.partition("\n")
    assert not before  # a parallel function called in a task is the plain function: nothing to note
    assert 1 <= after.count("RuntimeWarning: an executor inside a task runs its calls at once") <= 2
    assert "Executor(4)  # here" in after or "# or here" in after


def test_nothing_is_told_of_in_development_mode(tmp_path: Path) -> None:
    """Where warnings are errors, and each descriptor that is left open is told of; a task's executor is noted."""
    program = tmp_path / "program.py"
    program.write_text(
        "import cellmill\n"
        "def inner():\n"
        "    with cellmill.Executor() as here:\n"
        "        return here.submit(abs, -3).result()\n"
        "with cellmill.Executor(1) as ex:\n"
        "    print(ex.submit(inner).result(), *ex.map(abs, [-1]))\n"
    )
    command = [sys.executable, "-X", "dev", "-W", "error", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == "3 1\n"
    (told,) = done.stderr.splitlines()
    assert told.startswith("cellmill: an executor inside a task runs its calls at once in that task")


def test_a_program_that_hangs_is_shown(tmp_path: Path) -> None:
    """The limit of these tests works."""
    with pytest.raises(AssertionError, match=r"(?s)hangs.*most recent call first"):
        run_script(tmp_path, "import threading; threading.Event().wait()", limit=1)
