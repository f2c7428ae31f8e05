"""What a remote worker keeps of a large value: the memory in which its task left it, unless others can change that."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import pytest

from cellmill.backends.cluster.values import stores
from cellmill.serialization import payload
from cellmill.serialization.payload import Encoded

numpy = pytest.importorskip("numpy")
SIZE = 1_000_000


def encoded(box: list[Any]) -> Encoded:
    """Encode the value in a box, of which nothing is left there."""
    return payload.encode(box.pop())


def read(data: Any) -> Any:
    """Return what tasks read of what is kept."""
    return data.load() if isinstance(data, stores.Parts) else payload.decode_own(memoryview(data))


def test_an_array_that_only_its_task_had_is_kept_as_it_is() -> None:
    kept = stores.kept(encoded([{"a": numpy.arange(SIZE), "b": numpy.ones(SIZE)}]))
    assert type(kept) is stores.AsLeft
    first, second = read(kept), read(kept)
    first["a"][:] = 7  # each reader has its own
    assert (second["a"] == numpy.arange(SIZE)).all()
    assert (read(kept)["b"] == 1).all()


@pytest.mark.parametrize("how", ["named", "in a list", "a part", "weakly", "of a bytearray"])
def test_an_array_that_others_can_change_is_copied(how: str) -> None:
    array = numpy.zeros(SIZE, numpy.uint8)
    elsewhere: Any = array
    if how == "in a list":
        elsewhere = [array]
    elif how == "a part":
        elsewhere, array = array, array[:-1]
    elif how == "weakly":
        array = numpy.zeros(SIZE, numpy.uint8)
        elsewhere = weakref.ref(array)
    elif how == "of a bytearray":
        elsewhere = bytearray(SIZE)
        array = numpy.frombuffer(elsewhere, numpy.uint8)
    box = [array]
    if how != "named":
        del array
    form = encoded(box)
    kept = stores.kept(form)
    del form
    assert type(kept) is bytes
    changed = elsewhere() if how == "weakly" else elsewhere[0] if how == "in a list" else elsewhere
    if changed is not None:
        changed[0] = 9
    assert read(kept)[0] == 0


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("beside", [True, False])
def test_another_process_gets_a_list(protocol: int, beside: bool) -> None:
    kept = stores.kept(encoded([("x", numpy.arange(SIZE), numpy.ones(3 * SIZE, numpy.uint8))]))
    buffers: list[pickle.PickleBuffer] = []
    out_of_band = {"buffer_callback": buffers.append} if beside and protocol == 5 else {}
    data = pickle.dumps(kept, protocol, **out_of_band)
    assert b"cellmill" not in data  # a worker that lacks it may hold the value
    got = pickle.loads(data, buffers=[bytearray(buffer) for buffer in buffers])
    assert type(got) is list
    again = pickle.loads(pickle.dumps(got, protocol))  # and pass it on
    for each in (got, again):
        first, second = (stores.received(each, alone=False).load() for _ in range(2))
        for text, numbers, ones in (first, second):
            assert text == "x"
            assert (numbers == numpy.arange(SIZE)).all()
            assert (ones == 1).all()
            numbers[:] = 7  # each reader has its own
            ones[:] = 7


@pytest.mark.parametrize("at", range(17))
def test_what_nothing_else_has_is_read_in_place_where_arrays_can_be(at: int) -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(numpy.arange(SIZE), 5, buffer_callback=buffers.append)
    memory = numpy.zeros(8 * SIZE + 32, numpy.uint8)
    there = memory[at : at + 8 * SIZE]
    there[:] = numpy.frombuffer(buffers[0], numpy.uint8)
    array = stores.received([data, None, there], alone=True).load()
    assert (array == numpy.arange(SIZE)).all()
    assert array.flags.aligned
    assert array.flags.writeable
    assert numpy.shares_memory(array, memory) == (there.ctypes.data % stores.ALIGNED == 0)
    there.flags.writeable = False
    array = stores.received([data, None, there], alone=True).load()
    array += 1
    assert array[0] == 1
    assert not there[:8].any()


def test_bytes_in_large_pages_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    value = [numpy.arange(SIZE), b"a" * SIZE, bytearray(b"b" * SIZE), numpy.ones((300, 1000), order="F")]
    plain = stores.joined(payload.encode(value))
    monkeypatch.setattr(stores, "MAPPED", 0)
    large = stores.joined(payload.encode(value))
    assert type(large) is bytes
    assert large == plain
