"""The walk behind `captured`: for each kind of object what pickling by value takes of it, and how that is compared.

An entry is (kind of comparison, object, key, value), as csched/python/capture.h has them. Members are compared by
identity, so every object that may change in place gets entries of its own.
"""

from __future__ import annotations

import array
import collections
import copyreg
import functools
import gc
import sys
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

from . import (
    capture_arrays,
    class_reads,
    function_reads,
    identities,
    module_reads,
    molecules,
    package_changes,
)
from .capture_entries import ATOMS, ATTRIBUTE, BUFFER, CALL, CELL, DICT, ITEM, ITERABLE, LIST
from .object_state import (
    GENERATORS,
    caches_properties,
    default_pickling,
    has_hidden_state,
    is_built_later,
    is_seed_sequence,
    kind_of_generator,
    pickled_state,
    same_members,
    written,
)
from .references import (
    ABSENT,
    CACHED,
    cell_value,
    dispatch_registry,
    importable,
    names_changed,
    names_of,
    names_stored,
)

_PLAIN_CONTAINERS = (
    *(list, dict, set, collections.deque),
    *(collections.OrderedDict, collections.defaultdict, collections.Counter),
)
_CACHES_OF_CLASSES = (
    "__slotnames__",
    "_abc_impl",
    "_value2member_map_",
)  # the last: of enum.Flag, composed members
_CACHING = ("pandas.", "scipy.")  # packages whose objects keep these caches
_CACHES_OF_OBJECTS = ("_cache", "_item_cache", "_has_sorted_indices", "_has_canonical_format")
_OF_CLASSES = frozenset(
    ("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", *_CACHES_OF_CLASSES)
)
_OURS = (
    *("cellmill.parallel", "cellmill.serialization.shared", "cellmill.futures", "cellmill.executor"),
    "cellmill.worker_process.displays",
)
_COUNTING = (
    "sklearn.neighbors._kd_tree",
    "sklearn.neighbors._ball_tree",
)  # what is asked of them, in their state
_HEAVY = 1 << 20  # the weight of what is compared by pickling it


class Walk:
    """Walk for all that can be reached from the roots given to `go`.

    ``weight``: how much there is to compare. ``mutable``: whether something can be changed in place. ``reads``: data of
    the user's modules that functions read by name, see `module_reads`. ``package_names``: what they read by name of
    packages and workers may have otherwise, see `package_changes`. ``identities``: objects that only their identity
    tells from others, by id. ``by_text``: functions of cells that call `globals()`. ``stores``: globals that functions
    assign.
    ``in_worker``: for what tasks change there, so without what they cannot or may change (`watched`).
    """

    def __init__(self, memory: Callable[[Any], bytes | None], *, in_worker: bool = False) -> None:
        self.in_worker = in_worker
        self.stores: set[str] = set()
        self.entries: list[tuple[int, Any, Any, Any]] = []
        self.names: list[str] = []
        self.reads: dict[tuple[str, str], Any] = {}
        self.package_names: dict[tuple[str, str], Any] = {}
        self.identities: dict[int, Any] = {}
        self.by_text: list[str] = []
        self.weight = 0
        self.mutable = False
        self._memory = memory
        self._weights: dict[str, int] = {}  # by variable
        self._seen: dict[int, Any] = {}
        self._todo: list[tuple[Any, str]] = []

    def go(self, root: Any, name: str = "") -> None:
        """Walk from here, and on to whatever is reached."""
        self._todo.append((root, name))
        while self._todo:
            value, name = self._todo.pop()
            kind = type(value)
            if kind in ATOMS or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            before = self.weight
            try:
                self._visit(value, kind, name)
            except Exception:  # of the object's own code; what can be pickled is compared by that
                self.opaque(value, name)
            self._weights[name] = self._weights.get(name, 0) + self.weight - before

    def go_as(self, code: types.CodeType, value: Any, name: str) -> None:
        """Walk from what code refers to by this name: of modules of the user's to what it reads there."""
        self.go(value, name)
        self.of_module(value, code)
        self.go(None)  # on to what that has added

    def largest(self) -> str:
        """The variable that costs most to compare."""
        return max(self._weights, key=self._weights.__getitem__) if self._weights else ""

    def note(self, kind: int, value: Any, key: Any, held: Any, name: str) -> None:
        """Add one entry."""
        self.entries.append((kind, value, key, held))
        self.names.append(name)
        self.weight += 2

    def follow(self, values: Any, name: str) -> None:
        """Walk on to these."""
        values = tuple(values)
        if not ATOMS.issuperset(map(type, values)):
            self._todo.extend((value, name) for value in values if type(value) not in ATOMS)

    def attribute(self, value: Any, key: str, name: str, *, follow: bool = True) -> Any:
        """An attribute whose object stays the same as long as it is not set anew."""
        try:
            found = getattr(value, key)
        except (AttributeError, ValueError):
            found = ABSENT
        self.note(ATTRIBUTE, value, key, found, name)
        if follow:
            self.follow((found,), name)
        return found

    # -- by kind

    def _visit(self, value: Any, kind: type, name: str) -> None:
        if kind is types.FunctionType:
            self._function(value, name)
        elif issubclass(kind, type):
            self._class(value, name)
        elif issubclass(kind, types.ModuleType):
            if sys.modules.get(value.__name__) is not value:
                self.members(vars(value), name)
        elif kind in _PLAIN_CONTAINERS or kind is bytearray or kind is array.array:
            self.members(value, name)
        elif kind is tuple or kind is frozenset:
            self.follow(value, name)
        elif not self._wrapper(value, kind, name):
            self._object(value, kind, name)

    def _function(self, function: types.FunctionType, name: str) -> None:
        if importable(function):
            function_reads.of_function(self, function, name)
            return
        self.identities[id(function)] = function
        if "globals" in function.__code__.co_names and "globals" not in function.__globals__:
            self.by_text.append(function.__qualname__)
        registry = dispatch_registry(function)
        if registry is not None:
            self.members(registry, name)
            return
        for key in ("__code__", "__defaults__", "__kwdefaults__"):
            self.attribute(function, key, name or "its defaults")
        self.members(function.__dict__, name or "its attributes", mutable=bool(function.__dict__))
        self.stores.update(names_stored(function.__code__))
        self.mutable = self.mutable or not names_changed(function.__code__).isdisjoint(
            (*names_of(function.__code__), *function.__code__.co_freevars)
        )
        namespace = function.__globals__
        for key in names_of(function.__code__):
            value = namespace.get(key, ABSENT)
            self.note(ITEM, namespace, key, value, key)
            if value is not ABSENT:
                self._todo.append((value, key))
                self.of_module(value, function.__code__)
            else:
                module_reads.of_builtin(self, key)
        for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            value = cell_value(cell)
            self.note(CELL, cell, "cell_contents", value, key)
            self._todo.append((value, key))
            self.of_module(value, function.__code__)
        for module in module_reads.of_imports(self, function.__code__, namespace.get("__package__")):
            package_changes.of_module(self, module, function.__code__)
        function_reads.of_made_function(self, function)

    def _body(self, code: types.CodeType, variables: dict[str, Any]) -> None:
        """The body of a loop or a task, by the notebook's variables that it reads."""
        for name, value in variables.items():
            self.note(ITEM, variables, name, value, name)
            self._todo.append((value, name))
            self.of_module(value, code)
        for name in code.co_names:
            if name not in variables:
                module_reads.of_builtin(self, name)
        for module in module_reads.of_imports(self, code, None):
            package_changes.of_module(self, module, code)

    def of_module(self, value: Any, code: types.CodeType) -> None:
        """What code reads by name from a module that it refers to."""
        module_reads.of_module(self, value, code)
        package_changes.of_module(self, value, code)

    def _class(self, cls: type, name: str) -> None:
        if importable(cls) or cls.__flags__ & 1 << 9 == 0:  # found by its name; not made by a class statement
            class_reads.of_class(self, cls, name)
            return
        name = cls.__name__ if self.in_worker else name or cls.__name__
        self.attribute(cls, "__bases__", name)
        type.__getattribute__(cls, "__annotations__")  # the first read makes an empty dict in the class
        copyreg._slotnames(cls)  # type: ignore[attr-defined]  # pickling an instance notes it in the class
        self.follow((type(cls), *cls.__bases__), name)
        (namespace,) = [found for found in gc.get_referents(cls.__dict__) if type(found) is dict]
        if is_built_later(namespace):
            kept = written(namespace)
            self.note(CALL, cls, lambda: same_members(written(namespace), kept), None, name)
            self.follow([x for k, x in kept.items() if k not in _OF_CLASSES], name)
            self.mutable = True
            return
        self.members(namespace, name, of_class=True)

    def members(self, value: Any, name: str, *, of_class: bool = False, mutable: bool = True) -> None:
        """A container, by its members; an array of numbers, by its bytes."""
        self.mutable = self.mutable or mutable
        if isinstance(value, dict):
            held: Any = tuple(x for pair in list(dict.items(value)) for x in pair)
            self.note(DICT, value, None, held, name)
            self.follow([x for k, x in dict.items(value) if k not in _OF_CLASSES] if of_class else held, name)
            if isinstance(value, collections.OrderedDict):
                held = tuple(value)
                self.note(ITERABLE, value, None, held, name)
            if isinstance(value, collections.defaultdict):
                self.attribute(value, "default_factory", name)
        elif isinstance(value, list):
            held = tuple(value)
            self.note(LIST, value, None, held, name)
            self.follow(held, name)
        elif isinstance(value, (bytearray, array.array)):
            self.buffer(value, name)
            return
        else:
            held = tuple(value)
            self.note(ITERABLE, value, None, held, name)
            self.follow(held, name)
        self.weight += len(held)

    def buffer(self, value: Any, name: str) -> None:
        """An object with the buffer protocol, by its bytes."""
        self.memory(BUFFER, value, None, name)

    def memory(self, kind: int, value: Any, key: Any, name: str) -> None:
        """The bytes of an object, compared as this kind of entry."""
        held = self._memory(value)
        self.mutable = True
        if held is None:  # too much
            return
        self.note(kind, value, key, held, name)
        self.weight += len(held) // 64

    def _wrapper(self, value: Any, kind: type, name: str) -> bool:
        """Note an object that passes calls or look-ups on to another, or that is found by its name."""
        if kind is staticmethod or kind is classmethod:
            self.follow((value.__func__,), name)
        elif kind is types.MethodType:
            self.follow((value.__func__,), name)
            self.follow((value.__self__,), name or "self")
        elif kind is property:
            self.follow((value.fget, value.fset, value.fdel), name)
        elif kind is functools.partial:
            self.attribute(value, "func", name)
            name = name or "its arguments"
            for key in ("args", "keywords"):
                self.attribute(value, key, name)
            # by its name it would come to be: code that asks so makes no change
            attributes = value.__reduce__()[2][3] or None
            self.note(CALL, value, lambda: (value.__reduce__()[2][3] or None) is attributes, None, name)
            self.follow((attributes,), name)
        elif kind is CACHED:
            self.follow((value.__wrapped__,), name)
            function_reads.of_wrapped(self, value, name)
        elif kind.__module__ in _OURS:
            if hasattr(value, "__wrapped__"):
                self.attribute(value, "__wrapped__", name)
            elif kind.__name__ == "Shared" and not self.in_worker and not value.closed:
                self.follow(module_reads.classes_in(value.value), name)
        elif issubclass(kind, Enum):
            self.follow((kind, value.value), name)
            if not self.in_worker or not importable(
                kind
            ):  # else functions bring attributes, and take them away
                self._attributes(value, kind, name)
        elif kind is types.BuiltinFunctionType:
            self.follow((value.__self__,), name or "self")
        elif kind.__module__ == "typing" or kind is types.GenericAlias:  # nothing of these changes
            self.follow((getattr(value, "__origin__", None), *getattr(value, "__args__", ())), name)
        else:
            return False
        return True

    def _object(self, value: Any, kind: type, name: str) -> None:
        name = name or "self"
        if identities.told_by_identity(kind):
            self.identities[id(value)] = value
        if getattr(kind, "watches_itself", False):
            if not self.in_worker:
                self._body(value.code, value.variables)
            return
        if capture_arrays.visit(self, value, kind, name):
            return
        if not default_pickling(kind) or has_hidden_state(kind):
            self.opaque(value, name)
            return
        self.attribute(value, "__class__", name)
        self.mutable = True
        self._attributes(value, kind, name)
        for slot in copyreg._slotnames(kind):  # type: ignore[attr-defined]
            self.attribute(value, slot, name)
        if isinstance(value, (list, dict)):
            self.members(value, name)
        elif isinstance(value, tuple):
            self.follow(value, name)

    def _attributes(self, value: Any, kind: type, name: str) -> None:
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            self.note(ATTRIBUTE, value, "__dict__", attributes, name)
            if self.in_worker and (caches_properties(kind) or kind.__module__.startswith(_CACHING)):
                kept = {key: part for key, part in attributes.items() if key not in _CACHES_OF_OBJECTS}
                for key, part in kept.items():
                    self.note(ITEM, attributes, key, part, name)
                self.follow(kept.values(), name)
            else:
                self.members(attributes, name)

    def opaque(self, value: Any, name: str) -> None:
        """Add an object whose state only its own code knows: it is pickled again and compared."""
        kind = type(value)
        if is_seed_sequence(kind):
            spawned = value.n_children_spawned
            self.note(CALL, value, lambda: value.n_children_spawned == spawned, None, name)
            self.mutable = True
            return
        if kind.__module__ in GENERATORS or (self.in_worker and kind_of_generator(kind)):
            return  # tasks draw from children, which are made of its state at each call
        if self.in_worker and kind.__module__ in _COUNTING:
            return
        if self.in_worker and (before := molecules.state_of(value)) is not None:
            self.note(CALL, value, lambda: molecules.state_of(value) == before, None, name)
            self.weight += _HEAVY
            return
        try:
            pickled_state(value)  # the first time may fill caches, which are no change
            held = pickled_state(value)
        except Exception:
            return  # it cannot be sent either: a function that it has to go with says so
        self.mutable = True
        self.note(CALL, value, lambda: pickled_state(value) == held, None, name)
        self.weight += _HEAVY
