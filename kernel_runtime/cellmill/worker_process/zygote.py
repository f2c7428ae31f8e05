"""The zygote: one process, started by exec, that imports what workers need and forks them in milliseconds.

It has one thread and no state of the kernel's. It hears commands on a socket, watches the kernel through a pidfd,
reaps workers and tells how they ended. When the kernel is gone it kills the workers' process trees and ends.

Every message is one pickled tuple in one packet (both ends are this package's own code):

    ("fork", token, config, number of descriptors) + descriptors   ("kill", pid, signal)
    ("context", ProcessContext)   ("preload", names)   ("forget",): modules of the user's own, to be read again
    -> ("forked", token, pid) + pidfd  ("refused", token, errno)  ("exited", pid, wait status, peak bytes)
       ("preloaded", name, seconds, problem)

Its own death ends no worker: workers watch the kernel themselves, and the kernel holds their pidfds.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any

from ..by_value import import_log
from ..process_context import native_threads
from ..process_context.context import ONE_THREAD, adopt
from ..process_context.process_tree import descendants, kill_tree
from ..process_context.reporting import Reporting
from .protocol import WORKER_FDS, receive


class Zygote:
    """The loop of the zygote process."""

    def __init__(self, control: socket.socket, kernel_pidfd: int) -> None:
        self.control = control
        self.kernel_pidfd = kernel_pidfd
        self.workers: set[int] = set()
        self.preloaded: list[str] = []
        self.pid = os.getpid()

    def run(self) -> None:
        """Serve until the kernel closes the socket or dies."""
        wake_read, wake_write = os.pipe()
        for fd in (wake_read, wake_write):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.wake = (wake_read, wake_write)
        poller = select.poll()
        for fd in (self.control.fileno(), self.kernel_pidfd, wake_read):
            poller.register(fd, select.POLLIN)
        while True:
            for fd, _ in poller.poll(1000):
                if fd == self.kernel_pidfd:
                    return self.end()
                if fd == wake_read:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake_read, 4096)
                elif not self.hear():
                    return self.end()
            self.reap()

    def hear(self) -> bool:
        """Obey one command; return False when the kernel has closed the connection."""
        try:
            data, fds = receive(self.control)
        except ConnectionError:
            return False
        if not data:
            return False
        command, *rest = pickle.loads(data)
        if command == "fork":
            self.fork(rest[0], rest[1], rest[2], fds)
        elif command == "kill":
            if rest[0] in self.workers:
                kill_tree(rest[0], rest[1])
        elif command == "context":
            # what it does itself is not told, and threads would not survive a fork
            environment = {**rest[0].environment, **ONE_THREAD}
            adopt(rest[0]._replace(reporting=Reporting(), environment=environment))
        elif command == "preload":
            for name in rest[0]:
                self.preloaded.append(name)
                self.tell("preloaded", name, *preload(name))
            native_threads.find()  # once, for all workers to come
        elif command == "forget" and import_log.log is not None:
            import_log.log.forget()
            for name in self.preloaded:
                preload(name)
            native_threads.find()
        return True

    def tell(self, *message: Any, fds: Iterable[int] = ()) -> None:
        with contextlib.suppress(OSError):
            socket.send_fds(self.control, [pickle.dumps(message)], list(fds))

    def fork(self, token: int, config: dict[str, Any], count: int, fds: list[int]) -> None:
        """A worker, or the reason why there is none: no process may be had, or this one is out of descriptors."""
        try:
            if len(fds) < count:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            # Collections in the worker pass over what is imported here: they would write to its pages, and copy them.
            gc.freeze()
            pid = os.fork()
        except OSError as error:
            self.tell("refused", token, error.errno)
            return
        finally:
            if os.getpid() == self.pid:
                for fd in fds:
                    os.close(fd)
        if pid == 0:
            self.become_worker(config, fds)
        self.workers.add(pid)
        try:
            pidfd = os.pidfd_open(pid)  # not reaped yet: it can be no other process
        except OSError:  # no descriptor left: the kernel does without
            self.tell("forked", token, pid)
            return
        self.tell("forked", token, pid, fds=[pidfd])
        os.close(pidfd)

    def become_worker(self, config: dict[str, Any], fds: list[int]) -> None:
        """Turn a forked child into a worker: leave everything of the zygote's behind, and never return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(
                0, 0
            )  # no session: Linux shares the CPUs by session, and the kernel's should get its part
            self.control.close()
            os.close(self.kernel_pidfd)
            for fd in self.wake:
                os.close(fd)
            from . import worker

            code = worker.main(fds[:WORKER_FDS], fds[WORKER_FDS:-1], fds[-1], config)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def reap(self) -> None:
        """Children that ended: ours are reported, their orphans only buried."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.workers:
                self.workers.discard(pid)
                for orphan in self.group_of(pid):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(orphan, signal.SIGKILL)
                self.tell("exited", pid, status, usage.ru_maxrss * 1024)

    def group_of(self, pid: int) -> list[int]:
        """Return the processes that a dead worker's process group still runs; we, the subreaper, have adopted them."""
        found = []
        with contextlib.suppress(OSError):  # no descriptor left to look with
            for child in descendants(os.getpid()):
                with contextlib.suppress(OSError):
                    if child not in self.workers and os.getpgid(child) == pid:
                        found.append(child)
        return found

    def end(self) -> None:
        """The kernel is gone: nothing of ours outlives it."""
        for _ in range(100):
            below = descendants(os.getpid())
            if not below:
                break
            for pid in below:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.wait4(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.002)


def preload(name: str) -> tuple[float, str]:
    """Import a module for all workers to come; (seconds, "" or what is wrong with it)."""
    start = time.perf_counter()
    before = len(os.listdir("/proc/self/task"))
    try:
        importlib.import_module(name)
    except BaseException as error:
        return time.perf_counter() - start, f"cannot be imported: {type(error).__name__}: {error}"
    after = len(os.listdir("/proc/self/task"))
    problem = ""
    if after > before:
        problem = (
            f"started {after - before} thread(s) while it was imported: workers forked from here lack them"
        )
    return time.perf_counter() - start, problem


def become_subreaper() -> None:
    """Orphans of workers become our children, so that we can end and bury them."""
    import ctypes

    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def main(control_fd: int, kernel_pidfd: int) -> None:
    """Entry of the zygote process: arguments are inherited descriptors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Stop is the kernel's business
    os.environ.update(ONE_THREAD)
    os.set_inheritable(control_fd, False)
    os.set_inheritable(kernel_pidfd, False)
    become_subreaper()
    import_log.start_log()
    from . import worker  # noqa: F401  (what every worker needs is imported once, here)

    with socket.socket(fileno=control_fd) as control:  # workers end otherwise, and keep nothing of it
        Zygote(control, kernel_pidfd).run()
