"""Classes by value in calls and results: each is pickled by itself, once as long as it stays as it is.

The class of an object takes far more time to pickle than the object, and its receiver mostly has it already.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any, NamedTuple

from ..by_value import pickling
from ..by_value.pickling import dumps_in_parts, meeting
from ..errors import PayloadError
from .payload import inputs

__all__ = ["class_of", "dumps_in_parts"]

MOST_KEPT = 64
LARGEST = 64 << 10  # bytes; what is larger is sent with the large buffers in it apart


class _Part(NamedTuple):
    """The pickle of one version of a class, and what goes by value in it; no data: it cannot be by itself."""

    data: bytes | None
    met: tuple[Any, ...] = ()


_parts: OrderedDict[tuple[str, str], _Part] = OrderedDict()  # by the identities and versions of classes


def _part_of(cls: type, /) -> tuple[Any, ...] | None:
    """Return what a class that went by value before is reduced to in a call or result; None: what it is by itself."""
    name = pickling.name_of(cls)
    found = _parts.get(name)
    if found is None:
        found = _parts[name] = _packed(cls, name)
        if len(_parts) > MOST_KEPT:
            _parts.popitem(last=False)
    if found.data is None:
        return None
    if meeting.met is not None:
        meeting.met.extend(found.met)
    return class_of, (*name, found.data)


def _packed(cls: type, name: tuple[str, str]) -> _Part:
    before = meeting.met, inputs.packing, inputs.foreign
    met: list[Any] = []
    meeting.met, inputs.packing, inputs.foreign = met, _refuse, _refuse
    try:
        data = pickling.dumps(cls)
    except Exception:  # it is told where the call or result is pickled
        return _Part(None)
    finally:
        meeting.met, inputs.packing, inputs.foreign = before
    small = len(data) <= LARGEST and pickling.name_of(cls) == name
    return _Part(data, tuple(met)) if small else _Part(None)


def _refuse(_: Any) -> Any:
    raise PayloadError("a class that refers to a future or a shared object goes with its call")


def class_of(identity: str, version: str, data: bytes) -> Any:
    """Return the class in this version: that which is here, or what is made of its pickle."""
    found = pickling.whole_class(identity, version)
    return pickle.loads(data) if found is None else found


pickling.part_of = _part_of
