"""Messages between the kernel, the zygote and the workers, beside tasks and results."""

from __future__ import annotations

import socket
from array import array

PACKET = 1 << 20
WORKER_FDS = 4
MOST_FDS = 16  # with one message
FLUSH_NS = 100_000_000  # a chunk that runs longer than this shows its results so far
STOP, CONTEXT, CALL = 1, 2, 3  # control requests
IMPORTS = 2**32 - 1  # a reply without a request
LOADS = 2**32 - 3  # another one
PROFILE_RATE, PROFILE_EPOCH = (
    0xFF,
    8,
)  # of the word for samplers: samples a second; what numbers profiles, from this bit on
INITIALIZER_FAILED = 77  # exit code


def receive(end: socket.socket) -> tuple[bytes, list[int]]:
    """Receive one packet and its descriptors, which programs started from here do not inherit (with
    `socket.recv_fds` they do).
    """
    room = socket.CMSG_SPACE(MOST_FDS * array("i").itemsize)
    data, ancillary, _, _ = end.recvmsg(PACKET, room, socket.MSG_CMSG_CLOEXEC)
    fds = array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) // fds.itemsize * fds.itemsize])
    return data, list(fds)
