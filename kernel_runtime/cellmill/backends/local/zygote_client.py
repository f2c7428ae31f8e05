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
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...errors import BackendError
from ...zygote import PACKET, World
from .scheduler import held

PACKAGE_PARENT = str(Path(__file__).resolve().parents[3])
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from cellmill.zygote import main; "
    "sys.path.pop(0); main(int(sys.argv[2]), int(sys.argv[3]))"
)
ANSWER_SECONDS = 30.0


class Exit:
    """How a worker process ended."""

    def __init__(self, status: int, peak_rss: int) -> None:
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        self.exitcode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        self.peak_rss = peak_rss
        self.output = ""  # the last of what its task printed


def current_world() -> World:
    """This process's surroundings, as workers shall see them."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:
        directory = "/"
    return World(directory, dict(os.environ), list(sys.path))


_RAW_ENVIRONMENT = getattr(os.environ, "_data", os.environ)  # compares without decoding


class WorldWatch:
    """Notices that the directory, the environment or the path changed since the last look."""

    def __init__(self) -> None:
        self._seen: tuple[str, dict[Any, Any], list[str]] | None = None
        self.digest = 0  # of the surroundings at the last look
        self.path: list[str] = []

    def touched(self) -> bool:
        """The same at a glance of 0.4 us, which keeps the GIL; only in other C libraries than glibc not quite."""
        return bool(held.csched_surroundings() != self.digest) or (
            self._seen is not None and sys.path != self.path
        )

    def changed(self) -> bool:
        """True at the first look and after every change."""
        self.digest = held.csched_surroundings()
        try:
            directory = os.getcwd()
        except FileNotFoundError:
            directory = "/"
        seen = self._seen
        if seen is not None and seen[0] == directory and seen[1] == _RAW_ENVIRONMENT and seen[2] == sys.path:
            return False
        self.path = list(sys.path)
        self._seen = (directory, dict(_RAW_ENVIRONMENT), self.path)
        return True


class Zygote:
    """One zygote process; `shared` is the one that all executors of this process use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens = itertools.count(1)
        self._forked: dict[int, tuple[threading.Event, list[int]]] = {}
        self._on_exit: dict[int, Callable[[Exit], None]] = {}
        self._ended_early: dict[int, Exit] = {}
        self._preloaded: dict[str, tuple[threading.Event, list[Any]]] = {}
        self.alive = True
        self.pidfd = os.pidfd_open(os.getpid())
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PACKET)
            fds = (theirs.fileno(), self.pidfd)
            command = [sys.executable, "-P", "-c", START, PACKAGE_PARENT, *map(str, fds)]
            try:
                self.process = subprocess.Popen(
                    command, pass_fds=fds, stdin=subprocess.DEVNULL, start_new_session=True
                )
            except OSError as error:
                ours.close()
                raise BackendError(
                    f"the process that starts workers could not be started ({error}): close other programs or "
                    "raise the limits on processes and memory, then call again"
                ) from error
        self._socket = ours
        self.world = current_world()
        self._send("world", self.world)
        self._thread = threading.Thread(target=self._listen, name="cellmill-zygote", daemon=True)
        self._thread.start()

    def _send(self, *message: Any, fds: Iterable[int] = ()) -> None:
        try:
            with self._lock:
                socket.send_fds(self._socket, [pickle.dumps(message)], list(fds))
        except OSError as error:
            raise BackendError(
                f"the process that starts workers is gone ({error}); call again to start it anew"
            ) from None

    def fork(self, config: dict[str, Any], fds: list[int], on_exit: Callable[[Exit], None]) -> int:
        """A new worker's process id; ``on_exit`` is called from another thread when it has ended."""
        token = next(self._tokens)
        answer: tuple[threading.Event, list[int]] = (threading.Event(), [])
        self._forked[token] = answer
        try:
            self._send("fork", token, config, fds=[*fds, self.pidfd])
            answer[0].wait(ANSWER_SECONDS)
            if not answer[1]:
                raise BackendError(self._why_no_worker())
        finally:
            self._forked.pop(token, None)
        pid = answer[1][0]
        with self._lock:
            early = self._ended_early.pop(pid, None)
            if early is None:
                self._on_exit[pid] = on_exit
        if early is not None:
            on_exit(early)
        return pid

    def _why_no_worker(self) -> str:
        if self.alive:
            return (
                f"no worker process came within {ANSWER_SECONDS:.0f} s: the machine is very busy, or a preloaded "
                "module hangs; try `%cellmill restart`"
            )
        code = self.process.poll()
        return (
            f"the process that starts workers ended (exit code {code}); its messages on the terminal or in the "
            "Jupyter log tell why, and the next call starts it anew"
        )

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        """Signal a worker's process tree; a worker that is gone already is no error."""
        with contextlib.suppress(BackendError):
            self._send("kill", pid, int(number))

    def signal(self, pid: int, number: int) -> None:
        """Signal a worker, and nothing that it started."""
        with contextlib.suppress(BackendError):
            self._send("signal", pid, int(number))

    def update_world(self, world: World) -> None:
        """What later workers shall see."""
        if world != self.world:
            self.world = world
            self._send("world", world)

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
        while True:
            try:
                data = self._socket.recv(PACKET)
            except OSError:
                data = b""
            if not data:
                break
            self._hear(*pickle.loads(data))
        self.alive = False
        for event, _ in [*self._forked.values(), *self._preloaded.values()]:
            event.set()
        with self._lock:
            orphans, self._on_exit = self._on_exit, {}
        for pid, callback in orphans.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            callback(Exit(signal.SIGKILL, 0))

    def _hear(self, kind: str, *rest: Any) -> None:
        if kind == "forked":
            token, pid = rest
            answer = self._forked.get(token)
            if answer is not None:
                answer[1].append(pid)
                answer[0].set()
        elif kind == "preloaded":
            name, seconds, problem = rest
            event, result = self._preloaded.get(name, (threading.Event(), []))
            result += [seconds, problem]
            event.set()
        elif kind == "exited":
            pid, status, peak = rest
            ended = Exit(status, peak)
            with self._lock:
                callback = self._on_exit.pop(pid, None)
                if callback is None:
                    self._ended_early[pid] = ended
            if callback is not None:
                try:
                    callback(ended)
                except Exception as error:
                    warnings.warn(f"cellmill: after a worker's end: {error!r}", RuntimeWarning, stacklevel=1)

    def close(self) -> None:
        """Let the zygote end; it takes its workers along."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.pidfd)


_shared: Zygote | None = None
_shared_lock = threading.Lock()


def shared() -> Zygote:
    """The zygote of this process, started on first use and again when it has died."""
    global _shared
    with _shared_lock:
        if _shared is None or not _shared.alive:
            _shared = Zygote()
        return _shared


def close_shared() -> None:
    """At interpreter exit, after the executors: the zygote ends, and is waited for."""
    global _shared
    with _shared_lock:
        zygote, _shared = _shared, None
    if zygote is not None:
        zygote.close()


def _forget_in_child() -> None:
    """A forked child of user code has no zygote: the parent's is not its to command."""
    global _shared, _shared_lock
    _shared_lock = threading.Lock()
    if _shared is not None:
        for fd in (_shared._socket.detach(), _shared.pidfd):
            with contextlib.suppress(OSError):
                os.close(fd)
        _shared = None


os.register_at_fork(after_in_child=_forget_in_child)
