"""Comparison of numpy arrays and pandas frames: by fields and bytes of memory."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from .capture_entries import ARRAY, EQUAL, ITERABLE, LIST, Entries


def visit(walk: Entries, value: Any, kind: type, name: str) -> bool:
    """Note what there is to compare of a value of theirs; False: it is none."""
    module = str(kind.__module__).partition(".")[0]
    if module == "numpy":
        return _of_numpy(walk, value, kind, name)
    if module == "pandas":
        before = len(walk.entries)
        try:
            return _of_pandas(walk, value, name)
        except Exception:  # another pandas, with other insides
            del walk.entries[before:], walk.names[before:]
    return False


def _of_numpy(walk: Entries, value: Any, kind: type, name: str) -> bool:
    numpy = sys.modules["numpy"]
    if issubclass(kind, (numpy.dtype, numpy.generic)):
        return not issubclass(kind, numpy.void)  # a record is changed in place
    if kind is not numpy.ndarray:
        return False
    if walk.in_worker and not value.flags.writeable:
        return True
    if not value.dtype.hasobject:
        with contextlib.suppress(ValueError, TypeError, BufferError):  # dates and times, structures of these
            told = value.ctypes.data, value.shape, value.strides, value.dtype
            walk.memory(ARRAY, value, told, name)
            return True
    for key in ("shape", "strides"):
        walk.note(EQUAL, value, key, getattr(value, key), name)
    walk.attribute(value, "dtype", name)
    if value.dtype.hasobject:
        if value.dtype != object or not value.flags.c_contiguous:
            return False
        flat = value.reshape(-1)  # a view: its items are those of the array
        held = tuple(flat)
        walk.mutable = True
        walk.note(ITERABLE, flat, None, held, name)
        walk.follow(held, name)
        walk.weight += 10 * len(held)
        return True
    if not value.flags.c_contiguous:
        return False
    walk.buffer(value.reshape(-1).view(numpy.uint8), name)
    return True


def _of_pandas(walk: Entries, value: Any, name: str) -> bool:
    pandas = sys.modules["pandas"]
    kind = type(value)
    if issubclass(kind, pandas.Index):
        if kind is pandas.MultiIndex:
            walk.note(LIST, value._names, None, tuple(value._names), name)
        else:
            walk.attribute(value, "_name", name)
        return True  # its values cannot be changed
    if kind not in (pandas.DataFrame, pandas.Series):
        return False
    if walk.in_worker:  # reading may put its blocks together
        walk.note(LIST, value._mgr.axes, None, tuple(value._mgr.axes), name)
        for block in value._mgr.blocks:
            walk.follow((block.values,), name)
        return True
    manager = walk.attribute(value, "_mgr", name, follow=False)
    walk.attribute(value, "_flags", name, follow=False)
    for block in walk.attribute(manager, "blocks", name, follow=False):
        walk.attribute(block, "values", name)
        walk.attribute(block, "_mgr_locs", name, follow=False)
    axes = manager.axes
    walk.note(LIST, axes, None, tuple(axes), name)
    walk.follow(axes, name)
    walk.members(value.attrs, name)
    if kind is pandas.Series:
        walk.attribute(value, "_name", name)
    walk.mutable = True
    return True
