"""What programs of tests begin with, and programs of several parts: a start of one takes longer than most parts do."""

from __future__ import annotations

import re
from collections.abc import Mapping

START = """
import asyncio, concurrent.futures as cf, gc, os, signal, sys, threading, weakref
from cellmill import Executor, default_executor, parallel
from cellmill.worker_process.zygote import descendants

def workers_gone(pids, limit=20.0):
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        import select
        assert select.select([handle], [], [], limit)[0], f"{pid} is alive"
        os.close(handle)

def pids(ex):
    return ex.run_on_workers(os.getpid)
"""

WITH_EXECUTOR = """
import sys
from cellmill import Executor, parallel, per_worker, set_default_executor
ex = Executor(2)
set_default_executor(ex)
"""

# Stop at random moments of calls of Cellmill: see tests/executor/test_interrupts.py
WITH_STOPS = """
import concurrent.futures, gc, os, signal, sys, threading
from cellmill import Executor, share
from tests.support import tasks
MANY = sys.argv[1] == "many"
budget = 0
executors = []

def begin():
    # of earlier parts nothing is collected later: Python prints what is raised in finalizers and goes on
    global ex, hits
    gc.collect()
    hits = 0
    ex = Executor(2)
    executors.append(ex)
    ex.run_on_workers(int)

def stop(number, frame):
    global budget
    while frame is not None and "cellmill" not in frame.f_code.co_filename:
        frame = frame.f_back
    if budget > 0 and frame is not None:  # only below calls of Cellmill: this script has its own moments
        budget -= 1
        if not budget:
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(signal.SIGINT)  # answered at the next instruction
signal.signal(signal.SIGALRM, stop)

def allow(times, period):
    global budget
    signal.setitimer(signal.ITIMER_REAL, period, period)
    budget = times

def collect(futures):
    # each result once, whatever comes in between
    global hits
    values = []
    while len(values) < len(futures):
        try:
            for future in futures[len(values):]:
                values.append(future.result(30))
        except KeyboardInterrupt:
            hits += 1
    return values
"""

PRINTS = "import os, subprocess, sys, threading\nimport cellmill\nfrom cellmill import Executor\n"


def in_parts(parts: Mapping[str, str]) -> str:
    """The parts one after another, each behind a line with its name."""
    return "".join(f'print("== {name} ==", flush=True)\n{part}\n' for name, part in parts.items())


def of_parts(out: str) -> dict[str, str]:
    """What each part has printed, by name."""
    _, *found = re.split(r"^== (.+) ==\n", out, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))
