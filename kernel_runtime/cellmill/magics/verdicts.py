"""Whether a loop of a plain cell can be tasks: by what `%%pfor` says of it, its helpers' source, and the plain run."""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from IPython.core.interactiveshell import InteractiveShell

from cellmill.magics.accumulation import root_of
from cellmill.magics.body import runs_here
from cellmill.magics.cells import Cell, explain_unsendable
from cellmill.magics.in_place import Watched
from cellmill.magics.kept_items import (
    bound_late,
    conditions,
    existing_items,
    futures_among,
    items_changed,
    late_binding,
)
from cellmill.magics.lines import UsageError
from cellmill.magics.loop import Loop, Plan, make_plan, place_of
from cellmill.magics.shared_state import look
from cellmill.magics.syntax import copied
from cellmill.magics.timed_loops import Found, iterable_of

Kind = Literal["independent", "unproven", "impossible"]
_GENERATORS = frozenset(("Random", "Generator", "RandomState"))
_NO_DRAWS = (
    "its items draw no random numbers (the state of random changed while they ran, "
    "which the cluster's client in this kernel may have done)"
)
_OUT = "__cellmill_out__"
_ITEM = "__cellmill_argument__"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a loop's items; ``reason``: why they are no tasks, or what has to hold."""

    kind: Kind
    reason: str = ""


class Examined:
    """A loop just before it runs, whose items would be tasks on ``backend``; `verdict` is asked when it has run."""

    def __init__(self, ip: InteractiveShell, cell: Cell, found: Found, backend: str) -> None:
        self._cell, self._ip, self._backend = cell, ip, backend
        self.plan: Plan | None = None
        self._refused = ""
        self._changed: Callable[[], tuple[str, ...]] = tuple
        self._changed_items: Callable[[], tuple[str, ...]] = tuple
        self._conditions: list[str] = []
        self._line = found.line
        self._shared, self._owned = _shared_states(), _owned_states(ip.user_ns)
        try:
            self._refused = _shape(found.node)
            if not self._refused:
                self._plan(found)
        except UsageError as error:
            self._refused = str(error).split("\n", 1)[0]
        except SyntaxError as error:
            self._refused = f"line {error.lineno}: {error.msg}"

    def _plan(self, found: Found) -> None:
        node = found.node
        part, loop = as_loop(self._cell, node)
        plan = make_plan(self._ip, part, loop, here=runs_here(self._backend))
        if not isinstance(node, ast.For) and (plan.sites or plan.bound):
            what = root_of(_place(plan.sites[0])) if plan.sites else None
            name = what.id if what is not None else ", ".join(sorted(plan.bound)) or "what is outside"
            self._refused = (
                f"line {node.lineno}: this changes {name} beside the value that it makes; write it as a for loop, "
                "whose changes %%pfor does here"
            )
            return
        if name := futures_among(iterable_of(node), self._ip.user_ns):
            self._refused = (
                f"line {node.lineno}: the items of {name} are futures. A task that is given one waits for it and gets "
                "its value in its place"
            )
            return
        self.plan = plan
        if not isinstance(node, ast.For) and not plan.here:
            self._look_at_items(node)
            if self._refused:
                return
        changed_by_name = set(plan.things.values())
        self._changed = Watched(
            {name: value for name, value in plan.variables.items() if name not in changed_by_name}
        ).changed

    def _look_at_items(self, node: Any) -> None:
        """Tasks of a map have copies of the items, and names of their own."""
        namespace = self._ip.user_ns
        value, target = element_of(node)
        if name := late_binding(value, target, namespace):
            self._refused = bound_late(self._line, name)
            return
        iterable = iterable_of(node)
        self._conditions = list(dict.fromkeys(conditions(value, target, iterable, namespace)))
        self._changed_items = Watched(existing_items(iterable, namespace)).changed

    def verdict(self) -> Verdict:
        """The verdict, after the plain run: what it changed is known then."""
        if self._refused:
            return Verdict("impossible", self._refused)
        assert self.plan is not None
        told = look(self.plan.code, self.plan.variables, self._ip.user_ns)
        if told.changes:
            return Verdict(
                "impossible",
                f"{told.changes[0]}: items that run at the same time would each change a copy. Return what is to be "
                "kept, and put it together after the loop",
            )
        drawn = self._shared != _shared_states()
        # threads of a cluster's client draw from `random` too: for names, and to spread what they do over time
        doubtful = drawn and self._backend in ("dask", "ray") and not told.draws
        if self._owned != _owned_states(self._ip.user_ns) or (drawn and not doubtful):
            return Verdict(
                "impossible",
                "the items draw from one generator of random numbers: each goes on where the one before left it. Give "
                "each item a generator of its own, such as random.Random(seed + i)",
            )
        for name in self._changed():
            where = place_of(self.plan.cell, name)
            line = f"line {where.lineno}: " if where is not None else ""
            return Verdict(
                "impossible",
                f"{line}{name} was changed by the items while they ran, in a way that is no statement of the loop: "
                "the next item sees it",
            )
        for name in self._changed_items():
            return Verdict("impossible", items_changed(self._line, name))
        unsent = explain_unsendable(self.plan.cell, self.plan.variables)
        if unsent is not None:
            return Verdict("impossible", str(unsent))
        open_questions = [*told.conditions, *self._conditions, *([_NO_DRAWS] if doubtful else [])]
        if open_questions:
            return Verdict("unproven", "; and if ".join(open_questions))
        return Verdict("independent")


def _place(site: Any) -> ast.expr:
    """What a statement of `Plan.sites` changes."""
    target: ast.expr
    if isinstance(site, ast.Expr):
        target = site.value.func  # type: ignore[attr-defined]
    else:
        target = site.target if isinstance(site, ast.AugAssign) else site.targets[0]
    return target


def _shape(node: Any) -> str:
    """Why a loop of this form is no set of items; "" where it may be."""
    if isinstance(node, ast.While):
        return f"line {node.lineno}: whether a round of while is run depends on the rounds before"
    if isinstance(node, ast.For):
        if node.orelse:
            return f"line {node.lineno}: %%pfor has no else; write it after the loop"
        names = ast.walk(node.target)
        if not all(
            isinstance(each, (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)) for each in names
        ):
            return f"line {node.lineno}: the loop's target is no name or tuple of names"
    elif not isinstance(node, ast.Call) and len(node.generators) > 1:
        return f"line {node.lineno}: several `for` in one expression; write the outer one as a for loop"
    return ""


def as_loop(cell: Cell, node: Any) -> tuple[Cell, Loop]:
    """The loop in the terms of `%%pfor`: its body as a cell, its target and iterable."""
    iterable = copied(iterable_of(node))
    body: list[ast.stmt]
    if isinstance(node, ast.For):
        body, target, out = node.body, node.target, None
    else:
        value, target = element_of(node)
        body, out = [ast.copy_location(ast.Expr(value), value)], _OUT
    tree = ast.fix_missing_locations(ast.Module(copied(body), []))
    heading = f"for {ast.unparse(target)} in …"
    return replace(cell, tree=tree), Loop(copied(target), iterable, heading, out)


def element_of(node: Any) -> tuple[ast.expr, ast.expr]:
    """The value that each item of an expression makes, and the target that the item is bound to."""
    value: ast.expr
    if isinstance(node, ast.Call):
        item = ast.copy_location(ast.Name(_ITEM, ast.Load()), node)
        value = ast.copy_location(ast.Call(node.args[0], [item], []), node)
        return value, ast.copy_location(ast.Name(_ITEM, ast.Store()), node)
    value = node.elt if not isinstance(node, ast.DictComp) else ast.Tuple([node.key, node.value], ast.Load())
    return ast.copy_location(value, node), node.generators[0].target


def _shared_states() -> list[Any]:
    """The states of the generators of random numbers that each process has."""
    legacy = getattr(sys.modules.get("numpy.random"), "mtrand", None)
    return [_state(each) for each in ([random, legacy._rand] if legacy is not None else [random])]


def _owned_states(namespace: Mapping[str, Any]) -> list[Any]:
    """The states of the generators that are variables of the notebook."""
    return [_state(value) for _, value in sorted(namespace.items()) if type(value).__name__ in _GENERATORS]


def _state(generator: Any) -> Any:
    held = getattr(generator, "bit_generator", None)  # of numpy's new generators
    if held is not None:
        return repr(held.state)
    state = generator.getstate() if hasattr(generator, "getstate") else generator.get_state()
    return repr(state) if not isinstance(state, tuple) else tuple(map(_plain, state))


def _plain(part: Any) -> Any:
    return part.tobytes() if hasattr(part, "tobytes") else part
