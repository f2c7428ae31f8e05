"""A `%%pfor` loop before it runs: what its body does to the notebook, and what it cannot do."""

from __future__ import annotations

import ast
import builtins
import functools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from cellmill.by_value.capture import MOST_LIGHT
from cellmill.magics.cells import Cell, at_node, capture, compile_body
from cellmill.magics.effects import Rewriter
from cellmill.magics.flow import starred_names, target_names
from cellmill.magics.handlers import awaited_errors
from cellmill.magics.item_look import ItemLook
from cellmill.magics.iterators import first_exit, iterators_of, read_by
from cellmill.magics.lines import UsageError
from cellmill.magics.loop_body import LoopBody, Terms
from cellmill.magics.reach import Effect, Reach, changed_things, has_twice, hidden_reads, is_lazy
from cellmill.magics.reads import leads, own_keys, read_by_iterable
from cellmill.magics.syntax import copied
from cellmill.magics.unfit import Refusal


@dataclass(frozen=True, slots=True)
class Loop:
    """The three parts of the line; columns in `target` and `iterable` are those of the cell's first line."""

    target: ast.expr
    iterable: ast.expr
    heading: str
    out: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to the items' logs and to the names that the body binds."""

    cell: Cell
    loop: Loop
    code: CodeType
    variables: dict[str, Any]
    namespace: dict[str, Any]  # the notebook's
    sites: list[ast.stmt]  # see `effects`
    looking: frozenset[int]  # of these, by number, those that may look into what they are given
    bound: frozenset[str]
    always: frozenset[str]  # bound at the end of every item
    removed: frozenset[str]  # deleted at the end of every item
    deleted: tuple[str, ...]  # by some items
    targets: frozenset[str]  # of the loop, as far as the body leaves them as they are
    doubtful: list[ast.Name]
    things: dict[int, str]  # what exists already of what the statements change, by identity
    item_look: ItemLook
    heavy: bool  # to compare the variables costs much
    here: bool

    def follow(self) -> None:
        """Take the variables as they are now: the iterable's own code may have bound them anew."""
        for name in self.variables:
            if name in self.namespace:
                self.variables[name] = self.namespace[name]

    def body(self, name: str, *, sized: bool) -> LoopBody:
        """Return the code that runs for each item. ``sized``: the last item is known."""
        perhaps = sorted(self.bound - self.always if sized else self.bound)
        token, looking = uuid.uuid4().hex, self.looking
        terms = Terms(token, self.bound, tuple(perhaps), self.deleted, self.targets, self.here, looking)
        return LoopBody(name, self.code, self.variables, self.cell.source, terms)


def make_plan(ip: InteractiveShell, cell: Cell, loop: Loop, *, here: bool) -> Plan:
    """Read the body; raises SyntaxError, or `UsageError` at the column of what cannot give the plain loop's values."""
    _check_syntax(cell, loop)
    body = copied(cell.tree.body)
    targets = set(target_names(loop.target)) - starred_names(loop.target)
    namespace = ip.user_ns
    made = Rewriter(body, targets, starred_names(loop.target), namespace, valued=loop.out is not None)
    end = made.end()
    own_key = _own_keys(loop, made, namespace)
    _refuse(cell, loop, made, namespace, own_key)
    code = compile_body(cell, copied(loop.target), made.body, jumps=made.jumps)
    own = frozenset(made.bound | targets)  # what these names are in the notebook no item sees
    captured = capture(ip, cell, code, futures_ok=own)
    variables = {name: value for name, value in captured.items() if name not in own}
    _refuse_iterators(cell, loop, variables, namespace)
    heavy = _refuse_hidden(cell, loop, made, variables, namespace)
    removed = frozenset(name[1:] for name in end.always if name.startswith("-"))
    return Plan(
        cell=cell,
        loop=loop,
        code=code,
        variables=variables,
        namespace=ip.user_global_ns,
        sites=made.sites,
        looking=frozenset(made.looking),
        bound=frozenset(made.bound),
        always=end.always,
        removed=removed,
        deleted=tuple(sorted(made.deleted - removed)),
        targets=frozenset(targets - made.bound),
        doubtful=made.doubtful,
        things=changed_things(made.reads.effects, namespace),
        item_look=ItemLook.of(made.reads, cell.tree.body, targets | made.bound, namespace, own_key),
        heavy=heavy and not here,
        here=here,
    )


def _check_syntax(cell: Cell, loop: Loop) -> None:
    """The body compiles as that of a plain loop."""
    statements = list(cell.tree.body)
    first = 0
    while first < len(statements) and getattr(statements[first], "module", None) == "__future__":
        first += 1
    plain = ast.For(loop.target, loop.iterable, statements[first:] or [ast.Pass()], [])
    ast.fix_missing_locations(ast.copy_location(plain, loop.target))
    compile(ast.Module([*statements[:first], plain], []), cell.filename, "exec", cell.flags, True)


_EMPTY = {"add": "set()", "setdefault": "{}", "update": "{}"}  # by method; others are those of lists


def _first_value(effect: Effect) -> str:
    """An example of what a change can begin with: a number where the name is assigned, else something empty; "" for an
    attribute, whose object is the user's own.
    """
    if effect.step in ("", "["):
        value = "{}" if effect.step else "0"
    elif effect.step == ".":
        return ""
    else:
        of_name = (node for node in ast.walk(effect.node) if isinstance(node, ast.Attribute))
        value = _EMPTY.get(next((node.attr for node in of_name if _is(node.value, effect.name)), ""), "[]")
    return f", e.g. {effect.name} = {value}"


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _refuse(
    cell: Cell, loop: Loop, made: Rewriter, namespace: Mapping[str, Any], own: Callable[[str], str]
) -> None:
    """Raise the first thing that the body cannot do."""
    refused = list(made.refused)
    refused += [Refusal(node, _carried(cell, node)) for node in made.carried]
    refused += [Refusal(node, text) for node, text in made.reads.unsafe(namespace, own)]
    changes = [effect for each in made.reads.effects.values() for effect in each]
    refused += awaited_errors(cell.tree.body, changes, namespace)
    for name, effects in made.reads.effects.items():
        if name not in namespace and not hasattr(builtins, name):
            text = f"{name} has no value before the loop; give it one{_first_value(effects[0])}"
            refused.append(Refusal(effects[0].node, text))
        if name == loop.out:
            refused.append(
                Refusal(effects[0].node, f"{name} is what the values go to (-> {name}); take another name")
            )
    if refused:
        first = min(refused, key=lambda each: (each.node.lineno, each.node.col_offset))
        raise at_node(cell, first.node, first.message)
    for node, text in read_by_iterable(loop.iterable, made.reads.effects, own, namespace):
        raise _at_line(cell, node, text)


def _own_keys(loop: Loop, made: Rewriter, namespace: Mapping[str, Any]) -> Callable[[str], str]:
    """Return what tells the target that is a key of each item's own in the thing of a name; "" if there is none."""
    free = set(target_names(loop.target)) - made.bound

    @functools.cache
    def own(thing: str) -> str:
        value = namespace.get(thing)
        key = own_keys(loop.target, loop.iterable, thing, value, free)
        within = any(each.deep or each.grown is not None for each in made.reads.effects.get(thing, ()))
        return "" if key and within and has_twice(value) else key

    return own


def _at_line(cell: Cell, node: ast.expr, text: str) -> UsageError:
    """An error in the line of the loop, of which columns are characters already."""
    line = cell.source.splitlines()[node.lineno - 1]
    return UsageError(
        f"line {node.lineno}: {text}", text=line, start=node.col_offset, stop=node.end_col_offset or 0
    )


def _carried(cell: Cell, node: ast.Name) -> str:
    name = node.id
    stores = [
        each.lineno
        for each in ast.walk(cell.tree)
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
    ]
    where = f" (line {min(stores)})" if stores else ""
    other = "y" if name == "x" else "x"  # that it is combined with
    return (
        f"{name} is read here before this item binds it{where}: a plain loop has the value of the item "
        f"before, and items run at the same time. For a sum write {name} += {other}, for the largest or smallest "
        f"{name} = max({name}, {other}); else "
        "return what is needed (-> out), and go on with it in a plain loop after the cell"
    )


def _refuse_hidden(
    cell: Cell, loop: Loop, made: Rewriter, variables: dict[str, Any], namespace: Mapping[str, Any]
) -> bool:
    """Refuse variables that lead to what is changed; whether the rest costs much to compare."""
    effects = made.reads.effects
    named = {node.id for node in ast.walk(loop.iterable) if isinstance(node, ast.Name)}
    functions = {
        name: namespace[name]
        for name in named
        if callable(namespace.get(name)) or is_lazy(namespace.get(name))
    }
    for variable, name in hidden_reads(functions, effects, namespace)[0] if effects else ():
        (node,) = [n for n in ast.walk(loop.iterable) if isinstance(n, ast.Name) and n.id == variable][:1]
        raise _at_line(cell, node, leads(variable, name, effects[name][0].node.lineno))
    found, weight = hidden_reads(variables, effects, namespace)
    for variable, name in found:
        where = place_of(cell, variable) or cell.tree.body[0]
        raise at_node(cell, where, leads(variable, name, effects[name][0].node.lineno))
    return weight >= MOST_LIGHT


def _refuse_iterators(
    cell: Cell, loop: Loop, variables: Mapping[str, Any], namespace: Mapping[str, Any]
) -> None:
    """Refuse to take all items of an iterator of which a plain loop leaves some, or which the body reads."""
    for taken in iterators_of(loop.iterable, namespace):
        if (ends := first_exit(cell.tree.body)) is not None:
            raise _at_line(cell, taken.node, taken.left(ends))
        if variable := read_by(variables, taken):
            where = place_of(cell, variable)
            raise _at_line(cell, taken.node, taken.read(where.lineno if where is not None else 0))


def place_of(cell: Cell, variable: str) -> ast.expr | None:
    """Return where the body most likely changes or reads a name: as an argument, as the object of a method call, or
    at all.
    """
    named = [n for n in ast.walk(cell.tree) if isinstance(n, ast.Name) and n.id == variable]
    calls = [n for n in ast.walk(cell.tree) if isinstance(n, ast.Call)]
    handed = [n for n in named for call in calls if n in call.args or n is getattr(call.func, "value", None)]
    found = sorted(handed or named, key=lambda n: (n.lineno, n.col_offset))
    return found[0] if found else None


def item_leads_to(plan: Plan, name: str) -> UsageError:
    """An item has an object within reach that the loop changes."""
    message = (
        f"an item of this loop leads to {name}, which the loop changes: it would not see the changes that a plain loop "
        f"has made by then, as items run at the same time. Nothing of this loop was applied. Return what {name} is to "
        "get (-> out), and change it in a plain loop after the cell"
    )
    return _at_line(plan.cell, plan.loop.target, message)


def item_changed(plan: Plan, why: str) -> UsageError:
    """Items have changed objects of theirs in a way that other items or the notebook would have to see."""
    message = (
        f"items change what they are given, and {why}. Nothing of this loop was applied. Return what is to be kept "
        "(-> out), and change the objects in a plain loop after the cell. A body that begins with a copy "
        "(x = copy.deepcopy(x)) leaves the items as they are"
    )
    return _at_line(plan.cell, plan.loop.target, message)


def changed_after(plan: Plan, site: int) -> UsageError:
    """Items have changed an object after they have given it to something of the notebook."""
    message = (
        "what is given away here is changed by the item afterwards, and this statement, which is done after the item, "
        "would see the change. Nothing of this loop was applied. Change it before, or give a copy: copy.deepcopy(x)"
    )
    return at_node(plan.cell, plan.sites[site], message)


def function_changes(plan: Plan, line: int) -> UsageError:
    """Items have made a function that is kept, and that changes things of the notebook when it is called."""
    return UsageError(
        f"line {line}: a function that is made here and kept changes things from outside, which an item can only do "
        "itself. Nothing of this loop was applied. Keep what it is to be called with, and make it in a plain loop "
        "after the cell",
        text=plan.cell.source.splitlines()[line - 1],
    )


def method_kept(plan: Plan, name: str) -> UsageError:
    """Items keep a method of an object of the notebook, of which they have a copy."""
    message = (
        f"items keep {name}, a method of an object of the notebook: it would be that of a copy. Nothing of this loop "
        "was applied. Keep what it is to be called with, and take the method in a plain loop after the cell"
    )
    return _at_line(plan.cell, plan.loop.target, message)


def reached_changes(plan: Plan, moved: Mapping[int, Any]) -> UsageError | None:
    """The error where items change objects of theirs which the body also reads or changes under another name."""
    for identity, name in plan.things.items():
        if identity in moved:
            return item_changed(plan, f"the body changes the same object as a part of {name}")
    for name, value in plan.variables.items():
        walk = Reach()
        walk.go(value, name)
        walk.go(getattr(value, "base", None), name)  # of an array that is a view
        if any(walk.reaches(identity) for identity in moved):
            return item_changed(
                plan,
                f"the body reads {name}, which has the same objects: it would not see what other items did",
            )
    return None


def changed_unseen(plan: Plan, variable: str) -> UsageError:
    """Items have changed what they have a copy of."""
    node, via = place_of(plan.cell, variable), ""
    if node is None:
        for name, value in plan.variables.items():
            walk = Reach()
            walk.go(value, name)
            if variable in walk.names and (node := place_of(plan.cell, name)):
                via = f" (through {name})"
                break
    writes = hasattr(type(plan.variables.get(variable)), "write")
    changes = ".write(text)" if writes else f"[k] = v, {variable}.append(x), {variable} += x"
    message = (
        f"items change {variable}{via}, of which each worker has a copy: the notebook's {variable} would stay as it "
        f"is. Nothing of this loop was applied. Write the change in the cell as a statement ({variable}{changes}), "
        "which is done here in the items' order; or return what is to be kept (-> out), and put it together in a plain "
        "loop after the cell"
    )
    return at_node(plan.cell, node, message) if node is not None else UsageError(message)
