"""Comparison of numpy arrays and pandas frames: by fields and bytes of memory."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterator
from typing import Any

from .capture_entries import ARRAY, CALL, EQUAL, ITERABLE, LIST, Entries


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
    if kind is not numpy.ndarray and kind is not numpy.memmap:
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
        if kind in (pandas.DatetimeIndex, pandas.TimedeltaIndex):
            walk.attribute(value, "freq", name, follow=False)
        return True  # its values cannot be changed
    if walk.in_worker and issubclass(kind, pandas.api.extensions.ExtensionArray):
        before = value.copy()  # its pickle has caches, which reading fills
        walk.mutable = True
        walk.note(CALL, value, lambda: value.equals(before), None, name)
        walk.weight += value.nbytes // 64
        return True
    if kind not in (pandas.DataFrame, pandas.Series):
        return False
    if walk.in_worker:
        walk.note(CALL, value, _Unchanged(value), None, name)
        for block in value._mgr.blocks:
            walk.follow((block.values,), name)
        return True
    manager = walk.attribute(value, "_mgr", name, follow=False)
    flags = walk.attribute(value, "_flags", name, follow=False)
    walk.attribute(flags, "allows_duplicate_labels", name)
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


class _Unchanged:
    """Tells whether a frame or series is as it was, but for what its blocks hold. Reading may put these together.

    Of pandas' objects none is kept that shares their memory: writing would copy that then, and not be refused.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._named = self._named_now()
        self._axes = list(value._mgr.axes)
        self._blocks = self._blocks_now()

    def __call__(self) -> bool:
        if self._named != self._named_now():
            return False
        blocks = self._blocks_now()
        same = len(blocks) == len(self._blocks) and all(
            now[0] is before[0] for now, before in zip(blocks, self._blocks, strict=True)
        )
        axes = list(self._value._mgr.axes)
        if same and all(map(operator.is_, axes, self._axes)):
            return True
        return all(now.equals(before) for now, before in zip(axes, self._axes, strict=True)) and self._equal(
            blocks
        )

    def _equal(self, blocks: list[tuple[Any, Any]]) -> bool:
        pandas, now = sys.modules["pandas"], dict(_columns(blocks))
        before = dict(_columns(self._blocks))
        return now.keys() == before.keys() and all(
            pandas.Series(now[place]).equals(pandas.Series(before[place])) for place in now
        )

    def _named_now(self) -> tuple[Any, ...]:
        frequencies = [getattr(axis, "freq", None) for axis in self._value._mgr.axes]
        flags = self._value.flags.allows_duplicate_labels
        return dict(self._value.attrs), getattr(self._value, "_name", None), flags, frequencies

    def _blocks_now(self) -> list[tuple[Any, Any]]:
        return [(block.values, block.mgr_locs) for block in self._value._mgr.blocks]


def _columns(blocks: list[tuple[Any, Any]]) -> Iterator[tuple[int, Any]]:
    for values, places in blocks:
        for row, place in enumerate(places):
            yield int(place), values[row] if getattr(values, "ndim", 1) == 2 else values
