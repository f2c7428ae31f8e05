"""Wherever Stop comes in a call of Cellmill, the next call gives the values of the plain loop, and what is so now."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cellmill.backends.scheduled.settings_watch import SettingsWatch
from cellmill.process_context import library_settings
from tests.support.helpers import run_script

START = """
import concurrent.futures, decimal, logging, os, sys
from cellmill import Executor, share
from tests.support.stops import each_step
from tests.support.waiting import until

ex = Executor(2)
ex.run_on_workers(int)
factor = 0

def seen():
    return os.environ["STEP"], os.getcwd(), logging.getLogger().level, decimal.getcontext().prec

def scaled(x):
    return x * factor

def both(a, b):
    return a, b

def wait_for_all():
    until(lambda: (stats := ex.stats()).done == stats.submitted)

here = os.path.dirname(os.path.realpath(__file__))
folders = [os.path.join(here, name) for name in ("one", "other")]
for folder in folders:
    os.mkdir(folder)

def change(step):
    wait_for_all()  # the call that Stop met may have become a task
    os.environ["STEP"] = str(step)
    os.chdir(folders[step % 2])
    logging.getLogger().setLevel(10 + step % 40)
    decimal.getcontext().prec = 10 + step % 40
"""

CALLS = {
    "the context changed": (
        13,
        """
def prepare(step):
    change(step)
    ex._backend.sender.plain.look_again()
    return lambda: ex.submit(seen)

for step in each_step(EVERY, prepare):
    for _ in range(2):
        assert ex.submit(seen).result(30) == seen(), step
""",
    ),
    "the first call": (
        61,
        """
def prepare(step):
    global ex
    ex.shutdown(wait=False)
    wait_for_all()
    ex = Executor(1)
    change(step)
    return lambda: ex.submit(seen)

for step in each_step(EVERY, prepare):
    assert ex.submit(seen).result(30) == seen(), step
""",
    ),
    "what it captured changed": (
        19,
        """
def prepare(step):
    global factor
    factor = step
    return lambda: ex.submit(both, ex.submit(scaled, 1), share([step]))

for step in each_step(EVERY, prepare):
    assert ex.submit(both, ex.submit(scaled, 1), 2).result(30) == (step, 2), step
""",
    ),
    "a map": (
        101,
        """
def prepare(step):
    global factor
    factor = step
    return lambda: list(ex.map(scaled, range(5)))

for step in each_step(EVERY, prepare):
    assert list(ex.map(scaled, range(5))) == [i * step for i in range(5)], step
""",
    ),
    "waiting for the first of some": (
        1,
        """
def task(step):
    futures = [ex.submit(both, i, step) for i in range(4)]
    return lambda: [f.result() for f in concurrent.futures.as_completed(futures)]

for step in each_step(EVERY, task):
    assert sorted(task(step)()) == [(i, step) for i in range(4)], step
""",
    ),
}


def program(case: str, every: int) -> str:
    return f"EVERY = {every}\n{CALLS[case][1]}\nassert step > 20, step\n"


def test_the_next_call_is_right_after_some_steps(script: Callable[..., str], tests_on_path: None) -> None:
    """Each case in one program: its first and its last steps, and some between them."""
    parts = "".join(program(case, some) for case, (some, _) in CALLS.items())
    assert script(f"{START}{parts}ex.shutdown()\nprint('done')") == "done\n"


@pytest.mark.long
@pytest.mark.parametrize("case", CALLS)
def test_the_next_call_is_right(tmp_path: Path, tests_on_path: None, case: str) -> None:
    """Some have thousands of steps, which take a minute on a busy machine."""
    code = f"{START}{program(case, 1)}ex.shutdown()\nprint('done')"
    assert run_script(tmp_path, code, limit=300) == ("done\n", "")


LIVES = {
    "the beginning": (61, 1, "lambda: Executor(1)"),
    "the end": (11, 1, "ready().shutdown"),
}
LEFT = """
import threading
import psutil

def ready():
    ex = Executor(1)
    ex.submit(int).result(30)
    return ex

def nothing_left():
    # the process that starts workers is kept
    ended = not [worker for child in psutil.Process().children() for worker in child.children()]
    return ended and threading.active_count() <= before

ex.shutdown()
before = threading.active_count()
"""


@pytest.mark.parametrize(
    ("lives", "every"),
    [(list(LIVES), "some"), *(pytest.param([life], "many", marks=pytest.mark.long) for life in LIVES)],
)
def test_nothing_of_an_executor_is_left(
    script: Callable[..., str], tests_on_path: None, lives: list[str], every: str
) -> None:
    parts = "".join(
        f"for step in each_step({some if every == 'some' else many}, lambda step: {prepare}):\n"
        "    until(nothing_left)\nassert step > 20, step\n"
        for some, many, prepare in map(LIVES.__getitem__, lives)
    )
    assert script(f"{START}{LEFT}\n{parts}print('done')") == "done\n"


def test_stop_in_a_librarys_own_function_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of libraries are asked for their settings before each call."""
    armed = False

    def setting() -> int:
        nonlocal armed
        if armed:
            armed = False
            signal.raise_signal(signal.SIGINT)
        return 1

    def ask_twice() -> None:
        watch.now()
        watch.now()

    monkeypatch.setattr(library_settings, "probes", lambda: [setting])
    watch = SettingsWatch()
    armed = True
    with pytest.raises(KeyboardInterrupt):
        ask_twice()
