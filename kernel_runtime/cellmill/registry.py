"""The executors of this process: which is the default one, and what becomes of all of them at a fork and at the end."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # first, so that it ends last: clusters need thread pools until their work is done
import contextlib
import importlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from . import run_registry
from .backends.forked_backend import ParentsBackend
from .cell_output import origin
from .diagnostics import unasked
from .run_registry import Run
from .task import Stats

if TYPE_CHECKING:
    from .backends import Backend

EXIT_GRACE_SECONDS = 0.5  # for running tasks that are stopped at the end
THREADS_SECONDS = 0.05  # between two looks at the program's own threads
NAMED = 3  # runs that a message names


class Registered(Protocol):
    """An executor, as it is kept here."""

    _backend: Backend
    _submit: Any
    _closed: bool
    _process: int

    @property
    def closed(self) -> bool: ...

    @property
    def paused(self) -> bool: ...

    def stats(self) -> Stats: ...

    def stop(self) -> int: ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None: ...


executors: weakref.WeakSet[Registered] = weakref.WeakSet()
made: list[Callable[[Registered], None]] = []  # called with each executor that is made
default: Any = None  # an Executor, or None
default_lock = threading.Lock()
ended = False  # what is submitted from now on would be dropped
_left = False  # nothing is to be finished any more
_told = False
_interrupted = False


def _leave_to_parent() -> None:
    """Forget executors with workers in a forked child: they belong to the parent, the default one too."""
    global default, default_lock
    for executor in executors:
        if not executor._backend.forks:
            parents = ParentsBackend(executor._backend)
            executor._backend = cast("Backend", parents)
            executor._submit = parents.submit
    default, default_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)


def _ours() -> list[Registered]:
    return [ex for ex in list(executors) if ex._process == os.getpid()]


def open_executors() -> list[Registered]:
    """Return the executors of this process that take tasks."""
    return [ex for ex in _ours() if not ex.closed]


def outstanding(executor: Registered) -> int:
    """Its tasks that are not over."""
    figures = executor.stats()
    return max(0, figures.submitted - figures.done)


def under_way() -> int:
    """Tasks that were submitted in this process and are not over."""
    return sum(map(outstanding, _ours()))


def _stop_all() -> None:
    """No thread waits for tasks any more: they are stopped, and then their workers."""
    ours = [ex for ex in _ours() if not ex.closed or outstanding(ex)]
    for executor in ours:
        executor.stop()
    for run in run_registry.active_runs():
        run.stop()
    run_registry.stop_cell()  # what is in no run
    deadline = time.monotonic() + EXIT_GRACE_SECONDS
    while any(executor.stats().running for executor in ours) and time.monotonic() < deadline:
        time.sleep(0.01)
    for executor in ours:
        if not executor.stats().running:
            executor.shutdown()  # else the zygote takes the workers along


# -- a notebook's kernel


def in_kernel() -> bool:
    """Whether this process is a kernel, which is killed seconds after it was told to end."""
    kernels = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    return kernels is not None and bool(kernels.initialized())


def attend() -> None:
    """An executor is made in a kernel: its cells are attended to, also where the extension was not loaded."""
    from IPython.core.getipython import get_ipython

    ip = get_ipython()
    if ip is not None:
        importlib.import_module("cellmill.magics.waiting").attend(ip)  # by name: it is in a room above


def names_of(found: list[Run]) -> str:
    """The names of some runs in brackets."""
    names = sorted({run.name for run in found})
    return f" (of {', '.join(names[:NAMED])}{' and others' if len(names) > NAMED else ''})" if names else ""


def tell_dropped() -> None:
    """Say, once, what failed unasked and how many tasks end with the kernel: in the cells, and in the log of what
    started the kernel, which may read no cell any more.
    """
    global _told
    _log(unasked.tell())
    count = under_way()
    if not count or _told:
        return
    _told = True
    of = names_of(run_registry.active_runs())
    tasks = "1 task that is" if count == 1 else f"{count:,} tasks that are"
    text = (
        f"cellmill: this kernel ends, and with it {tasks} not over{of}: dropped. To have them done, wait for them in a "
        "cell, by .result() of their futures or list() of a map's results, before the kernel ends.\n"
    )
    origin.latest.do(lambda: _write(text))
    _log(text)


def _log(text: str) -> None:
    """Write to the log of a kernel: a copy of descriptor 2 where the kernel shows what comes there in its cells."""
    log = getattr(sys.stderr, "_original_stdstream_copy", None)
    if text and sys.stderr is not sys.__stderr__:
        with contextlib.suppress(OSError):
            os.write(2 if log is None else log, text.encode())


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # a stream that was closed
        sys.stderr.write(text)
        sys.stderr.flush()


# -- the end of a program


def _finish_all() -> None:
    """Before threads are joined, where the standard executors end theirs too."""
    if in_kernel():
        tell_dropped()
        _stop_all()
        _let_go()
    elif _ended_by_interrupt():
        _give_up()
        _let_go()
    else:
        _interruptibly(_finish_first)


def _finish_rest() -> None:
    """When the program's own threads have ended, which may have submitted more."""
    if not _left:
        _interruptibly(_finish_last)
    if _interrupted:  # code that other functions ran at exit may have reset the status
        with contextlib.suppress(KeyboardInterrupt):
            exec(_INTERRUPT)


def _interruptibly(finish: Callable[[], None]) -> None:
    global _interrupted
    try:
        finish()
    except KeyboardInterrupt:
        _interrupted = True
    if _interrupted:
        _give_up()
        _let_go()
        exec(_INTERRUPT)


# An interrupt that leaves code given as text has the interpreter end as one that was not caught: by the signal, once
# everything else has been seen to.
_INTERRUPT = "raise KeyboardInterrupt"


def _finish_first() -> None:
    """Submitted work is finished, as with the standard executors.

    Threads of the program, its pools included, go on after its last line. Executors stay open for them, but those
    that need thread pools themselves: these wait for threads that are never told to end.
    """
    global ended
    while _threads(of_pools=False) and any(each._backend.needs_threads for each in open_executors()):
        _work_off()
        time.sleep(THREADS_SECONDS)
    if not _threads(of_pools=True):
        _finish_last()
        return
    _work_off()
    for executor in open_executors():
        if executor._backend.needs_threads:
            executor.shutdown(wait=True)
            ended = (
                ended or executor is default
            )  # calls raise: another default executor would run them elsewhere


def _work_off() -> None:
    for executor in open_executors():
        executor._backend.work_off()


def _finish_last() -> None:
    """The same, and nothing is left behind."""
    global ended
    mapping = sys.modules.get("cellmill.backends.scheduled.mapping")
    if mapping is not None:
        mapping.leave_begun()
    while not ended or open_executors():
        for executor in open_executors():
            executor.shutdown(wait=True)
        with default_lock:
            ended = not open_executors()
    for name in ("ending", "callbacks"):
        module = sys.modules.get(f"cellmill.backends.scheduled.{name}")
        if module is not None:
            module.join_all()
    unasked.tell()
    _let_go()


def _give_up() -> None:
    """Ctrl-C was pressed: what is under way is dropped, as a loop would be left where it is."""
    count = under_way()
    if count:
        tasks = "1 task was" if count == 1 else f"{count:,} tasks were"
        print(f"cellmill: interrupted; {tasks} not finished", file=sys.stderr, flush=True)
    _stop_all()


def _let_go() -> None:
    global ended, _left
    ended = _left = True
    for name in ("records.following", "views.recording"):
        recording = sys.modules.get(f"cellmill.{name}")
        if recording is not None:
            recording.close_all()
    for executor in _ours():
        executor._closed = (
            True  # dropped while the interpreter ends, it would wait for a thread that cannot start
        )
    client = sys.modules.get("cellmill.backends.local.zygote_client")
    if client is not None:
        client.close_shared()
    functions = sys.modules.get("cellmill.serialization.functions")
    if functions is not None:
        functions.let_go()


def _ended_by_interrupt() -> bool:
    """Whether the program ends by a Ctrl-C that was not caught."""
    last = getattr(sys, "last_type", None)
    return isinstance(last, type) and issubclass(last, KeyboardInterrupt) and not hasattr(sys, "ps1")


def _threads(of_pools: bool) -> bool:
    """Whether threads of the program's own run, which the interpreter waits for: those of pools are told to end."""
    pools = getattr(concurrent.futures.thread, "_threads_queues", ())
    managers = getattr(sys.modules.get("concurrent.futures.process"), "_threads_wakeups", ())
    return any(
        of_pools or not (each in pools or each in managers)
        for each in threading.enumerate()
        if not each.daemon and each is not threading.main_thread()
    )


_register = getattr(threading, "_register_atexit", atexit.register)
_register(_finish_all)
atexit.register(_finish_rest)
