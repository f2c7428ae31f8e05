"""The results of a `%%pfor` loop in the notebook: values, what is done in the items' order, last values of names."""

from __future__ import annotations

import ast
import contextlib
import functools
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import cellmill
from cellmill.backends.taking import is_whole
from cellmill.magics.body import ITEM, shortened
from cellmill.magics.delivery import at_home
from cellmill.magics.effects import NEXT
from cellmill.magics.handlers import not_reached
from cellmill.magics.items import MOST_OUTER, can_move, is_array, move, parts, translate
from cellmill.magics.lines import UsageError
from cellmill.magics.loop import (
    Plan,
    changed_after,
    changed_unseen,
    function_changes,
    item_changed,
    item_leads_to,
    method_kept,
    reached_changes,
)
from cellmill.magics.loop_body import LAST, RECORD, SMALL, EarlierValueError, Finished
from cellmill.process_context.interrupts import uninterrupted
from cellmill.task import known_length

ITEMS_AT_ONCE = 4096  # whose effects Stop does not come between
_NAMES = ("logs", "log", "index", "site")
_LOGS, _LOG, _INDEX, _SITE = (f"__cellmill_{name}__" for name in _NAMES)


class Source:
    """The items of the loop: each is kept until its result has been read."""

    def __init__(self, items: Any) -> None:
        self._items = items
        self._taken: deque[Any] = deque()
        self._whole: Sequence[Any] | None = None
        if is_whole(items) or _length(items) is not None:
            self._whole = items if isinstance(items, (list, tuple, range)) else list(items)
        self.length = len(self._whole) if self._whole is not None else known_length((items,))
        self.sized = self.length is not None

    def feed(self, follow: Callable[[], None], *, mark_last: bool) -> Any:
        """Return the iterable for the map. ``mark_last``: mark the last item with `LAST`, where it is known;
        ``follow`` is called when code of the user's has given an item.
        """
        known = self._whole
        if known is not None and not (mark_last and len(known)):
            return known
        if known is not None:
            return [*known[:-1], (LAST, known[-1])]
        return _Sized(self, follow, mark_last) if self.sized else _Fed(self, follow, mark_last)

    def taking(self, follow: Callable[[], None], mark_last: bool) -> Iterator[Any]:
        """The items of one that runs code of the user's."""
        for index, item in enumerate(self._items):
            self._taken.append(item)
            follow()
            is_last = self.length is not None and index + 1 >= self.length  # there may be more than it says
            yield (LAST, item) if mark_last and is_last else item

    def item(self, index: int) -> Any:
        """The item of this result; asked for once for each, in order."""
        return self._whole[index] if self._whole is not None else self._taken.popleft()


class _Fed:
    def __init__(self, source: Source, follow: Callable[[], None], mark_last: bool) -> None:
        self._source, self._follow, self._mark_last = source, follow, mark_last

    def __iter__(self) -> Iterator[Any]:
        return self._source.taking(self._follow, self._mark_last)


class _Sized(_Fed):
    def __len__(self) -> int:
        return self._source.length or 0


def _length(items: Any) -> int | None:
    """The length of an iterator of Python's own over containers of Python's own."""
    kind = type(items)
    if kind in (enumerate, zip):
        parts = items.__reduce__()[1]
        lengths = [_length(part) for part in (parts[:1] if kind is enumerate else parts)]
        return min(lengths) if lengths and None not in lengths else None  # type: ignore[type-var]
    if kind.__module__ != "builtins" or not kind.__name__.endswith("iterator"):
        return None
    length = operator.length_hint(items, -1)
    return length if length >= 0 else None


@dataclass(slots=True)
class Harvest:
    """The results read so far."""

    values: list[Any] = field(default_factory=list)
    logs: list[list[Any]] = field(default_factory=list)
    last: Any = None  # the last item
    outer: dict[str, list[Any]] = field(default_factory=dict)  # parts of variables that items lead to
    moved: dict[int, Any] = field(default_factory=dict)  # what items have changed of themselves, by identity
    gone: set[str] = field(default_factory=set)  # names that the latest item to say has deleted
    failures: list[cellmill.TaskFailure] = field(default_factory=list)
    broken: Exception | None = None
    broke: bool = False
    bindings: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    complete: bool = False  # the last item has brought all that it bound
    unseen: bool = False  # whether some items have changed a variable is not known yet
    applied: int = 0  # items whose effects are done

    def read(self, plan: Plan, source: Source, results: Iterator[Any]) -> None:
        """All results in their order; raises what makes the loop's effects unknown."""
        try:
            for index, result in enumerate(results):
                item = source.item(index)
                self.last = item
                self._take(plan, index, item, result)
                if self.broke:
                    break
            if source.length is not None and 0 < len(self.values) < source.length and not self.broke:
                said = f"the iterable has a length of {source.length:,}, and gave {len(self.values):,}"
                self.refused |= dict.fromkeys(plan.bound & plan.always, said)
            if self.moved and (unseen := reached_changes(plan, self.moved)):
                raise unseen
        except cellmill.CellmillError:
            raise
        except Exception as error:
            self.broken = error
        finally:
            close = getattr(results, "close", None)
            if close is not None:
                close()

    def _take(self, plan: Plan, index: int, item: Any, result: Any) -> None:
        log = result
        if isinstance(result, BaseException):
            if isinstance(result, EarlierValueError):
                raise _earlier(plan, result)
            failure = cellmill.TaskFailure(index, result.__dict__.pop(ITEM, None) or shortened(item), result)
            self.failures.append(failure)
            self.values.append(failure)
            return
        if type(item) not in SMALL and (name := plan.item_look.leads_to(item)):
            raise item_leads_to(plan, name)
        if self.moved and any(id(part) in self.moved for part in parts(item)):
            raise item_changed(plan, "a later item has the same object: it would not see the change")
        if type(result) is Finished:
            if result.changed is not None:
                raise changed_unseen(plan, result.changed)
            if result.called is not None:
                why = f"what they call changes {result.called}, of which each worker has a copy"
                raise item_changed(plan, why)
            if result.stays is not None:
                raise item_changed(plan, result.stays)
            if result.late is not None:
                raise changed_after(plan, result.late)
            if result.method:
                raise method_kept(plan, result.method)
            if result.parts is not None or result.outer or result.functions:
                self._know_own(plan, item, result)
            self.unseen = self.unseen or result.unseen
            self.broke = result.broke and not self.failures
            self.complete = result.last or result.broke
            for name in (*result.bindings, *result.gone):
                self.refused.pop(name, None)
            for name in (*result.refused, *result.gone):
                self.bindings.pop(name, None)
            self.gone = (self.gone - result.bindings.keys() - result.refused.keys()).union(result.gone)
            self.bindings |= result.bindings
            self.refused |= result.refused
            log = result.log
        self.values.append(log[0])
        if not self.failures:
            self.logs.append(log)

    def _know_own(self, plan: Plan, item: Any, result: Finished) -> None:
        """The notebook's own parts of the item take the places of copies; what these became is done at the end."""
        copies = result.parts or []
        own = parts(item) if copies else []
        if own and own[0] is copies[0]:  # a thread of the notebook's has run it
            own, copies, result.moved = [], [], []
        if [type(part) for part in own] != [type(part) for part in copies]:
            raise item_changed(plan, "what it consists of is not what arrived in the worker")
        by_copy = {id(copy): part for copy, part in zip(copies, own, strict=True)}
        for name, number, copy in result.outer:
            if name not in self.outer:
                self.outer[name] = parts(plan.variables[name], MOST_OUTER)
            by_copy[id(copy)] = self.outer[name][number]
        pairs = [(own[number], copies[number]) for number in result.moved]
        for old, new in pairs:
            if not can_move(old, new):
                raise item_changed(
                    plan,
                    f"a {type(old).__name__} cannot be given here what its copy in the worker has become",
                )
            self.moved[id(old)] = old
            self.moved |= {id(base): base for base in (getattr(old, "base", None),) if is_array(base)}
        if result.functions:
            by_copy |= _homes(plan, [result.log, result.bindings, copies], by_copy)
        if by_copy:
            translate([result.log, result.bindings, copies], by_copy)
        if pairs:
            # first: statements may look into the objects
            result.log[1:1] = (len(plan.sites), functools.partial(move, pairs, by_copy))


def _homes(plan: Plan, values: list[Any], known: dict[int, Any]) -> dict[int, Any]:
    """The functions that an item has made, by their identities: with the notebook's variables as their globals.

    ``values``: the log, what names are bound to, and the item's parts.

    Raises:
        UsageError: one that is kept elsewhere than in a name changes the notebook's objects, which only an item's own
            code can record.
    """
    namespace = plan.namespace
    made = [part for part in parts(values) if type(part) is FunctionType and part.__module__ == "__main__"]
    found = [each for each in made if id(each) not in known and each.__globals__ is not namespace]
    kept = {id(part) for part in parts(values[::2])}
    for each in found:
        if RECORD in each.__code__.co_names and id(each) in kept:
            raise function_changes(plan, each.__code__.co_firstlineno)
    return {id(each): at_home(each, namespace) for each in found}


def _earlier(plan: Plan, error: EarlierValueError) -> Exception:
    from cellmill.magics.cells import at_node

    name, message = error.__dict__.get("name"), f"{error} Nothing of this loop was applied"
    for node in sorted(plan.doubtful, key=lambda each: (each.lineno, each.col_offset)):
        if node.id == name:
            return at_node(plan.cell, node, message)
    return UsageError(message)


# -- effects


def apply(ip: InteractiveShell, plan: Plan, harvest: Harvest) -> None:
    """Do what the items before the first unfinished one have recorded; an error of it is that item's failure."""
    logs = harvest.logs
    if not plan.sites and not harvest.moved:
        return
    done = _replaying(ip, plan)
    for start in range(0, len(logs), ITEMS_AT_ONCE):
        part = logs[start : start + ITEMS_AT_ONCE]
        try:
            with uninterrupted():
                done(part)
                harvest.applied = start + len(part)
        except Exception as error:
            index, line = _place_of(error)
            index = harvest.applied = start + index
            if logs[index][1:2] == [len(plan.sites)]:
                error.add_note(
                    "What this item changes in itself is done, also what would come after this line."
                )
            for note in not_reached(plan.cell.tree.body, line, error, plan.sites):
                error.add_note(note)
            del logs[index:]
            failure = cellmill.TaskFailure(index, "", error)
            harvest.values[index] = failure
            harvest.failures.insert(0, failure)
            return


def _place_of(error: BaseException) -> tuple[int, int]:
    """Which of the items it is of, and the line of the statement."""
    trace = error.__traceback__
    while trace is not None:
        if _INDEX in trace.tb_frame.f_locals:
            return int(trace.tb_frame.f_locals[_INDEX]), trace.tb_lineno
        trace = trace.tb_next
    return 0, 0


def _replaying(ip: InteractiveShell, plan: Plan) -> Callable[[list[Any]], None]:
    """The function that does the recorded statements, with the cell's line numbers."""
    source = (
        f"def replay({_LOGS}):\n"
        f" for {_INDEX}, {_LOG} in enumerate({_LOGS}):\n"
        f"  {_LOG} = iter({_LOG})\n"
        f"  {NEXT} = {_LOG}.__next__\n"
        f"  {NEXT}()\n"
        f"  for {_SITE} in {_LOG}: pass\n"
    )
    tree = ast.parse(source)
    function: Any = tree.body[0]
    (loop,) = function.body
    loop.body[-1].body = [_choice([*plan.sites, *ast.parse(f"{NEXT}()()").body], 0)]
    names = {name for node in plan.sites if (name := _assigned(node))}
    if names:
        function.body.insert(0, ast.Global(sorted(names)))
    ast.fix_missing_locations(tree)
    namespace: dict[str, Any] = {}
    code = compile(tree, plan.cell.filename, "exec", plan.cell.flags, True)
    exec(code, ip.user_global_ns, namespace)
    made: FunctionType = namespace["replay"]
    made.__code__ = made.__code__.replace(co_name="<module>", co_qualname="<module>")
    return made


def _assigned(node: ast.stmt) -> str | None:
    """The name that a statement assigns or augments."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else None


def _choice(sites: list[ast.stmt], first: int) -> ast.stmt:
    """The statement with the number at hand, found by halves."""
    if len(sites) == 1:
        return sites[0]
    half = len(sites) // 2
    test = ast.parse(f"{_SITE} < {first + half}", mode="eval").body
    return ast.If(test, [_choice(sites[:half], first)], [_choice(sites[half:], first + half)])


# -- names


def assign_names(ip: InteractiveShell, plan: Plan, harvest: Harvest) -> None:
    """The loop's target and the names that the body binds get the values that they have after a plain loop."""
    if not harvest.values:
        return
    code = ast.Module([ast.Assign([plan.loop.target], ast.Name("__cellmill_item__", ast.Load()))], [])
    scratch = {"__cellmill_item__": harvest.last}
    with contextlib.suppress(Exception):  # the item itself has failed by it
        exec(compile(ast.fix_missing_locations(code), plan.cell.filename, "exec"), scratch)
    with uninterrupted():
        for name in plan.targets:
            if name in scratch:
                ip.user_ns[name] = scratch[name]
        ip.user_ns.update(harvest.bindings)
        for name in plan.removed.union(harvest.gone).difference(harvest.bindings):
            ip.user_ns.pop(name, None)
    for name, reason in sorted(harvest.refused.items()):
        say(f"%%pfor: {name} has not the loop's last value here; {reason}. Return it instead (-> out)")


def say(note: str) -> None:
    """A line on stderr."""
    print(f"cellmill: {note}", file=sys.stderr)
