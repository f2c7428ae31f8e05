"""The process that answers for a kernel: it reads shared memory, so it needs nothing of the kernel's Python.

It ends with the kernel. Messages to and from the kernel go over a private pair of sockets; see `serving`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

import zmq

from ..errors import CellmillError
from . import wire
from .folder import Socket, prepared
from .kernel_view import KernelView
from .pages import Refused

MOST_MESSAGE = 65536
TELL_EVERY = 0.25  # seconds between two requests to the kernel for words
HELD = (
    "the kernel computes: what runs is interrupted, and what a map still holds back dropped, when it is free"
)


class Server:
    """Answers watchers of one kernel."""

    def __init__(self, kernel: socket.socket, pid: int, title: str) -> None:
        self._kernel = kernel
        self._pid, self._title = pid, title
        self._view = KernelView()
        self._told_at = 0.0
        self._began = time.time()
        self._place = Socket(prepared(), pid, title)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.set(zmq.LINGER, 0)
        self._socket.set(zmq.MAXMSGSIZE, wire.MOST_REQUEST)
        before = os.umask(0o177)
        self._socket.bind(f"ipc://{self._place.path}")
        os.umask(before)

    def run(self, pidfd: int) -> None:
        """Answer until the kernel ends, or says so."""
        self._say({"do": "ready", "socket": str(self._place.path)})
        poller = zmq.Poller()
        poller.register(self._kernel, zmq.POLLIN)
        poller.register(pidfd, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        while True:
            ready = dict(poller.poll())
            if pidfd in ready or (self._kernel.fileno() in ready and not self._hear()):
                return
            if self._socket in ready:
                self._answer()

    def close(self) -> None:
        """Accept no connection any more, and leave nothing behind."""
        self._socket.close(0)
        self._context.term()
        self._place.remove()

    # -- the kernel

    def _say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # full: the kernel has not been free for long; or it has ended
            self._kernel.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)

    def _hear(self) -> bool:
        """Take one message of the kernel; False: it is the last."""
        data, descriptors, _, _ = socket.recv_fds(self._kernel, MOST_MESSAGE, 1)
        if not data:
            return False
        message = json.loads(data)
        if message["do"] == "executor":
            self._view.add(message["executor"], message["backend"], descriptors[0])
        return bool(message["do"] != "stop")

    # -- watchers

    def _answer(self) -> None:
        """Answer one request, whatever it is."""
        frames = self._socket.recv_multipart()
        try:
            answer = wire.answer(self._do(wire.read_request(frames[-1])))
        except CellmillError as error:
            answer = wire.answer(error=str(error))
        self._socket.send_multipart([*frames[:-1], answer], zmq.DONTWAIT)

    def _do(self, asked: dict[str, Any]) -> Any:
        do, executor = asked["do"], asked.get("executor")
        while select.select([self._kernel], [], [], 0)[0]:  # an executor that has just been made
            if not self._hear():
                raise Refused("the kernel ends")
        if do == wire.LOOK:
            return self._look(asked.get("journeys") or 0)
        if do != wire.CANCEL:
            return {"executors": self._view.pause(do == wire.PAUSE, executor)}
        run = asked.get("run")
        count, rest = self._view.cancel_all(executor) if run is None else self._view.cancel_run(run)
        for message in rest:
            self._say(message)
        return {"cancelled": count, "rest": HELD}

    def _look(self, journeys: int) -> dict[str, Any]:
        now = time.monotonic()
        if now - self._told_at > TELL_EVERY:
            self._told_at = now
            self._say({"do": "tell"})
        return {
            "pid": self._pid,
            "title": self._title,
            "began": self._began,
            "executors": self._view.look(journeys),
        }


def _wait_for(kernel: int) -> int:
    """Return a descriptor that tells when the kernel ends."""
    pidfd = os.pidfd_open(kernel)
    if os.getppid() != kernel:
        sys.exit(0)  # it has ended, and the number may be another process's
    return pidfd


def main(descriptor: int, pid: int, title: str) -> None:
    """Serve the kernel with this process id, which started this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the kernel's to hear
    kernel = socket.socket(fileno=descriptor)
    pidfd = _wait_for(pid)
    try:
        server = Server(kernel, pid, title)
    except (CellmillError, OSError, zmq.ZMQError) as error:
        kernel.send(json.dumps({"do": "failed", "error": str(error)}).encode())
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.run(pidfd)
    finally:
        server.close()
