"""The C scheduler by itself: what is left when futures, pickles, user code and the executor are taken away.

The kernel submits empty tasks one C call each and collects completions in batches; a worker process takes and
answers them, with nothing in between. No executor over this scheduler, in Python, can be faster than this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from cellmill.backends.scheduled.scheduler import Scheduler, check, ffi, with_gil


def rate(workers: int, seconds: float, most: int) -> tuple[float, int]:
    """Empty tasks per second over ``workers`` processes; and how many they were."""
    scheduler = Scheduler()
    children = [_start_worker(scheduler) for _ in range(workers)]
    try:
        stats = ffi.new("csched_stats_t *")
        while with_gil.csched_stats(scheduler.handle, stats) == 0 and stats.ready_workers < workers:
            scheduler.wait(10)
        check(with_gil.csched_reserve(scheduler.handle, most), "reserving tasks")
        probe = min(5000, most)
        count = max(probe, min(most, int(_go(scheduler, probe) * seconds)))
        return _go(scheduler, count), count
    finally:
        with_gil.csched_stop(scheduler.handle)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _go(scheduler: Scheduler, count: int) -> float:
    handle, submit = scheduler.handle, with_gil.csched_submit
    nothing = ffi.NULL
    start = time.perf_counter_ns()
    for slot in range(count):
        submit(handle, slot, 0, 2**32 - 1, nothing, 0, 0)
    done = 0
    while done < count:
        if scheduler.poll(20) <= 0:
            scheduler.wait(50)
        found = scheduler.collect()
        with_gil.csched_commit(handle, found)
        done += found
    return count * 1e9 / (time.perf_counter_ns() - start)


def _start_worker(scheduler: Scheduler) -> int:
    _index, fds = scheduler.add_worker()
    pid = os.fork()
    if pid == 0:
        try:
            _serve(fds)
        finally:
            os._exit(1)
    for fd in fds:
        os.close(fd)
    return pid


def _serve(fds: list[int]) -> None:
    """The worker process: take, answer, again, until the scheduler stops."""
    out = ffi.new("csched_worker_t **")
    check(with_gil.csched_worker_attach(ffi.new("int[4]", fds), out), "attaching")
    worker, item = out[0], ffi.new("csched_item_t *")
    take, publish = with_gil.csched_worker_next, with_gil.csched_worker_publish
    started, finished = with_gil.csched_worker_started, with_gil.csched_worker_finished
    none, again = with_gil.CSCHED_NONE, with_gil.CSCHED_EAGAIN
    with_gil.csched_worker_ready(worker)
    while True:
        rc = take(worker, 50, 500, item)
        if rc == again:
            continue
        if rc < 0:
            return
        if item.kind == with_gil.CSCHED_TASK:
            started(worker)
            finished(worker)
            while publish(worker, none, 0, b"", 0, 2**64 - 1) == again:
                pass
