"""Arrays that tasks share with later ones: those that a function refers to, and those in shared objects.

What one task writes to them another task of the same worker would see, and none elsewhere. So they are read-only inside
tasks, whatever their size, and the error of a write tells which variable it is and what to do.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType, TracebackType
from typing import Any

from ..by_value import pickling, subclasses, unsettled, views
from ..by_value.import_log import is_installed
from ..errors import text_of
from ..randomness.generators import Board
from . import class_parts, payload

_DEEPEST, _MOST_PARTS, _MOST_NAMES = 3, 100, 5
_PARTS = (list, tuple, set, frozenset)


class Pickler(pickling.Pickler):
    """Arrays arrive read-only."""

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(obj, getattr(numpy, "ndarray", ())):
            return _locked(obj)
        return super().reducer_override(obj)


def _locked(array: Any) -> Any:
    reduced = array.__reduce_ex__(5)
    if type(reduced) is not tuple:
        return reduced
    function, arguments, *rest = reduced
    if (
        arguments and type(arguments[0]) is pickle.PickleBuffer
    ):  # what is made of a read-only buffer is read-only
        buffer = pickle.PickleBuffer(arguments[0].raw().toreadonly())
        return function, (buffer, *arguments[1:]), *rest
    state = rest[0] if rest else None
    return function, arguments, (state, subclasses.left_out_of(array)), None, None, _set_and_lock


def _set_and_lock(array: Any, parts: tuple[Any, dict[str, Any]]) -> None:
    """Give a new array its state."""
    subclasses.fill_array(array, parts)
    with contextlib.suppress(Exception):  # a class of its own that has none of it
        array.flags.writeable = False
        _locks[id(array)] = weakref.ref(array, partial(_unlock, id(array)))


_locks: dict[int, weakref.ref[Any]] = {}  # arrays that were made read-only here


def _unlock(place: int, _: object) -> None:
    _locks.pop(place, None)


def _is_locked(array: Any) -> bool:
    """Whether it is read-only only because other tasks have it, too."""
    while not isinstance(array, (memoryview, bytes)):
        known = _locks.get(id(array))
        if known is not None and known() is array:
            return True
        array = getattr(array, "base", None)
        if array is None:
            return False
    return True


class ThawingPickler(pickling.Pickler):
    """Arrays that tasks share are copied, and may be written to."""

    def reducer_override(self, obj: Any) -> Any:
        numpy = sys.modules.get("numpy")
        if (view := views.reduced(obj)) is not None:
            return view
        if type(obj) is getattr(numpy, "ndarray", None) and not obj.flags.writeable and _is_locked(obj):
            return obj.copy(order="K").__reduce_ex__(5)
        return super().reducer_override(obj)


def thawed(value: Any, keep: Callable[[pickle.PickleBuffer], bool]) -> bytes:
    """The pickle of a result: arrays in it that tasks share are its owner's to write to."""
    return class_parts.dumps_in_parts(value, keep, ThawingPickler)


def encode(
    value: Any, board: Board | None = None, pickler: type[pickling.Pickler] = Pickler
) -> payload.Encoded:
    """A payload with it; arrays arrive read-only, unless by another pickler. ``board`` takes generators in it."""
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < payload.BUFFER_MIN:
            return True
        buffers.append(raw)
        return False

    def pickled() -> bytes:
        buffers.clear()
        target = io.BytesIO()
        made = pickler(target, protocol=5, buffer_callback=keep)
        made.board = board
        made.dump(value)
        return target.getvalue()

    with views.kept(views.found_in(value)):
        return payload.Encoded(unsettled.at_one_moment(pickled), buffers)


# -- the note on errors of writes

_CONTEXT: Any = vars(BaseException)[
    "__context__"
].__get__  # runs no code of the error's class, which may exit


def explain(error: BaseException) -> None:
    """Add to an error of a task which variable it wrote to and what to do, if that is what it did."""
    with contextlib.suppress(Exception):  # whatever code the objects have
        # pandas hides it behind one of its own
        if _is_of_a_write(error) or _is_of_a_write(_CONTEXT(error)):
            names = _names(error.__traceback__)
            if names:
                BaseException.add_note(error, _note(names))


def _is_of_a_write(error: BaseException | None) -> bool:
    return error is not None and (
        issubclass(type(error), (ValueError, TypeError)) and "read-only" in text_of(error)
    )


def _note(names: list[str]) -> str:
    listed = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    one = len(names) == 1
    return (
        f"In tasks {listed} {'is' if one else 'are'} read-only. Arrays that a function refers to, those of shared "
        "objects and those that several elements of a map have in common are the same for several tasks, and what is "
        "written there reaches neither the notebook nor the other workers. Take "
        f"{'it' if one else 'them'} as an argument, one for each call, or write to a copy (.copy()); return what is to "
        "be kept."
    )


def _names(traceback: TracebackType | None) -> list[str]:
    """Return the names of read-only arrays in the innermost of the user's frames that has any."""
    frames: list[FrameType] = []
    while traceback is not None:
        if not is_installed(traceback.tb_frame.f_code.co_filename):
            frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    for frame in reversed(frames):
        found = [name for name, value in _variables(frame) if _is_read_only(value)]
        if found:
            return found
    return []


def _variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    code, local = frame.f_code, frame.f_locals
    for name in code.co_names:
        if name in frame.f_globals:
            yield name, frame.f_globals[name]
    for name in (*code.co_freevars, *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        if name in local:
            yield name, local[name]


def _is_read_only(value: Any, depth: int = 0) -> bool:
    """Return whether a value is, or contains, an array that cannot be written to."""
    flags = getattr(value, "flags", None)
    writeable = getattr(flags, "writeable", None)
    if isinstance(writeable, bool):
        return not writeable
    return depth < _DEEPEST and any(_is_read_only(part, depth + 1) for part in _parts(value))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())[:_MOST_PARTS]
    if isinstance(value, _PARTS):
        return list(value)[:_MOST_PARTS]
    if type(value).__module__.partition(".")[0] == "pandas":
        return [*getattr(getattr(value, "_mgr", None), "arrays", ()), getattr(value, "_ndarray", None)]
    if isinstance(value, type) or callable(value) or type(value).__name__ == "module":
        return []
    return list(getattr(value, "__dict__", {}).values())[:_MOST_PARTS]
