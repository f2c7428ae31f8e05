"""Classes that arrive by value: made without what the user's own code does when a class is made.

The class was made before, elsewhere: `__init_subclass__`, a metaclass and the `__init__` of an enumeration's members
have run there, with arguments that only the class statement has. What they left is in the class, and comes with it.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from cloudpickle import cloudpickle

from . import subclasses
from .import_log import users_own
from .replacements import MAINS

_by_value: Any = cloudpickle
OF_MEMBERS = frozenset(
    ("_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_")
)  # that enumerations set themselves


def _is_users(cls: Any) -> bool:
    module = cls.__module__
    return module in MAINS or users_own(str(getattr(sys.modules.get(module), "__file__", None) or ""))


def skeleton(
    metaclass: Any, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], tracker: None, extra: None
) -> type:
    """Make an empty class, which gets its attributes later; the arguments are those of cloudpickle."""
    with _without_hooks(bases):
        if not _is_users(metaclass):
            made: type = _by_value._make_skeleton_class(metaclass, name, bases, namespace, tracker, extra)
            return made
        resolved = types.resolve_bases(bases)
        if resolved is not bases:
            namespace = {**namespace, "__orig_bases__": bases}
        plain: Any = next(each for each in metaclass.__mro__ if not _is_users(each))
        found: type = plain.__new__(metaclass, name, resolved, dict(namespace))
    return found


@contextlib.contextmanager
def _without_hooks(bases: tuple[Any, ...]) -> Iterator[None]:
    """In the block the user's `__init_subclass__` are not called, and those of packages are."""
    kinds = dict.fromkeys(kind for base in types.resolve_bases(bases) for kind in base.__mro__)
    hooks = [
        (kind, vars(kind)["__init_subclass__"])
        for kind in kinds
        if "__init_subclass__" in vars(kind) and _is_users(kind)
    ]
    for kind, _ in hooks:
        type.__setattr__(kind, "__init_subclass__", classmethod(_passed_on(kind)))
    try:
        yield
    finally:
        for kind, hook in hooks:
            type.__setattr__(kind, "__init_subclass__", hook)


def _passed_on(kind: Any) -> Any:
    def hook(cls: type, **_: Any) -> None:
        super(kind, cls).__init_subclass__()

    return hook


# -- enumerations


def base_of_members(cls: Any) -> Any:
    """The built-in type that members are, `object` if they are none; None where only its own code knows how to make
    them.
    """
    if any(type(member) is not cls for member in cls._member_map_.values()):
        raise pickle.PicklingError(
            f"the enumeration {cls.__qualname__} has members of a later one, as autoreload leaves it: its members are "
            f"not those that it finds by name. Import it again (from {cls.__module__} import {cls.__qualname__})"
        )
    kind = cls._member_type_
    found = next((each for each in kind.__mro__ if not each.__flags__ & 1 << 9), object)
    return found if found is object or found in subclasses.READ else None


def members_of(cls: Any, base: Any) -> dict[str, tuple[Any, Any]]:
    """By name the value of each member, other names for it included, and its content as an object of ``base``."""
    read: Any = subclasses.READ.get(base, lambda _: None)
    return {name: (member.value, read(member)) for name, member in cls.__members__.items()}


def attributes_of(cls: Any) -> dict[str, dict[str, Any]]:
    """By name what members have besides, as their `__init__` or `__new__` has set it."""
    found = {}
    for member in cls._member_map_.values():
        held = {key: value for key, value in vars(member).items() if key not in OF_MEMBERS}
        if held:
            found[member._name_] = held
    return found


def enumeration(
    bases: tuple[Any, ...],
    name: str,
    qualname: str,
    members: Mapping[str, tuple[Any, Any]],
    module: str,
    base: Any,
    tracker: None,
    extra: None,
) -> type[Enum]:
    """Make an enumeration of these members, which get their attributes later."""
    metaclass: Any = type(bases[-1])
    namespace = metaclass.__prepare__(name, bases)
    left = iter(members.values())

    def __new__(cls: Any, *_: Any) -> Any:
        value, content = next(left)
        made = object.__new__(cls) if base is object else base.__new__(cls, content)
        made._value_ = value
        return made

    namespace["__new__"] = __new__
    for member, (value, _) in members.items():
        namespace[member] = value
    with _without_hooks(bases):
        made: Any = metaclass.__new__(metaclass, name, bases, namespace)
    made.__module__, made.__qualname__ = module, qualname
    if "__new_member__" in vars(made):
        del made.__new_member__  # the class has its own, or none
    found: type[Enum] = made
    return found
