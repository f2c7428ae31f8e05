"""What programs of tests begin with."""

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
