"""The bridge's main: a Ray driver that does what the kernel says and tells what becomes of it.

Messages from the kernel: (open, address, workers, init, actor), (send, key, pack, name) with the pack's
buffers, (tell, key), (ask, key, number) and (measure,) with one, (kill, key, reason), (resize, workers, first),
(release, name), (fetch, number, name, index), (close,). To the kernel: (opened, actors), (reached, dashboard,
cluster), (came, key, label, host, pid), (gone, key, reason), (replied, pack, single) with buffers, (failed, pack,
text), (answered, number, good, value), (measured, key, value), (fetched, number) with buffers or none, (spares,
count), (broken, text), (note, text).

The main thread obeys, one receives, and Ray's own call back. The main one lives as long as the process: the
system ends Ray's servers with the thread that started them.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
from typing import Any

from ..... import _csched
from ..ray_inputs import identity
from . import head
from .actors import Actors
from .trouble import in_plain_words
from .wire import Wire

LOOK_SECONDS = 1.0
LEAVE_SECONDS = 3.0  # for taking leave of a borrowed cluster
ABANDON_SECONDS = 4.0  # after the death of the kernel, until this process is ended from outside Python
PR_SET_CHILD_SUBREAPER = 36
SLOW_MODULE = "rfc3987_syntax"


class Bridge:
    """One cluster for one kernel."""

    def __init__(self, wire: Wire, kernel: int, folder: str) -> None:
        self.wire = wire
        self._kernel = kernel
        self._inbox: queue.SimpleQueue[tuple[tuple[Any, ...], list[memoryview]]] = queue.SimpleQueue()
        self._actors: Actors | None = None
        self._ray: Any = None
        self._own = True
        self._folder = folder
        self._servers: list[int] = []  # an own Ray's

    def run(self) -> None:
        """Serve the kernel until it closes the bridge or dies."""
        threading.Thread(target=self._receive, name="cellmill-receive", daemon=True).start()
        looked = time.monotonic()
        while True:
            if time.monotonic() - looked >= LOOK_SECONDS:
                looked = time.monotonic()
                self._look()
            try:
                what, buffers = self._inbox.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if what[0] == "close":
                self._leave()
                os._exit(0)
            self._obey(what, buffers)

    def _obey(self, what: tuple[Any, ...], buffers: list[memoryview]) -> None:
        verb, *rest = what
        if verb == "open":
            self._open(*rest)
        elif self._actors is None:
            return
        elif verb == "send":
            key, pack, name = rest
            self._actors.send(key, pack, name, buffers)
        elif verb == "tell":
            (key,) = rest
            self._actors.tell(key, bytes(buffers[0]))
        elif verb == "ask":
            key, number = rest
            self._actors.ask(key, number, bytes(buffers[0]))
        elif verb == "measure":
            self._actors.measure(bytes(buffers[0]))
        elif verb == "kill":
            self._actors.kill(*rest)
        elif verb == "resize":
            self._actors.resize(*rest)
        elif verb == "release":
            self._actors.kept.release(*rest)
        elif verb == "fetch":
            self._actors.kept.fetch(*rest)
        elif verb == "end":
            self._give_up(*rest)
        elif verb == "watch":
            self._actors.watch(*rest)
        elif verb == "fill":
            self._actors.fill()

    # -- the beginning

    def _open(self, address: str | None, workers: int, init: dict[str, Any], actor: dict[str, Any]) -> None:
        self._own = address is None
        try:
            self._ray, dashboard = self._connect(address, workers, init)
            self.wire.send(("reached", link_of(dashboard), identity(self._ray)))
            self._actors = Actors(self._ray, self._own, actor, self.wire, self._call_soon)
            self._actors.open(workers)
        except BaseException as error:
            self._give_up(in_plain_words(error, address))

    def _connect(self, address: str | None, workers: int, init: dict[str, Any]) -> tuple[Any, str | None]:
        """Return Ray, and where its dashboard is."""
        os.environ.update(head.environment() if address is None else {"RAY_USAGE_STATS_ENABLED": "0"})
        os.environ.pop("RAY_ADDRESS", None)
        ray = imported()
        logging.getLogger("ray").setLevel(logging.ERROR)
        if address is None:
            context = head.start(ray, workers, self._folder, init)
            self._servers = head.servers()
        else:
            context = ray.init(address, **{"log_to_driver": False, "configure_logging": False} | init)
        signal.signal(signal.SIGTERM, lambda *_: self._abandon())  # Ray has put its own there
        return ray, getattr(context, "dashboard_url", None)

    def _call_soon(self, *what: Any) -> None:
        self._inbox.put((what, []))

    # -- the end

    def _receive(self) -> None:
        """Messages into the inbox; when the kernel is gone, so is everything else at once."""
        poll = select.poll()
        poll.register(self.wire.socket, select.POLLIN)
        poll.register(self._kernel, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll()]
            if self._kernel in ready:
                break
            message = self.wire.receive()
            if message is None:
                break
            self._inbox.put(message)
        self._abandon()

    def _abandon(self) -> None:
        """The kernel is dead."""
        self._leave()
        head.remove(self._folder)
        os._exit(1)

    def _give_up(self, text: str) -> None:
        self._leave()
        self.wire.send(("broken", text))
        os._exit(1)

    def _leave(self) -> None:
        """An own Ray is ended, without asking it; of a borrowed one our actors, and our connection."""
        if self._own:
            head.kill_below()
            head.remove(self._folder)
            return
        if self._ray is None:
            return
        goodbye = threading.Thread(target=self._take_leave, daemon=True)
        goodbye.start()
        goodbye.join(LEAVE_SECONDS)  # whatever Ray has not done by then, it does for a driver that is gone

    def _take_leave(self) -> None:
        with contextlib.suppress(Exception):
            if self._actors is not None:
                self._actors.close()
            self._ray.shutdown()

    # -- while it lasts

    def _look(self) -> None:
        """Once a second."""
        gone = [pid for pid in self._servers if head.ended(pid)]
        if gone:
            said = head.complaint(self._folder)
            self._give_up(f"its server process {gone[0]} has ended" + (f" ({said})" if said else ""))
        if self._own:
            head.reap()
        if self._actors is not None:
            self._actors.look()


def imported() -> Any:
    """Import Ray without a module that takes seconds of processor time and that it does not use: where Jupyter is
    installed, jsonschema, of which Ray wants no formats, makes a grammar for one.
    """
    spared = SLOW_MODULE not in sys.modules
    if spared:
        sys.modules[SLOW_MODULE] = None  # type: ignore[assignment]
    try:
        import ray
    finally:
        if spared:
            del sys.modules[SLOW_MODULE]
    return ray


def link_of(place: str | None) -> str:
    """Return the link to what Ray names by host and port; "" for nothing."""
    return f"http://{place}" if place and "://" not in place else place or ""


def main() -> None:
    """`python -c ... SOCKET KERNEL FOLDER`: the numbers of a descriptor and of the process that may not die, and the
    folder for what Ray writes, which ends with it.
    """
    end, kernel, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wire = Wire(socket.socket(fileno=end))
    try:
        watched = os.pidfd_open(kernel)
        # threads of Python's, which do the same in order, wait while a call of Ray's keeps the GIL
        rc = _csched.lib.csched_end_with(os.dup(watched), int(ABANDON_SECONDS * 1e9), os.fsencode(folder))
    except OSError:
        rc = -1
    if rc or os.getppid() != kernel:
        head.remove(folder)
        os._exit(1)
    Bridge(wire, watched, folder).run()
