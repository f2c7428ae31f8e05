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

PRINTS = "import os, subprocess, sys, threading\nimport cellmill\nfrom cellmill import Executor\n"


def in_parts(parts: Mapping[str, str]) -> str:
    """The parts one after another, each behind a line with its name."""
    return "".join(f'print("== {name} ==", flush=True)\n{part}\n' for name, part in parts.items())


def of_parts(out: str) -> dict[str, str]:
    """What each part has printed, by name."""
    _, *found = re.split(r"^== (.+) ==\n", out, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))
