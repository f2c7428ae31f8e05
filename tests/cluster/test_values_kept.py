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
    """Return what tasks read of what is kept, in this process or from the bytes that another one gets."""
    return data.load() if isinstance(data, stores.AsLeft) else payload.decode_own(memoryview(data))


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
def test_another_process_gets_the_bytes_of_a_payload(protocol: int, beside: bool) -> None:
    kept = stores.kept(encoded([("x", numpy.arange(SIZE))]))
    buffers: list[pickle.PickleBuffer] = []
    out_of_band = {"buffer_callback": buffers.append} if beside and protocol == 5 else {}
    data = pickle.dumps(kept, protocol, **out_of_band)
    assert b"cellmill" not in data  # a worker that lacks it may hold the value
    got = pickle.loads(data, buffers=buffers)
    assert type(got) is bytes
    assert got == stores.joined(encoded([("x", numpy.arange(SIZE))]))
    assert (read(got)[1] == numpy.arange(SIZE)).all()


def test_bytes_in_large_pages_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    value = [numpy.arange(SIZE), b"a" * SIZE, bytearray(b"b" * SIZE), numpy.ones((300, 1000), order="F")]
    plain = stores.joined(payload.encode(value))
    monkeypatch.setattr(stores, "MAPPED", 0)
    large = stores.joined(payload.encode(value))
    assert type(large) is bytes
    assert large == plain
