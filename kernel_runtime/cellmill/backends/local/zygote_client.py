"""The kernel's side of the zygote: start it, ask it for workers, hear how they end."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from ...errors import BackendError
from ...process_context.context import ProcessContext
from ...worker_process.protocol import PACKET, receive
from ..scheduled.context_watch import current_context
from ..scheduled.worker_exit import Exit
from .children import Child, OnExit, disown, orphan, watch_orphans

PACKAGE_PARENT = str(Path(__file__).resolve().parents[3])
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from cellmill.worker_process.zygote import main; "
    "sys.path.pop(0); main(int(sys.argv[2]), int(sys.argv[3]))"
)
ANSWER_SECONDS = 30.0
HASH_SEED = str(int.from_bytes(os.urandom(4), "big"))
STOPPED_LOOKS = 3


def _hash_seed() -> dict[str, str]:
    """Return the variable that gives all workers the same hashes of strings, those of a second zygote included.

    Code that splits data by hash (Dask's groupby) compares them between tasks.
    """
    return {"PYTHONHASHSEED": HASH_SEED} if os.environ.get("PYTHONHASHSEED", "random") == "random" else {}


class NoWorker(BackendError):
    """A worker could not be forked just now; the next try may go well."""


class _Request:
    """A request to start one worker; the listening thread sets its answer."""

    def __init__(self, on_exit: OnExit) -> None:
        self.on_exit = on_exit
        self.done = threading.Event()
        self.pid: int | None = None
        self.errno = 0


class Zygote:
    """One zygote process; `shared` is the one that all executors of this process use."""

    def __init__(self, preloaded: Iterable[str] = ()) -> None:
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._tokens = itertools.count(1)
        self._forked: dict[int, _Request] = {}
        self._children: dict[int, Child] = {}
        self._preloaded: dict[str, tuple[threading.Event, list[Any]]] = {}
        self.modules: list[str] = []  # that it has imported
        self.alive = True
        self._stopped_looks = 0
        try:
            self._start()
        except OSError as error:
            raise BackendError(
                f"the process that starts workers could not be started ({error}): close other programs, or "
                "raise the limits on processes, open files (ulimit -n) and memory, then call again"
            ) from error
        self.context = current_context()
        self._send("context", self.context)
        if preloaded:
            self._send("preload", list(preloaded))
        self._thread = threading.Thread(target=self._listen, name="cellmill-zygote", daemon=True)
        self._thread.start()

    def _start(self) -> None:
        with contextlib.ExitStack() as undo:
            self.pidfd = os.pidfd_open(os.getpid())
            undo.callback(os.close, self.pidfd)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            undo.callback(ours.close)
            with theirs:
                for end in (ours, theirs):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PACKET)
                fds = (theirs.fileno(), self.pidfd)
                # -O and the like, as multiprocessing has them
                flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
                command = [sys.executable, *flags, "-P", "-c", START, PACKAGE_PARENT, *map(str, fds)]
                self.process = subprocess.Popen(
                    command,
                    pass_fds=fds,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    env={**os.environ, **_hash_seed()},
                )
            self._socket = ours
            undo.pop_all()

    def _send(self, *message: Any, fds: Iterable[int] = ()) -> None:
        try:
            with self._lock:
                socket.send_fds(self._socket, [pickle.dumps(message)], list(fds))
        except OSError as error:
            raise NoWorker(
                f"the process that starts workers is gone ({error}); call again to start it anew"
            ) from None

    def fork(self, config: dict[str, Any], fds: list[int], on_exit: OnExit) -> int:
        """A new worker's process id; ``on_exit`` is called from another thread when it has ended.

        Raises `NoWorker` when the system refuses a process or this zygote dies over it.
        """
        token = next(self._tokens)
        request = self._forked[token] = _Request(on_exit)
        try:
            self._send("fork", token, config, len(fds) + 1, fds=[*fds, self.pidfd])
            request.done.wait(ANSWER_SECONDS if self.alive else 0)
        finally:
            with self._lock:
                self._forked.pop(token, None)
        if request.pid is None:
            self._explain(request)
        return request.pid

    def _explain(self, request: _Request) -> NoReturn:
        if request.errno:
            raise NoWorker(
                f"no worker process could be made ({os.strerror(request.errno)}): end other processes, or raise the "
                "limits on processes (ulimit -u) and open files (ulimit -n); then `%cellmill workers N` asks again"
            )
        if self.alive:
            raise BackendError(
                f"no worker process came within {ANSWER_SECONDS:.0f} s: the machine is very busy, or a preloaded "
                "module hangs; try `%cellmill restart`"
            )
        code = self.process.poll()
        raise NoWorker(
            f"the process that starts workers ended (exit code {code}); its messages on the terminal or in the "
            "Jupyter log tell why, and the next call starts it anew"
        )

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        """Signal a worker's process tree; a worker that is gone already is no error."""
        child = orphan(pid)
        if child is None:
            child = self._children.get(pid)
            if child is not None:
                child.condemned = True
            try:
                self._send("kill", pid, int(number))
            except BackendError:
                pass
            else:
                return
        if child is not None:
            child.kill()

    def signal(self, pid: int, number: int) -> None:
        """Signal a worker, and nothing that it started."""
        child = orphan(pid) or self._children.get(pid)
        if child is not None:
            child.signal(number)

    def update_context(self) -> ProcessContext:
        """Later workers shall see what is so now; that."""
        with self._looking:  # or another thread's earlier reading could be stored last
            context = current_context()
            if context != self.context:
                self._send("context", context)
                self.context = context
        return context

    def preload(self, modules: Iterable[str]) -> dict[str, tuple[float, str]]:
        """Import modules for all workers to come; per module: seconds and what is wrong with it, or ""."""
        names = list(modules)
        answers: dict[str, tuple[threading.Event, list[Any]]] = {n: (threading.Event(), []) for n in names}
        self._preloaded.update(answers)
        self._send("preload", names)
        results: dict[str, tuple[float, str]] = {}
        for name, (event, answer) in answers.items():
            while not event.wait(0.05):
                if not self.alive:
                    raise BackendError(f"the process that starts workers ended while it imported {name!r}")
            results[name] = (answer[0], answer[1])
        return results

    def forget_modules(self) -> None:
        """Have modules of the user's own imported anew for all workers to come: their files were edited."""
        self._send("forget")

    def _listen(self) -> None:
        """Read the zygote's reports until it is dead; then watch the workers that it left."""
        with contextlib.suppress(OSError):
            while True:
                data, fds = receive(self._socket)
                if not data:
                    break
                self._hear(fds, *pickle.loads(data))
        self.alive = False
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        with self._lock:
            requests = list(self._forked.values())
            children, self._children = self._children, {}
        for event in [*(r.done for r in requests), *(e for e, _ in self._preloaded.values())]:
            event.set()
        watch_orphans(children)

    def _hear(self, fds: list[int], kind: str, *rest: Any) -> None:
        if kind == "forked":
            self._born(rest[0], rest[1], fds[0] if fds else -1)
        elif kind == "refused":
            request = self._forked.get(rest[0])
            if request is not None:
                request.errno = rest[1]
                request.done.set()
        elif kind == "preloaded":
            name, seconds, problem = rest
            if not problem.startswith("cannot"):
                self.modules.append(name)
            event, result = self._preloaded.get(name, (threading.Event(), []))
            result += [seconds, problem]
            event.set()
        elif kind == "exited":
            pid, status, peak = rest
            child = self._children.pop(pid, None)
            if child is not None:
                child.ended(Exit(status, peak))

    def _born(self, token: int, pid: int, pidfd: int) -> None:
        with self._lock:
            request = self._forked.pop(token, None)
            if request is not None:
                self._children[pid] = Child(pid, pidfd, request.on_exit)
                request.pid = pid
        if request is not None:
            request.done.set()
            return
        if pidfd >= 0:  # it came too late: its request is gone
            os.close(pidfd)
        self.kill(pid)

    def look(self) -> None:
        """Once a second: a zygote found stopped (SIGSTOP) a few times in a row is ended, so that a new one takes over.

        It would start no worker, end none, and tell of no worker's end. A debugger may hold it as long as it likes.
        """
        self._stopped_looks = self._stopped_looks + 1 if _is_stopped(self.process.pid) else 0
        if self._stopped_looks >= STOPPED_LOOKS and self.alive:
            self.process.kill()

    def release(self) -> None:
        """It is dead: give its descriptors back."""
        with self._lock:
            self._socket.close()
        os.close(self.pidfd)

    def close(self) -> None:
        """Let the zygote end; it takes its workers along."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.release()


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False


_shared: Zygote | None = None
_shared_lock = threading.Lock()


def look_after() -> None:
    """See `Zygote.look`."""
    zygote = _shared
    if zygote is not None:
        zygote.look()


def shared() -> Zygote:
    """The zygote of this process, started on first use and again when it has died."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Zygote()
        elif not _shared.alive:
            dead, _shared = _shared, Zygote(_shared.modules)
            dead.release()
        return _shared


def close_shared() -> None:
    """End the zygote at interpreter exit, after the executors, and wait for it."""
    global _shared
    with _shared_lock:
        zygote, _shared = _shared, None
    if zygote is not None:
        zygote.close()


def _forget_in_child() -> None:
    """A forked child of user code has no zygote: the parent's is not its to command."""
    global _shared, _shared_lock
    _shared_lock = threading.Lock()
    disown(_shared._children.values() if _shared is not None else ())
    if _shared is not None:
        for fd in (_shared._socket.detach(), _shared.pidfd):
            with contextlib.suppress(OSError):
                os.close(fd)
        _shared = None


os.register_at_fork(after_in_child=_forget_in_child)
