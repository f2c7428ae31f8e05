"""What a class has of its own that its objects' behaviour follows from, without what only comes of its use."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ..by_value.class_making import OF_MEMBERS

_NONE = frozenset(
    ("__dict__", "__weakref__", "__slotnames__", "_abc_impl", "__firstlineno__", "__static_attributes__")
)
# Members count by themselves; the second has composed flags that were asked for, too.
_BY_MEMBERS = frozenset(("_member_map_", "_value2member_map_"))


def content_of(cls: type) -> list[Any]:
    """Names and values in turn; of an enumeration also its members, which elsewhere count by their names."""
    held = {name: value for name, value in vars(cls).items() if name not in _NONE}
    if not held.get("__annotations__", True):  # their first read makes an empty dict in the class
        del held["__annotations__"]
    members: list[Any] = []
    if issubclass(cls, Enum):
        held = {name: value for name, value in held.items() if name not in _BY_MEMBERS}
        for name, member in cls._member_map_.items():
            besides = {key: value for key, value in vars(member).items() if key not in OF_MEMBERS}
            members += [name, member._name_, member._value_, besides]
    return members + [part for pair in held.items() for part in pair]
