"""What an item of a loop has become in a worker, for the notebook's own object."""

from __future__ import annotations

import collections
from typing import Any


def move(old: Any, new: Any) -> None:
    """Give an object what another of its type holds; objects within it stay the same where they can."""
    if old is new:
        return
    if type(old) is not type(new):
        raise TypeError(f"the item has become a {type(new).__name__}, and was a {type(old).__name__}")
    if isinstance(old, dict):
        held = {key: _moved(old.get(key), value) for key, value in new.items()}
        old.clear()
        old.update(held)
    elif isinstance(old, (list, collections.deque)):
        held_list = [_moved(old[i] if i < len(old) else None, value) for i, value in enumerate(new)]
        old.clear()
        old.extend(held_list)
    elif isinstance(old, set):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray):
        old[:] = new
    elif (type(old).__module__, type(old).__name__) == ("numpy", "ndarray") and old.shape == new.shape:
        old[...] = new
    elif not hasattr(old, "__dict__"):
        raise TypeError(
            f"the loop changes its item, a {type(old).__name__}: write it as a value of the item (-> out)"
        )
    if isinstance(getattr(old, "__dict__", None), dict):
        attributes = {key: _moved(old.__dict__.get(key), value) for key, value in new.__dict__.items()}
        old.__dict__.clear()
        old.__dict__.update(attributes)


def _moved(old: Any, new: Any) -> Any:
    """The member as it is now: the old object where it is of the same kind."""
    if type(old) is type(new) and isinstance(old, (dict, list, set, collections.deque, bytearray)):
        move(old, new)
        return old
    return new
