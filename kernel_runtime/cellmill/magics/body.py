"""A cell as a task: what runs in the worker. Imports nothing of the notebook."""

from __future__ import annotations

import builtins
import linecache
import marshal
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import PayloadError
from ..serialization.unpicklable import Partial, explain_sent_back
from .in_place import Watched
from .unsent import Unsent

if TYPE_CHECKING:
    from .own_objects import Key

ITEM = "__cellmill_item__"
VALUE = "__cellmill_value__"
KEPT_BACK = frozenset({"_", "__", "___", "__name__", "__builtins__", "__annotations__", VALUE})
_MISSING = object()
_BY_VALUE = (
    *(int, float, complex, str, bytes, type(None)),
    *(type, BuiltinFunctionType, ModuleType),
)
"""Objects of these types are sent as they are: nothing of them changes, or it is known by its name."""


def runs_here(backend: str) -> bool:
    """Whether its tasks run in this process, on the notebook's own objects."""
    return backend in ("threads", "inline")


class Body:
    """The code of a cell and the notebook variables it needs.

    Each call runs the code in a fresh copy of the variables and returns the value of its last
    expression, None without one.
    """

    def __init__(self, name: str, code: CodeType, variables: dict[str, Any], source: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "__main__"
        self.code = code
        self.variables = variables
        self.source = source

    def __call__(self, item: Any) -> Any:
        return self._run({**self.variables, ITEM: item}).get(VALUE)

    def _run(self, variables: dict[str, Any]) -> dict[str, Any]:
        namespace = {"__name__": "__main__", "__builtins__": builtins, **variables}
        exec(self.code, namespace)
        return namespace

    def _rest(self) -> tuple[Any, ...]:
        return ()

    def __reduce__(self) -> tuple[Callable[..., Body], tuple[Any, ...]]:
        common = (self.__name__, marshal.dumps(self.code), self.variables, self.source)
        return _arrived, (type(self), *common, *self._rest())


def _arrived(
    kind: type[Body], name: str, code: bytes, variables: dict[str, Any], source: str, *rest: Any
) -> Body:
    """The body in its worker: its source lines are made known, so that tracebacks show them."""
    body = kind(name, marshal.loads(code), variables, source, *rest)
    filename = body.code.co_filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return body


def shortened(item: Any) -> str:
    """A short repr for messages."""
    try:
        text = repr(item)
    except Exception:
        text = f"<{type(item).__name__}>"
    return text if len(text) <= 60 else f"{text[:59]}…"


@dataclass(frozen=True, slots=True)
class Outcome(Partial):
    """The outcome of a background task: its value, the variables it assigned (pickled), those of them that
    cannot be sent, those that it changed in place, whether or not it assigned them after that, those that it deleted,
    and why there is no value here. ``own``: variables that need not be sent. ``referred``: objects of the notebook, as
    they came, that these variables refer to, by their keys there (pickled); where these objects are, they are taken
    and no copies.
    """

    value: Any
    variables: bytes
    refused: dict[str, str]
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    task: str = ""
    own: dict[str, Any] = field(default_factory=dict)
    referred: bytes = b""
    unsent: str | None = None

    def without(self, error: BaseException) -> Outcome:
        """The variables, as the value cannot be sent; see `Partial`."""
        what = f"the value of the last expression of task {self.task}"
        problem = explain_sent_back(what, self.value, error)
        return replace(self, value=None, unsent=f"{problem} The variables that it assigned are here")

    def result(self) -> Any:
        """The value; raises why there is none here."""
        if self.unsent is not None:
            raise PayloadError(self.unsent)
        return self.value

    def given(self) -> dict[Key, Any]:
        """The objects of the notebook that the variables refer to, as they came."""
        from .own_objects import loads

        return loads(self.referred, {}) if self.referred else {}

    def load(self, given: Mapping[Key, Any], home: dict[str, Any] | None = None) -> dict[str, Any]:
        """The variables; what could not be sent is replaced by what says so when it is used. ``given``: the objects
        that they refer to; ``home``: the notebook's variables, where these arrive.
        """
        from .own_objects import loads

        unsent = {name: Unsent(name, self.task, reason) for name, reason in self.refused.items()}
        return loads(self.variables, given, home) | self.own | unsent


@dataclass(frozen=True, slots=True)
class Inheritance:
    """How a task sees an earlier one: under `name`, if it has one, and its variables but for those in `newer`."""

    name: str
    variables: bool
    newer: frozenset[str]


class TaskBody(Body):
    """A cell that runs once, after others; called with their outcomes."""

    shown_by_name = True
    watches_itself = True  # see `capture_kinds`

    def __init__(
        self,
        name: str,
        code: CodeType,
        variables: dict[str, Any],
        source: str,
        after: tuple[Inheritance, ...] = (),
        here: bool = False,
        counts: Counter[str] | None = None,
    ) -> None:
        super().__init__(name, code, variables, source)
        self.after = after
        self.here = here  # it runs in the kernel's own process
        self.counts = counts or Counter()  # how many parts the variables have in the notebook

    def __call__(self, *outcomes: Any) -> Outcome:
        from .own_objects import passed_on

        before = dict(self.variables)
        came: dict[Key, Any] = {}
        for place, (link, outcome) in enumerate(zip(self.after, outcomes, strict=True)):
            if isinstance(outcome, Outcome) and link.variables:
                given = outcome.given()
                arrived = outcome.load(given)
                before |= {name: value for name, value in arrived.items() if name not in link.newer}
                came |= {(place, key): value for key, value in passed_on(arrived, given).items()}
                for name in set(outcome.deleted) - link.newer:
                    before.pop(name, None)
            if link.name:
                before[link.name] = _done(outcome)
        watched = Watched(before)
        namespace = self._run(before)
        assigned = {
            name: value
            for name, value in namespace.items()
            if name not in KEPT_BACK and value is not before.get(name, _MISSING)
        }
        deleted = tuple(name for name in before if name not in namespace)
        found = watched.changed()
        kept = self._as_they_came(before, came, watched.unknown.union(found))
        variables, refused, referred = _dump_variables(assigned, kept)
        own = {name: assigned[name] for name in refused} if self.here else {}
        return Outcome(
            namespace.get(VALUE),
            variables,
            {} if self.here else refused,
            found,
            deleted,
            self.__name__,
            own,
            referred,
        )

    def _as_they_came(
        self, before: dict[str, Any], came: dict[Key, Any], changed: Collection[str]
    ) -> dict[Key, Any]:
        """The objects of the notebook and of the tasks before that are as they were, by their keys in the notebook."""
        from .own_objects import is_of, with_parts

        own = {
            name: value
            for name, value in self.variables.items()
            if before.get(name) is value and name not in changed and not isinstance(value, _BY_VALUE)
        }
        passed = {key: value for key, value in came.items() if not is_of(key[1], changed)}
        return with_parts(own, self.counts) | {
            key: value for key, value in passed.items() if not isinstance(value, (*_BY_VALUE, Unsent))
        }

    def _rest(self) -> tuple[Any, ...]:
        return (self.after, self.here, self.counts)


def value_of(outcome: Outcome) -> Any:
    """Return what a task's future becomes as an argument."""
    return outcome.result()


def _done(outcome: Any) -> Future[Any]:
    future: Future[Any] = Future()
    try:
        future.set_result(outcome.result() if isinstance(outcome, Outcome) else outcome)
    except PayloadError as error:
        future.set_exception(error)
    return future


def _dump_variables(variables: dict[str, Any], kept: dict[Any, Any]) -> tuple[bytes, dict[str, str], bytes]:
    """All variables pickled together, so that what they share stays shared; without those that cannot be, and with
    references in the places of what was ``kept``, which of it is referred to comes last.
    """
    from ..by_value.pickling import dumps as plainly
    from .own_objects import dumps

    refused = {}
    try:
        data, found = dumps(variables, kept)
    except Exception:
        for name, value in variables.items():
            try:
                dumps({name: value}, kept)
            except Exception as error:
                refused[name] = f"{type(error).__name__}: {error}"
        data, found = dumps({name: value for name, value in variables.items() if name not in refused}, kept)
    try:
        return data, refused, plainly({key: kept[key] for key in found}) if found else b""
    except Exception:  # what came cannot be sent back
        return _dump_variables(variables, {})
