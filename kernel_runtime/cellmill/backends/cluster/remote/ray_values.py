"""Results that stay in Ray's object store on the node where they were made: one more value of the pack's call.

So they belong to Ray's driver and not to the actor, and outlive it. The driver notes in the reply where they are: the
reference of each has room for that.
"""

from __future__ import annotations

import os
import pickle
import threading
from typing import Any, NamedTuple, Self

from ....errors import WorkerLostError
from ....serialization.payload import Encoded
from ....task import size_text
from ..pack import PACKED
from ..values.proxies import ENDS_PACK
from ..values.stores import Parts, is_alone

PLACE_BYTES = 1024  # of a reference: more than Ray's own names take
MARK_BYTES = 16
LOOK_SECONDS = 0.1  # between chances for an interrupt
_here = threading.local()


class RayKey(NamedTuple):
    """Names a value. ``place``: the object of its pack (see `placed`); ``number``: of the value in it; ``task``: that
    made it.
    """

    place: bytes
    number: int
    task: str

    def lost(self, size: int) -> WorkerLostError:
        """Return the error of one who asks for the value in vain."""
        return WorkerLostError(
            f"the value of {self.task}, {size_text(size)}, is lost: it was in Ray's object store, on a node that is "
            "gone. Make that call again; with proxies=False such values come to the kernel at once.",
            function=self.task.partition(" ")[0],
        )


class Bundle:
    """The values of one pack that stay, in parts. ``alone``: it has one task, so that nothing changes what that returns
    before Ray has it; the same holds for a value that ends its pack, or that nothing else refers to. Of others there
    are copies here.
    """

    def __init__(self, *, alone: bool) -> None:
        self.mark = os.urandom(MARK_BYTES)  # of the places in the reply
        self.values: list[list[bytes | memoryview]] = []
        self._alone = alone

    def add(self, encoded: Encoded) -> int:
        """Keep a value; its place."""
        last = self._alone or encoded.size >= ENDS_PACK
        buffers = [each if last or is_alone(each) else bytes(each) for each in encoded.buffers]
        self.values.append([encoded.data, *buffers])
        return len(self.values) - 1


def begin(records: int) -> Bundle:
    """The calling thread runs a pack of so many bytes of records from now on."""
    bundle = _here.bundle = Bundle(alone=records == PACKED.size)
    return bundle


def end() -> None:
    """That pack is over."""
    _here.bundle = None


class RayValues:
    """A remote worker's end. ``name``: of the kernel's."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make it from what the kernel's end tells."""
        return cls(**config)

    def hold(self, encoded: Encoded, token: bytes, task: str) -> RayKey | None:
        """Keep a value with this pack; None where packs return one value alone (Ray's client)."""
        bundle: Bundle | None = getattr(_here, "bundle", None)
        if bundle is None:
            return None
        return RayKey(bundle.mark.ljust(PLACE_BYTES, b"\0"), bundle.add(encoded), task)

    def get(self, key: RayKey) -> Parts | None:
        """Return the value's parts, where Ray has them; None where it has not."""
        import ray
        from ray._private.serialization import _object_ref_deserializer

        reference = _object_ref_deserializer(*pickle.loads(key.place))
        while not ray.wait([reference], timeout=LOOK_SECONDS)[0]:
            pass
        try:
            return Parts(ray.get(reference)[key.number])
        except ray.exceptions.RayError:
            return None


def placed(reply: memoryview, mark: bytes, name: tuple[Any, ...]) -> memoryview:
    """Return a reply whose references say where their values are: Ray's name of the pack's object."""
    place = pickle.dumps(name, 5).ljust(PLACE_BYTES, b"\0")
    if len(place) > PLACE_BYTES:
        raise ValueError(f"Ray's name of an object takes {len(place)} bytes")
    return memoryview(bytes(reply).replace(mark.ljust(PLACE_BYTES, b"\0"), place))
