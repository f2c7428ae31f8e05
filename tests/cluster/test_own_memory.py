"""Memory of one holder: it is used again, when nothing refers to it any more."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cellmill.backends.cluster.values import own_memory
from tests.support.helpers import SECONDS

numpy = pytest.importorskip("numpy")
SIZE = 5_000_000


@pytest.fixture
def spares(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = own_memory._Spares()
    monkeypatch.setattr(own_memory, "_spares", made)
    return made


def copied(fill: int, size: int = SIZE) -> Any:
    array = numpy.frombuffer(own_memory.own_copy(memoryview(bytes([fill]) * size)), numpy.uint8)
    assert array.flags.writeable
    assert array.ctypes.data % 64 == 0
    return array


def place(array: Any) -> int:
    return int(array.ctypes.data)


def test_memory_is_used_again_when_nothing_refers_to_it(spares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_memory, "SPARE_SECONDS", SECONDS)
    first = copied(1)
    at, part = place(first), first[SIZE // 2 :].reshape(2, -1)
    del first
    second = copied(2)  # a part of the first one is left
    assert place(second) != at
    assert (part == 1).all()
    del part
    third = copied(3, SIZE - 100)
    assert place(third) == at
    assert (third == 3).all()
    assert (second == 2).all()
    assert third.size == SIZE - 100


def test_a_spare_that_is_too_small_or_too_large_is_dropped(
    spares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_memory, "SPARE_SECONDS", SECONDS)
    for size in (2 * SIZE, SIZE, 3 * SIZE):
        copied(1, size)
        assert len(spares._free) == 1
        assert len(spares._free[0][-1]) == size


def test_a_task_without_a_copy_has_the_memory_of_the_one_before(
    spares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_memory, "SPARE_SECONDS", SECONDS)
    at = place(copied(1))
    for _ in range(2):  # each takes a copy: the memory goes from one to the next
        taken = copied(2)
        own_memory.task_begins()
        assert place(taken) == at
        del taken
        assert len(spares._free) == 1
    own_memory.task_begins()
    assert not spares._free


def test_a_task_leaves_other_threads_theirs(spares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_memory, "SPARE_SECONDS", SECONDS)
    mine = copied(1)
    with ThreadPoolExecutor(1) as other:
        other.submit(copied, 1).result(SECONDS)
        del mine
        assert len(spares._free) == 2
        own_memory.task_begins()  # it had a copy
        own_memory.task_begins()
        assert len(spares._free) == 1
        for _ in range(2):
            other.submit(own_memory.task_begins).result(SECONDS)
        assert not spares._free


def test_spares_are_dropped_and_the_thread_ends(spares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_memory, "SPARE_SECONDS", 0.01)
    arrays = [copied(i) for i in range(4)]
    thread = spares._thread
    assert thread.is_alive()
    del arrays[0], arrays[1]
    assert (arrays[0] == 1).all()
    arrays.clear()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert not spares._free
    assert spares._thread is None
    copied(7)  # another one begins
    assert spares._thread is not None


def test_a_forked_child_has_spares_of_its_own() -> None:
    held = copied(1)
    with own_memory._spares._lock:  # as another thread may have it
        child = os.fork()
        if not child:
            signal.alarm(int(SECONDS))
            with contextlib.suppress(BaseException):
                os._exit(0 if int(copied(2)[0]) == 2 and int(held[0]) == 1 else 1)
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_no_two_holders_have_the_same_memory(spares: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_memory, "SPARE_SECONDS", 0.0)
    together = threading.Barrier(4)

    def use(fill: int) -> None:
        held: list[Any] = []
        together.wait(SECONDS)
        for turn in range(50):
            array = copied(fill)
            array[turn] = 100 + fill
            held = [*held[-(turn % 3) :], array] if turn % 3 else [array]
            for each in held:
                assert int((each == fill).sum()) >= SIZE - 1
                assert int((each[:50] == 100 + fill).sum()) == 1

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(use, i) for i in range(4)]:
            future.result(SECONDS)
    gc.collect()
