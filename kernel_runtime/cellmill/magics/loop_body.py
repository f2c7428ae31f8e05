"""The body of a `%%pfor` loop in the worker: an item leaves its value and a log of what it does to things from outside.

Imports nothing of the notebook.
"""

from __future__ import annotations

import builtins
import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from cellmill.magics.body import ITEM, KEPT_BACK, VALUE, Body, shortened
from cellmill.magics.items import MOST_OUTER, Picture, bound_methods, code_in, parts
from cellmill.serialization.unpicklable import Partial, explain_sent_back

RECORD, KEPT = "__cellmill_record__", "__cellmill_kept__"
BROKE, GONE = "__cellmill_broke__", "__cellmill_gone_{}__"
MOST_BYTES = 4096  # of a value that an item brings along in case that no later item has another
SMALL = frozenset((int, float, complex, bool, type(None), str, bytes))
_UNCHANGING = SMALL | {tuple, range, frozenset, slice}
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_looks: dict[str, Any] = {}  # of loops whose variables cost much to compare, until the end of the loop


@dataclass(frozen=True, slots=True)
class Mark:
    """Before an item in a tuple."""


LAST = Mark()  # the last item: it brings all that it has bound


def unmarked(item: Any) -> tuple[bool, Any]:
    """Whether it is known to be the last item, and the item."""
    if type(item) is tuple and len(item) == 2 and type(item[0]) is Mark:
        return True, item[1]
    return False, item


@dataclass(slots=True)
class Finished(Partial):
    """An item that leaves more than a value and a log."""

    log: list[Any]
    bindings: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # names whose values stay behind, and why
    gone: list[str] = field(default_factory=list)  # names that it has deleted
    changed: str | None = None  # a variable that the item has changed unseen
    called: str | None = None  # one that code of the item has changed: its methods, or a function that it is
    parts: list[Any] | None = None  # of the item, where the notebook needs to know them; see `items`
    outer: list[tuple[str, int, Any]] = field(default_factory=list)  # parts of variables that it leads to
    moved: list[int] = field(default_factory=list)  # the numbers of those that hold something else now
    functions: bool = False  # whether some are in the log or among the bindings
    method: str = ""  # of an object of the notebook, that is kept
    late: int | None = None  # a statement that was given what the item changed afterwards
    broke: bool = False
    last: bool = False
    unseen: bool = False  # whether it has changed a variable is not known yet
    stays: str | None = None  # why what the item has become cannot be sent

    def without(self, error: BaseException) -> Finished:
        """Why its item cannot be sent; PayloadError: what it leaves cannot be sent."""
        stays = _why_not(self.parts)
        if stays is not None:
            return Finished([None], stays=stays)
        left = [*self.log, *self.bindings.values()]
        culprit = next((each for each in left if _why_not(each) is not None), left)
        raise explain_sent_back("what an item leaves", culprit, error) from None


class EarlierValueError(Exception):
    """The body read a name of its own which this item has not bound."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the kernel knows about the body. ``perhaps``: names that a later item may leave unchanged."""

    token: str
    bound: frozenset[str]
    perhaps: tuple[str, ...]
    deleted: tuple[str, ...]  # names that an item may delete
    targets: frozenset[str]  # of the loop, as far as the body leaves them as they are
    here: bool  # items run on the notebook's own objects
    looking: frozenset[int]  # numbers of the statements that may look into what they are given


class LoopBody(Body):
    """Called with an item; gives ``[value, number, operand, ..., number, ...]``, or `Finished` with such a log."""

    watches_itself = True  # see `capture_kinds`

    def __init__(
        self, name: str, code: CodeType, variables: dict[str, Any], source: str, terms: Terms
    ) -> None:
        super().__init__(name, code, variables, source)
        self.terms = terms
        self._look: Any = None
        self._classes: dict[type, Any] = {}  # looks at classes of items
        self._heavy: set[str] = set()
        self._outer: dict[
            int, tuple[str, int]
        ] = {}  # parts of variables by identity: the name and which it is

    def _rest(self) -> tuple[Any, ...]:
        return (self.terms,)

    def __call__(self, item: Any) -> Any:
        last, item = unmarked(item)
        terms = self.terms
        if self._look is None and not terms.here:
            self._begin_to_look()
            for name, value in self.variables.items():
                for number, part in enumerate(parts(value, MOST_OUTER)):
                    self._outer[id(part)] = (name, number)
        picture = None if type(item) in SMALL else Picture(item)
        looks = list(self._looks_at(item)) if picture is not None and not terms.here else ()
        log: list[Any] = [None]
        given: list[tuple[int, Picture]] = []
        namespace = {
            "__name__": "__main__",
            "__builtins__": builtins,
            **self.variables,
            RECORD: self._recorder(log, given) if terms.looking else log.extend,
            KEPT: kept,
            ITEM: item,
        }
        try:
            exec(self.code, namespace)
        except NameError as error:
            if error.name in terms.bound:
                earlier = EarlierValueError(_earlier(error.name))
                earlier.__dict__["name"] = error.name
                raise earlier from error
            raise
        log[0] = namespace.get(VALUE)
        broke = bool(namespace.get(BROKE))
        changed = _changed(self._look) if self._look else None
        called = next(filter(None, (_changed(look, at_any_cost=True) for look in looks)), None)
        unseen = bool(self._look) and self._look.skipped
        moved = picture.moved() if picture else []
        gone = [name for name in terms.deleted if name not in namespace and GONE.format(name) in namespace]
        simple = SMALL.issuperset(map(type, log))
        if simple and not (last or broke or changed or called or unseen or moved or gone or terms.perhaps):
            return log
        late = next((number for number, each in given if each.moved()), None)
        finished = Finished(
            log,
            gone=gone,
            changed=changed,
            called=called,
            broke=broke,
            last=last,
            moved=moved,
            late=late,
            unseen=unseen,
        )
        if last or broke:
            self._bring_all(namespace, finished)
        elif terms.perhaps:
            self._bring_small(namespace, finished)
        if finished.bindings or moved or not simple:
            self._refer(finished, picture)
        plain = not (finished.bindings or finished.refused or gone or last or broke or changed or called)
        plain = plain and finished.parts is None and not finished.outer
        plain = plain and late is None and not (finished.functions or finished.method or unseen)
        return log if plain else finished

    def _recorder(
        self, log: list[Any], given: list[tuple[int, Picture]]
    ) -> Callable[[tuple[Any, ...]], None]:
        """Return what records a statement, and what those are given that may look into it."""

        def record(entry: tuple[Any, ...]) -> None:
            log.extend(entry)
            if entry[0] in self.terms.looking:
                operands = [each for each in entry[1:] if type(each) not in SMALL]
                if operands:
                    given.append((entry[0], Picture(operands)))

        return record

    def _refer(self, finished: Finished, picture: Picture | None) -> None:
        """Bring along what the notebook has itself, so that it is not taken for something else of the same value."""
        own = picture.parts if picture else []
        found = {id(part): part for part in parts([finished.log, finished.bindings])}
        if picture is not None and (finished.moved or picture.among(found)):
            finished.parts = own
            found |= {id(part): part for part in parts(own)}
        finished.functions = any(type(part) is FunctionType for part in found.values())
        theirs = {*self._outer, *map(id, own)}
        finished.method = next(
            (m for m, of in bound_methods([finished.log, finished.bindings]) if id(of) in theirs), ""
        )
        finished.outer = [(*self._outer[each], part) for each, part in found.items() if each in self._outer]

    def _looks_at(self, item: Any) -> Iterator[Any]:
        """What the code refers to that an item brings: its classes, and functions, methods and classes in it."""
        from ..by_value.watched import Look

        for name, code in code_in(item):
            if not isinstance(code, type):
                yield Look({name: code})
                continue
            if code not in self._classes:
                self._classes[code] = Look({name: code})
            yield self._classes[code]

    def _begin_to_look(self) -> None:
        """Before the first item: what the variables are."""
        from ..by_value.watched import Look

        self._look = Look(self.variables, code=self.code)
        if not self._look.light:
            _looks[self.terms.token] = self._look

    def _bring_all(self, namespace: dict[str, Any], finished: Finished) -> None:
        for name, value in namespace.items():
            if name in KEPT_BACK or name in self.terms.targets or name.startswith("__cellmill_"):
                continue
            if self.variables.get(name, KEPT_BACK) is value:
                continue
            reason = None if self.terms.here else _why_not(value)
            if reason is None:
                finished.bindings[name] = value
            else:
                finished.refused[name] = reason

    def _bring_small(self, namespace: dict[str, Any], finished: Finished) -> None:
        for name in self.terms.perhaps:
            if name not in namespace:
                continue
            value = namespace[name]
            if self.terms.here or (name not in self._heavy and _is_small(value)):
                finished.bindings[name] = value
            else:
                self._heavy.add(name)
                kind = type(value).__name__
                why = "it is bound by some items only, or the loop's length is not known"
                finished.refused[name] = f"{why}, and is no small value ({kind})"


def _earlier(name: str | None) -> str:
    return (
        f"this item reads {name} before it has bound it: a plain loop has the value of an item before, and items run "
        f"at the same time. Bind {name} in every item before it is read, or carry it on in a plain loop after the cell"
    )


def kept(value: Any, as_set: bool = False) -> Any:
    """Return an operand's present value, which later changes by the item do not reach."""
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind in _VIEWS or hasattr(value, "__next__"):
        return set(value) if as_set else list(value)
    try:
        return copy.copy(value)
    except Exception:
        return value


def _is_small(value: Any) -> bool:
    kind = type(value)
    if kind in SMALL:
        return kind not in (str, bytes) or len(value) <= MOST_BYTES
    if sys.getsizeof(value) > MOST_BYTES:
        return False
    from ..by_value.pickling import dumps

    try:
        return len(dumps(value)) <= MOST_BYTES
    except Exception:
        return False


def _why_not(value: Any) -> str | None:
    """Why a value cannot be sent; None: it can."""
    if type(value) in SMALL:
        return None
    from ..by_value.pickling import dumps

    try:
        dumps(value)
    except Exception as error:
        return f"it cannot be sent: {type(error).__name__}: {error}"
    return None


def loop_function(body: LoopBody) -> Callable[[Any], Any]:
    """The body as a function, which travels once to each worker and not with every item."""

    def run(item: Any) -> Any:
        try:
            return body(item)
        except BaseException as error:
            error.__dict__[ITEM] = shortened(unmarked(item)[1])
            raise

    run.__name__ = run.__qualname__ = body.__name__
    run.__module__ = "__main__"
    run.__dict__["__cellmill_value_of__"] = value_of
    return run


def value_of(left: Any) -> Any:
    """The value of an item, of all that it leaves."""
    return (left.log if isinstance(left, Finished) else left)[0]


def last_look(token: str) -> str | None:
    """To be run on each worker: what the items of this loop have changed there unseen."""
    found = _looks.pop(token, None)
    return _changed(found, at_any_cost=True) if found is not None else None


def _changed(look: Any, *, at_any_cost: bool = False) -> str | None:
    """Return what this item has changed, or one that ran before here, which may be an item behind the loop's end: its
    result is not read, and this one has found what it left.
    """
    found: str | None = look.changed(at_any_cost=at_any_cost) or look.first
    return found
