"""The kernel's side of being watched: it starts the process that answers, and tells it names when it is free to.

Figures, pausing and the cancelling of tasks that have not begun need no Python thread (csched/src/outside.c). The
thread here tells names and arguments, and does what only Python can: it interrupts tasks that run, and drops the
elements that maps hold back.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import registry, run_registry
from ..backends._observing import SharedPage
from ..backends._protocol import Backend
from ..diagnostics import notices
from ..diagnostics.blame import OUTSIDE, cancelling
from ..errors import CellmillError
from ..history import RunCounter, RunRecord
from ..run_registry import Run
from . import words

__all__ = ["SETTING", "Serving", "serve", "start_by_setting", "stop"]

SETTING = "CELLMILL_SERVE"
PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from cellmill.outside.server import main; sys.path.pop(0); "
    "main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])"
)
START_SECONDS = 30.0
JOIN_SECONDS = 5.0
MOST_MESSAGE = 65536
PAUSE = 0.02  # seconds between two texts about runs that begin and end
MOST_ENDED = 50  # runs that are over and still told of


class _Shown:
    """One executor's backend, as the server knows it."""

    def __init__(self, number: int, backend: Backend, page: SharedPage) -> None:
        self.number, self.page = number, page
        self._backend = weakref.ref(backend)
        self.ended: deque[dict[str, Any]] = deque(maxlen=MOST_ENDED)
        self.of_workers: dict[str, Any] = {}

    @property
    def backend(self) -> Backend | None:
        return self._backend()


class Serving:
    """This process is watched, until `stop`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: list[_Shown] = []
        self._numbers = 0
        self._news = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._told_at = 0.0
        self._dirty = False
        try:
            self._start()
        except BaseException:
            os.close(self._news)
            raise
        self._undo = [
            run_registry.on_run_started(self._run_started),
            run_registry.on_run_ended(self._run_ended),
        ]
        registry.made.append(self._show)
        for executor in registry.open_executors():
            self._show(executor)
        self._thread = threading.Thread(target=self._listen, name="cellmill-outside", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"process {os.getpid()} can be watched: cellmill.attach({os.getpid()})"

    # -- the process

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryFile() as errors:
            command = [
                sys.executable,
                "-P",
                "-c",
                START,
                PACKAGE_PARENT,
                str(theirs.fileno()),
                str(os.getpid()),
            ]
            try:
                self._process = subprocess.Popen(
                    [*command, _title()],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise CellmillError(
                    f"the process that answers watchers could not be started: {error}"
                ) from error
            theirs.close()
            ours.settimeout(START_SECONDS)
            try:
                message = json.loads(ours.recv(MOST_MESSAGE) or b"{}")
            except OSError as error:
                message = {"error": f"it did not answer: {error}"}
            if message.get("do") != "ready":
                ours.close()
                self._process.kill()
                self._process.wait()
                errors.seek(0)
                why = message.get("error") or errors.read().decode(errors="replace").strip()[-500:]
                raise CellmillError(f"this process cannot be watched: {why or 'its server ended at once'}")
        self.socket = Path(message["socket"])
        ours.settimeout(None)
        self._socket = ours

    def stop(self) -> None:
        """End the process that answers; watchers are told that no kernel is here."""
        global _current
        with _lock:
            if _current is self:
                _current = None
        self._let_go()
        with contextlib.suppress(OSError):
            self._socket.send(b'{"do": "stop"}', socket.MSG_DONTWAIT)
            self._socket.shutdown(socket.SHUT_RDWR)
        if threading.current_thread() is not self._thread:
            self._thread.join(JOIN_SECONDS)
        try:
            self._process.wait(JOIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _let_go(self) -> None:
        for undo in self._undo:
            undo()
        with contextlib.suppress(ValueError):
            registry.made.remove(self._show)

    def close_in_child(self) -> None:
        """In a forked child: all this is the parent's."""
        self._socket.close()
        os.close(self._news)

    # -- executors and runs

    def _show(self, executor: registry.Registered) -> None:
        """Have the server show an executor from now on."""
        backend = executor._backend
        observer = backend.observer
        if observer is None:
            return
        page = observer.shared_page()
        with self._lock:
            if any(shown.backend is backend for shown in self._shown):
                return
            self._numbers += 1
            shown = _Shown(self._numbers, backend, page)
            self._shown = [each for each in self._shown if each.backend is not None] + [shown]
            message = {"do": "executor", "executor": shown.number, "backend": backend.name}
            with contextlib.suppress(OSError):  # the server has ended: the thread says so
                socket.send_fds(self._socket, [json.dumps(message).encode()], [page.descriptor])

    def _run_started(self, run: Run) -> None:
        self._changed()

    def _run_ended(self, run: Run, record: RunRecord, backend: RunCounter) -> None:
        for shown in self._shown:
            if shown.backend is backend:
                shown.ended.append(words.of_ended(record))
        self._changed()

    def _changed(self) -> None:
        """Tell names at once, as what follows may keep this thread for long; but not for each of many runs."""
        if time.monotonic() - self._told_at > PAUSE and self._lock.acquire(blocking=False):
            try:
                self._tell(whole=False)
            finally:
                self._lock.release()
        elif not self._dirty:
            self._dirty = True
            with contextlib.suppress(OSError):
                os.eventfd_write(self._news, 1)

    def _tell(self, *, whole: bool) -> None:
        self._told_at = time.monotonic()
        self._dirty = False
        for shown in self._shown:
            backend = shown.backend
            if backend is None:
                continue
            if whole:
                shown.of_workers = words.of_workers(backend)
            with contextlib.suppress(CellmillError):  # it has just been shut down
                shown.page.tell(words.text_of(backend, shown.ended, shown.of_workers, shown.page.most_text))

    # -- the thread

    def _listen(self) -> None:
        try:
            for message in self._messages():
                self._do(message)
        finally:
            self._let_go()
            self._socket.close()
            os.close(self._news)
        if _current is self:
            _ended_by_itself(self)

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            wait = PAUSE if self._dirty else None
            either: list[Any] = [self._socket, self._news]
            ready = select.select(either, [], [], wait)[0]
            if self._news in ready:
                os.eventfd_read(self._news)
            if self._dirty and time.monotonic() - self._told_at > PAUSE:
                yield {"do": "tell runs"}
            if self._socket in ready:
                try:
                    data = self._socket.recv(MOST_MESSAGE)
                except OSError:
                    return
                if not data:
                    return
                yield json.loads(data)

    def _do(self, message: dict[str, Any]) -> None:
        do = message["do"]
        if do in ("tell", "tell runs"):
            with self._lock:
                self._tell(whole=do == "tell")
            return
        shown = next((each for each in self._shown if each.number == message["executor"]), None)
        backend = shown.backend if shown is not None else None
        if backend is None:
            return
        with cancelling(OUTSIDE):
            for run in run_registry.runs_of(backend):
                if do == "cancel_all" or (run.id == message["run"] and run.started_ns >= message["opened"]):
                    run.stop()
            if do == "cancel_all":
                backend.cancel_everything()


_current: Serving | None = None
_lock = threading.Lock()
_by_setting = False


def serve() -> Serving:
    """Let other processes of this user watch this one, by `cellmill.attach`, and pause and cancel its work.

    A small process beside this one answers them, also while this one computes without a pause. It ends with this one,
    by `Serving.stop`, or by ``%cellmill serve off``.
    """
    global _current
    with _lock:
        if _current is None:
            _current = Serving()
        return _current


def stop() -> bool:
    """End it; whether this process was watched."""
    found = _current
    if found is not None:
        found.stop()
    return found is not None


def start_by_setting() -> None:
    """Serve where the environment says so, once; what prevents it is said, and the program goes on."""
    global _by_setting
    if _by_setting or os.environ.get(SETTING, "").strip().lower() in ("", "0", "off", "no", "false"):
        return
    _by_setting = True
    try:
        serve()
    except (CellmillError, OSError) as error:
        notices.warn(f"this process is not watched, as {SETTING} asks: {error}")


def _ended_by_itself(serving: Serving) -> None:
    global _current
    with _lock:
        _current = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        serving._process.wait(JOIN_SECONDS)
    if not registry.ended:
        notices.warn("the process that answered watchers has ended; cellmill.serve() starts another")


def _title() -> str:
    """What this process is, in words: its notebook, or its script."""
    notebook = os.environ.get("JPY_SESSION_NAME")
    if notebook and registry.in_kernel():
        return notebook
    return " ".join(sys.argv) or "python"


def _at_exit() -> None:
    if _current is not None:
        _current.stop()


def _leave_to_parent() -> None:
    global _current, _by_setting, _lock
    if _current is not None:
        with contextlib.suppress(ValueError):
            registry.made.remove(_current._show)
        _current.close_in_child()
    _current, _by_setting, _lock = None, True, threading.Lock()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_leave_to_parent)
