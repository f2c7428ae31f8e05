"""Messages between the kernel and the process that drives Ray."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from cellmill.backends.cluster.engines.raybridge.wire import MOST_PIECES, Wire


@pytest.fixture
def ends() -> Iterator[tuple[Wire, Wire]]:
    here, there = (Wire(end) for end in socket.socketpair())
    yield here, there
    here.close()
    there.close()


@pytest.mark.parametrize(
    "sizes", [[], [0], [3, 0, 5], [1 << 20, 0, 7], [5, 4 << 20, 5 << 20, 0, 6], [10] * (2 * MOST_PIECES + 1)]
)
def test_buffers_arrive_as_they_were(ends: tuple[Wire, Wire], sizes: list[int]) -> None:
    here, there = ends
    buffers = [os.urandom(size) for size in sizes]
    sender = threading.Thread(target=here.send, args=(("send", 3, None), buffers))
    sender.start()
    message = there.receive()
    sender.join()
    assert message is not None
    head, views = message
    assert head == ("send", 3, None)
    assert [bytes(view) for view in views] == buffers


def test_messages_of_many_senders_stay_whole(ends: tuple[Wire, Wire]) -> None:
    here, there = ends
    senders = [
        threading.Thread(target=lambda n=n: [here.send((n,), [bytes([n]) * 70_000]) for _ in range(20)])
        for n in range(4)
    ]
    for sender in senders:
        sender.start()
    for _ in range(80):
        message = there.receive()
        assert message is not None
        (number,), (view,) = message
        assert bytes(view) == bytes([number]) * 70_000
    for sender in senders:
        sender.join()


def test_other_shapes_than_bytes(ends: tuple[Wire, Wire]) -> None:
    here, there = ends
    here.send((), [memoryview(bytearray(24)).cast("d")])
    message = there.receive()
    assert message is not None
    assert message[1][0].nbytes == 24


def test_the_end(ends: tuple[Wire, Wire]) -> None:
    here, there = ends
    assert here.send(("last",))
    here.close()
    message = there.receive()
    assert message is not None
    assert message[0] == ("last",)
    assert there.receive() is None
    assert not there.send(("unknown",), [b"x"])


def test_the_end_in_the_middle_of_a_message() -> None:
    first, second = socket.socketpair()
    there = Wire(second)
    first.sendall(b"\x10\0\0\0\x01\0\0\0")
    first.close()
    assert there.receive() is None
    there.close()
