"""Packing elements of maps: see `pieces` for what comes of it."""

from __future__ import annotations

import contextlib
import io
import pickle
import time
import weakref
from collections import deque
from collections.abc import Callable
from types import FunctionType
from typing import Any

import cloudpickle

from ..by_value import argument_names, identities, iterators, pickling, replacements, unsettled, views
from ..by_value.pickle_texts import texts_of
from ..diagnostics import notices
from ..errors import PayloadError
from ..futures import Future
from ..randomness import given, own_streams
from . import foreign, payload
from .awaited import ElementInput, input_of
from .fixed import FIXED, fixed
from .payload import BUFFER_MIN
from .piece_loading import load_part
from .pieces import Bare, Copy, Piece, Plain, Refused, pack_plain, source_of
from .shared import Shared, ShareError, packing
from .unpicklable import explain_argument

MOST_KNOWN, MOST_ITERATORS = 256, 8
LARGEST_BARE = 1 << 16  # bytes of a pickle: what refers to a larger one is sent without a copy of it
_references = (Future, Shared)
_CONTAINERS = frozenset((list, dict))  # which can be changed: no need to look at the others
_by_value: weakref.WeakSet[type] = weakref.WeakSet()  # classes that workers cannot import


class _Pickler(pickling.Pickler):
    """A class that workers cannot import is left outside: a chunk carries each version of it once."""

    outside: Callable[[Any, Any], Any]

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        if isinstance(obj, type) and obj in _by_value:
            return self.outside(
                obj, pickling._name_of(obj, cloudpickle.cloudpickle._get_or_create_tracker_id(obj))
            )
        reduced = super().reducer_override(obj)
        if type(reduced) is tuple and reduced[0] is pickling._class_named:
            _by_value.add(obj)
            return self.outside(obj, reduced[1][-2:])
        return reduced


class Packer:
    """Packs the elements of one input. ``name`` is the function's, for errors.

    ``quiet``: between elements no code of the user runs, so that an object that comes several times is packed once.
    ``plain``: the kind that plain data is packed as.
    """

    plain: type = Plain

    def __init__(self, name: str, *, star: bool, quiet: bool) -> None:
        self._name = name
        self._star = star
        self._quiet = quiet
        self.made = 0  # bytes of all that was packed
        self.spent = 0  # nanoseconds that it took
        self._special: set[type] = {tuple, *_references}  # kinds of elements that plain pickle does not do
        argument_names.look_for_replacements()
        self._registry = bool(cloudpickle.list_registry_pickle_by_value())
        self.function: Any = None
        self.captured = identities.NONE  # of what the function refers to
        self._before: Any = None  # the element before, and what was made of its parts
        self._again: dict[int, tuple[Any, Piece | Bare]] = {}  # with the part, which it is found by
        self._copies: dict[int, tuple[Any, Copy]] = {}  # by the object that has the buffer
        self._classes: dict[Any, Bare] = {}  # by identity and version
        self._found: dict[Any, argument_names.Found] = {}  # by modules and names in elements: what they read
        self._inputs: dict[int, ElementInput] = {}  # by the future
        self._iterators: deque[Any] = deque(maxlen=MOST_ITERATORS)  # of the last elements
        self._parts: list[Any] = []
        self._taken: list[Copy] = []

    def pack(self, items: list[Any], stop: Callable[[], bool] = bool) -> list[Any]:
        """Pack elements until ``stop()`` is true; return what was packed."""
        if not items or (type(items[0]) not in _CONTAINERS and fixed(items)):
            return items
        packed: list[Any] = []
        start = time.monotonic_ns()
        foreign.look()
        with packing(self._refer, self._refer):
            while True:
                place, size = pack_plain(items, len(packed), Plain, packed)
                self.made += size
                if place == len(items):
                    break
                packed.append(self._other(items[place]))
                if stop():
                    break
        self.spent += time.monotonic_ns() - start
        return packed

    def _other(self, item: Any) -> Any:
        """Pack one element that is not plain data."""
        kind = type(item)
        if kind in FIXED:
            return item
        if self.captured:
            identities.look(item if self._star else (item,), self.captured, self._name)
        if kind is FunctionType:
            replacements.look_at(item)
        parts = item if self._star else (item,)
        own_streams.given(parts, self._name, self.function)
        for part in parts:
            if iterators.is_iterator(part):
                self._met_iterator(part)
        if kind in self._special or item is self._before:
            return self._reference(item) if issubclass(type(item), _references) else self._element(item)
        return self._usual(item)

    def _reference(self, thing: Any) -> Any:
        """What stays outside: a shared object, or what stands for a future."""
        if not issubclass(type(thing), Future):
            return thing
        known = self._inputs.get(id(thing))
        if known is not None and (self._quiet or thing._given is not True):
            return known.again()
        made = input_of(thing, pack_alone)
        if type(made) is ElementInput:
            self.made += made.awaited.size
            if not self._quiet:
                self._inputs.clear()  # the others' results would be kept
            if len(self._inputs) < MOST_KNOWN:
                self._inputs[id(thing)] = made
        return made

    def _met_iterator(self, iterator: Any) -> None:
        """Warn where several elements have the same one: each task goes on with a copy."""
        if any(iterator is each for each in self._iterators):
            iterators.tell_of(type(iterator), self._name, self.function)
        self._iterators.append(iterator)

    def _usual(self, item: Any) -> Any:
        """Pack an element with plain pickle, which works for most: thousands in some milliseconds."""
        self._before = item if self._quiet else None
        if views.found_in(item):
            return self._element(item)
        try:
            data = pickle.dumps(item, 5, buffer_callback=self._keep)
        except BaseException:
            return self._element(item)
        texts = texts_of(data)
        if payload.is_marked(texts) or self._registry:
            return self._element(item)
        if self._parts and issubclass(type(item), _references):
            (made,) = self._parts
            self._clear()
            return made
        given.look(item, texts, self._name, None)
        return self._piece_of(data, texts)

    def _look_at_names(self, texts: bytes) -> None:
        """Warn where what elements read of modules changes while they are taken."""
        found = argument_names.in_arguments(texts, (), None)
        if found is None:
            return
        before = self._found.setdefault(found.places, found)
        if (
            before is not found
            and before.capture.changed() is not None
            and (found.reads or found.package_names)
        ):
            shown = notices.listed([".".join(place) for place in (*found.reads, *found.package_names)][:3])
            notices.give(
                ("elements read", self._name, found.places),
                f"what elements of {self._name} read of modules was changed while they were taken ({shown}). Tasks "
                "find it as it is when elements are sent, several at once. Make it a part of the elements.",
            )

    def _piece_of(self, data: bytes, texts: bytes) -> Piece | Bare:
        self.made += len(data)
        if not self._quiet:
            self._look_at_names(texts)
        if not self._taken and not self._parts and len(data) < LARGEST_BARE:
            return Bare(data)
        made = Piece(data, tuple(self._taken), tuple(self._parts))
        self._clear()
        return made

    def _clear(self) -> None:
        self._taken.clear()
        self._parts.clear()

    def forget(self) -> None:
        """Forget packed objects, which may have changed since."""
        self._before = None
        self._again.clear()
        self._copies.clear()
        self._inputs.clear()

    def _refer(self, part: Any) -> tuple[Any, tuple[Any, ...]]:
        self._parts.append(self._reference(part))
        return load_part, (len(self._parts) - 1,)

    def _element(self, item: Any) -> Any:
        try:
            before, self._before = self._before, item if self._quiet else None
            if type(item) is tuple and type(before) is tuple and len(before) == len(item):
                again = any(new is old and not _easy(new) for new, old in zip(item, before, strict=True))
                if again and _are_apart(item):
                    return tuple([self._part(part) for part in item])
            elif item is before:
                return self._once(item)
            return self._piece(item)
        except BaseException as error:
            self._clear()
            return Refused(self._problem(item, error), type(item).__name__)

    def _part(self, part: Any) -> Any:
        if type(part) in FIXED:
            return part
        return self._reference(part) if issubclass(type(part), _references) else self._once(part)

    def _once(self, part: Any) -> Piece | Bare:
        """A part that came before, or that is beside one: packed by itself."""
        known = self._again.get(id(part))
        if known is None:
            known = (part, self._piece(part))
            if len(self._again) < MOST_KNOWN:
                self._again[id(part)] = known
            return known[1]
        made = known[1]
        if len(made.data if isinstance(made, Piece) else made) < BUFFER_MIN:
            return made.again()
        for copy in made.copies if isinstance(made, Piece) else ():
            copy.common = True
        return made

    def _piece(self, item: Any) -> Piece | Bare:
        kind, shared = type(item), views.found_in(item)
        if not shared and (kind is tuple or kind not in self._special):
            self._clear()
            with contextlib.suppress(Exception):  # cloudpickle knows more
                data = pickle.dumps(item, 5, buffer_callback=self._keep)
                texts = texts_of(data)
                if not payload.by_value_needed(texts):
                    given.look(item, texts, self._name, None)
                    return self._piece_of(data, texts)
        if not shared and len(self._special) < MOST_KNOWN:
            self._special.add(kind)

        def pickled() -> bytes:
            self._clear()
            target = io.BytesIO()
            pickler = _Pickler(target, protocol=5, buffer_callback=self._keep)
            pickler.outside = self._class
            pickler.dump(item)
            return target.getvalue()

        with views.kept(shared):
            data = unsettled.at_one_moment(pickled)
        texts = texts_of(data)
        given.look(item, texts, self._name, None)
        return self._piece_of(data, texts)

    def _class(self, cls: type, version: Any) -> Any:
        """A class that an element refers to, in the version that it is of."""
        known = self._classes.get(version)
        if known is None:
            known = Bare(pickling.dumps(cls))
            self.made += len(known)
            if len(self._classes) < MOST_KNOWN:
                self._classes[version] = known
        return self._refer(known)

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        if raw.nbytes < BUFFER_MIN:
            return True
        owner = raw.obj
        known = self._copies.get(id(owner)) if self._quiet else None
        if known is None:
            known = (owner, Copy(bytearray(raw), source_of(owner, raw.nbytes)))
            self.made += raw.nbytes
            if self._quiet and memoryview(owner).nbytes == raw.nbytes:  # all of it
                self._copies[id(owner)] = known
            self._taken.append(known[1])
        else:
            self._taken.append(known[1].again())
        return False

    def _problem(self, item: Any, error: BaseException) -> PayloadError:
        if isinstance(error, ShareError):
            made = PayloadError(f"{self._name} cannot be called: {error}")
            made.__cause__ = error.__cause__
            return made
        try:
            args = tuple(item) if self._star else (item,)
        except Exception:  # no arguments at all
            args = (item,)
        # what the search raises for Stop is held back here, so it is an element's
        made = explain_argument(self._name, args, {}, error)
        made.__cause__ = error
        return made


def pack_alone(value: Any) -> Any:
    """Pack one object as an element that is beside no others; return it as it is if it cannot be changed."""
    return Packer("a result", star=False, quiet=False).pack([value])[0]


def _are_apart(parts: tuple[Any, ...]) -> bool:
    """Whether no object comes twice, by itself or in a container: parts that are packed by themselves do not share."""
    found = [id(part) for part in parts if not _easy(part)]
    within = (id(each) for part in parts for each in identities.members(part))
    return len({*found}) == len(found) and {*found}.isdisjoint(within)


def _easy(part: Any) -> bool:
    return type(part) in FIXED or issubclass(type(part), _references)
