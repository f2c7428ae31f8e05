"""The effects of a loop's body on outer objects: rewritten so that an item records them, to be done in the notebook.

`total += f(x)` becomes a record of (number of the statement, value of f(x)); the statement itself, with its operands
left open, is done later for each item in turn (`harvest`). Only operands are computed by the items.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Mapping
from typing import Any

from cellmill.magics.accumulation import accumulates, goes_on_from, is_present_value, names_bound, root_of
from cellmill.magics.flow import in_scope
from cellmill.magics.loop_body import KEPT, RECORD
from cellmill.magics.reach import Effect
from cellmill.magics.reads import Read, Reads
from cellmill.magics.receivers import (
    TAKES_ALL,
    UNKNOWN,
    changes,
    keeps_reference,
    looks_at_operands,
    returns_none,
    speaks,
    standing_for,
)
from cellmill.magics.statements import Flow
from cellmill.magics.syntax import copied
from cellmill.magics.unfit import Refusal, reaches_names, under_settings

NEXT = "__cellmill_next__"
_FRESH = (ast.BinOp, ast.Constant, ast.JoinedStr, ast.Compare, ast.ListComp, ast.SetComp, ast.DictComp)
_TRUE = [ast.Constant(True)]
_OF_SETS = (ast.BitOr, ast.BitAnd, ast.BitXor)
_OF_KIND = ("len", "isinstance", "type")  # tell nothing that the loop changes, but a length
_ONCE = "write it as a statement of its own, one for each thing it changes"


class Rewriter(Flow):
    """Rewrites the body. ``valued``: the value of its last expression is wanted; ``made``: targets of new lists."""

    def __init__(
        self,
        body: list[ast.stmt],
        targets: set[str],
        made: set[str],
        namespace: Mapping[str, Any],
        *,
        valued: bool,
    ) -> None:
        super().__init__(names_bound(body, targets | made) | made, targets | made)
        self.sites: list[ast.stmt] = []  # what is to be done, with operands left open
        self.looking: set[int] = set()  # of these, those that may look into their operands
        self.reads = Reads()
        self.refused: list[Refusal] = []
        self._changed: list[str] = []  # names, as statements change them
        self._targets = targets - self.bound
        self._namespace = namespace
        self._valued = body[-1] if body and valued else None  # whose value is wanted
        self._operands: list[ast.expr] = []
        self.body = self.block(body)

    # -- whose name it is

    def _from_outside(self, node: ast.expr) -> bool:
        """Whether a place starts with a name from outside; changes of the item are seen as they happen (`items`)."""
        root = root_of(node)
        if root is None or not self.is_outer(root.id) or root.id in self.bound | self._targets:
            return False
        return root.id in self._namespace or not hasattr(builtins, root.id)

    def _is_free(self, node: ast.expr) -> bool:
        """A name from outside, whose value can be looked up when the statement is done."""
        known = isinstance(node, ast.Name) and node.id in self._namespace and self.is_outer(node.id)
        return known and node.id not in self.bound | self._targets  # type: ignore[attr-defined]

    # -- operands

    def _operand(self, node: Any, *, consumed: bool = False, as_set: bool = False) -> Any:
        """Return the expression that replaces an operand when the statement is executed."""
        if isinstance(node, ast.Constant) or self._is_free(node):
            return copied(node)
        if isinstance(node, ast.Starred):
            return ast.copy_location(ast.Starred(self._operand(node.value, consumed=True), ast.Load()), node)
        value = self.visit(node)
        if consumed and not isinstance(node, _FRESH):
            value = ast.copy_location(
                ast.Call(ast.Name(KEPT, ast.Load()), [value, *_TRUE[: int(as_set)]], []), node
            )
        self._operands.append(value)
        return ast.copy_location(ast.Call(ast.Name(NEXT, ast.Load()), [], []), node)

    def _key(self, node: Any) -> Any:
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._key(part) for part in node.elts], ast.Load()), node)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return ast.copy_location(ast.Slice(*(part and self._key(part) for part in parts)), node)
        return self._operand(node, consumed=True)

    def _place(self, node: Any) -> Any:
        """The object that is changed, or the item or attribute that is assigned."""
        if isinstance(node, ast.Attribute):
            made: Any = ast.Attribute(self._place(node.value), node.attr, node.ctx)
        elif isinstance(node, ast.Subscript):
            value = self._place(node.value)
            made = ast.Subscript(value, self._key(node.slice), node.ctx)
        elif isinstance(node, ast.Call):
            made = self._method(node)
        else:
            return copied(node)
        return ast.copy_location(made, node)

    def _method(self, node: Any) -> ast.Call:
        func = ast.copy_location(
            ast.Attribute(self._place(node.func.value), node.func.attr, ast.Load()), node.func
        )
        all_of_it = node.func.attr in TAKES_ALL
        args = [self._operand(each, consumed=all_of_it) for each in node.args]
        keywords = [
            ast.keyword(each.arg, self._operand(each.value, consumed=each.arg is None))
            for each in node.keywords
        ]
        return ast.copy_location(ast.Call(func, args, keywords), node)

    # -- records

    def _begin(self) -> list[ast.expr]:
        outer, self._operands = self._operands, []
        return outer

    def _record(self, outer: list[ast.expr], place: ast.expr, done: ast.stmt, node: Any) -> ast.Expr:
        """The statement that records another one, to be done later."""
        operands, self._operands = self._operands, outer
        entry = ast.Tuple([ast.Constant(len(self.sites)), *operands], ast.Load())
        call = ast.Call(ast.Name(RECORD, ast.Load()), [entry], [])
        if looks_at_operands(node, self._namespace):
            self.looking.add(len(self.sites))
        self.sites.append(ast.fix_missing_locations(ast.copy_location(done, node)))
        self.note(place, node)
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))

    def note(self, place: ast.expr, node: Any) -> None:
        """Remember what is changed."""
        effect = Effect.of(place, node)
        value = self._namespace.get(effect.name)
        if isinstance(value, types.ModuleType):
            cure = "change it before the loop, where workers see it"
            self._refuse(
                node, f"{effect.name} is a module, and code in it may read what is changed here; {cure}"
            )
        self.reads.effects.setdefault(effect.name, []).append(effect)
        self._changed.append(effect.name)
        self.state = self.state.perhaps([f"={effect.name}"])

    def _refuse(self, node: Any, message: str) -> None:
        self.refused.append(Refusal(node, message))

    def may_do(self, statements: Any) -> set[str]:
        """The names that these may bind, and `=x` for what they may change of x."""
        found = super().may_do(statements)
        for node in in_scope(statements):
            place = node.func if isinstance(node, ast.Call) else node
            stored = isinstance(node, ast.Call) or isinstance(
                getattr(node, "ctx", None), (ast.Store, ast.Del)
            )
            if stored and isinstance(place, (ast.Attribute, ast.Subscript)) and (root := root_of(place)):
                found.add(f"={root.id}")
        return found

    # -- statements

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`total += x`, `counts[k] += 1`, `stats.n += 1`."""
        if isinstance(node.target, ast.Name):
            if not self.is_outer(node.target.id) or node.target.id in self.bound:
                self.visit_Name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
                node.value = self.visit(node.value)
                self.bind([node.target.id])
                return node
        elif not self._from_outside(node.target):
            return self.generic_visit(node)
        outer = self._begin()
        target = self._place(node.target)
        value = self._operand(node.value, consumed=True, as_set=isinstance(node.op, _OF_SETS))
        return self._record(outer, node.target, ast.AugAssign(target, node.op, value), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`table[k] = v`, `best = max(best, x)`, `counts[k] = counts.get(k, 0) + 1`."""
        if len(node.targets) != 1:
            return super().visit_Assign(node)
        (target,) = node.targets
        if isinstance(target, ast.Name):
            outside = self.is_outer(target.id) and target.id not in self.bound
            if not (outside and accumulates(target.id, node.value)):
                return super().visit_Assign(node)
            outer = self._begin()
            again = self._accumulation(target.id, node.value)
            return self._record(outer, target, ast.Assign([copied(target)], again), node)
        if not isinstance(target, (ast.Attribute, ast.Subscript)) or not self._from_outside(target):
            return super().visit_Assign(node)
        outer = self._begin()
        if goes_on_from(target, node.value):
            value = self._going_on(target, node.value)
        else:
            value = self._operand(node.value, consumed=self._copies_into(target))
        place = self._place(target)
        return self._record(outer, target, ast.Assign([place], value), node)

    def _copies_into(self, target: ast.Attribute | ast.Subscript) -> bool:
        """Whether assigning there takes the value apart, and does not keep it."""
        if isinstance(target, ast.Attribute):
            return False
        return isinstance(target.slice, ast.Slice) or not keeps_reference(
            standing_for(target.value, self._namespace)
        )

    def _accumulation(self, name: str, value: Any, *, consumed: bool = True) -> Any:
        if isinstance(value, ast.Name) and value.id == name:
            return copied(value)
        if not any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)):
            return self._operand(value, consumed=consumed)
        if isinstance(value, ast.BinOp):
            left = self._accumulation(name, value.left)
            made: Any = ast.BinOp(left, value.op, self._accumulation(name, value.right))
        else:
            # the largest is one of them, and no copy
            args = [self._accumulation(name, each, consumed=False) for each in value.args]
            made = ast.Call(copied(value.func), args, [])
        return ast.copy_location(made, value)

    def _going_on(self, target: ast.Attribute | ast.Subscript, value: Any, *, consumed: bool = True) -> Any:
        """The new value of a place, from the one that it has when the statement is done."""
        if is_present_value(target, value):
            if not isinstance(value, ast.Call):
                return self._place(value)
            mapping = self._place(target.value)
            func = ast.copy_location(ast.Attribute(mapping, "get", ast.Load()), value.func)
            made: Any = ast.Call(func, [self._operand(each) for each in value.args], [])
        elif not goes_on_from(target, value):
            return self._operand(value, consumed=consumed)
        elif isinstance(value, ast.BinOp):
            left = self._going_on(target, value.left)
            made = ast.BinOp(left, value.op, self._going_on(target, value.right))
        else:
            made = ast.Call(
                copied(value.func),
                [self._going_on(target, each, consumed=False) for each in value.args],
                [],
            )
        return ast.copy_location(made, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """A place with a type is a place."""
        if node.value is None or isinstance(node.target, ast.Name):
            return super().visit_AnnAssign(node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def place(self, node: Any) -> None:
        """Among several targets."""
        if self._from_outside(node):
            self._refuse(node, f"this changes {root_of(node).id} as one of several targets; {_ONCE}")  # type: ignore[union-attr]
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> Any:
        """`del table[k]`."""
        if (
            len(node.targets) != 1
            or isinstance(node.targets[0], ast.Name)
            or not self._from_outside(node.targets[0])
        ):
            return super().visit_Delete(node)
        outer = self._begin()
        return self._record(outer, node.targets[0], ast.Delete([self._place(node.targets[0])]), node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """`seen.append(x)`, `d.setdefault(k, []).append(v)`, `heap.pop()`."""
        call = node.value
        if self._is_at(call) and self._from_outside(call.args[0]):  # type: ignore[attr-defined]
            return self._record_at(call, node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            receiver = standing_for(call.func.value, self._namespace)
            method = call.func.attr
            silent = receiver is UNKNOWN or returns_none(receiver, method)
            wanted = changes(receiver, method) and (silent or node is not self._valued)
            if wanted and self._from_outside(call.func):
                outer = self._begin()
                return self._record(outer, call.func, ast.Expr(self._method(call)), node)
        node.value = self.visit(node.value)
        return node

    def _is_at(self, call: ast.expr) -> bool:
        """`np.add.at(a, i, v)`: it changes its first argument, also one that is read-only."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
            return False
        kind = type(standing_for(call.func.value, self._namespace))
        return (kind.__module__, kind.__name__, call.func.attr) == ("numpy", "ufunc", "at")

    def _record_at(self, call: Any, node: ast.Expr) -> ast.Expr:
        outer = self._begin()
        place = self._place(call.args[0])
        rest = [self._operand(each, consumed=True) for each in call.args[1:]]
        changed = ast.copy_location(ast.Attribute(call.args[0], "at", ast.Load()), call)
        return self._record(outer, changed, ast.Expr(ast.Call(copied(call.func), [place, *rest], [])), node)

    # -- expressions

    def visit_With(self, node: ast.With) -> Any:
        """`with np.errstate(...): total += x`: the statement is done later, under other settings."""
        before = len(self._changed)
        made = super().visit_With(node)
        for changed in self._changed[before:]:
            if (refused := under_settings(node, changed)) is not None:
                self.refused.append(refused)
        return made

    def visit_Call(self, node: ast.Call) -> Any:
        """A change among other things, `[seen.append(y) for y in ys]`; what tells nothing that changes, `len(rows)`."""
        func = node.func
        builtin = isinstance(func, ast.Name) and self.is_outer(func.id) and func.id not in self._namespace
        if builtin and (refused := reaches_names(node)) is not None:
            self.refused.append(refused)
        if builtin and func.id in _OF_KIND and node.args and isinstance(node.args[0], ast.Name):  # type: ignore[attr-defined]
            how = "len" if func.id == "len" else "identity"  # type: ignore[attr-defined]
            node.args[0] = self._read(node.args[0], how)
            node.args[1:] = [self.visit(each) for each in node.args[1:]]
            return node
        receiver = standing_for(func.value, self._namespace) if isinstance(func, ast.Attribute) else None
        if isinstance(func, ast.Attribute) and changes(receiver, func.attr) and self._from_outside(func):
            if returns_none(receiver, func.attr):
                outer = self._begin()
                return self._record(outer, func, ast.Expr(self._method(node)), node).value
            if receiver is not UNKNOWN and speaks(receiver, func.attr):
                what = f"the value of {ast.unparse(func)}() depends on the items before, which run at the same time"
                self._refuse(
                    node, f"{what}; return what it needs (-> out), and do this in a plain loop after the cell"
                )
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        """A name that is read."""
        super().visit_Name(node)
        return self._read(node, "") if isinstance(node.ctx, ast.Load) else node

    def _read(self, node: ast.Name, how: str, key: Any = None) -> ast.Name:
        if not self.is_outer(node.id):
            super().visit_Name(node)
        elif node.id in self.bound or node.id in self._targets:
            super().visit_Name(node)
            self.reads.of_own(node.id, self.state)
        else:
            early = self.runs_here() and f"={node.id}" not in self.state.sometimes
            self.reads.found.append(Read(node, how, key, early))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """An attribute may be another than the one that is changed."""
        if not isinstance(node.value, ast.Name):
            return self.generic_visit(node)
        node.value = self._read(node.value, ".", node.attr)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """An item may be another than those that are changed."""
        if not isinstance(node.value, ast.Name):
            return self.generic_visit(node)
        key = node.slice
        if isinstance(key, ast.Constant):
            self._read(node.value, "[", key.value)
        elif isinstance(key, ast.Name) and key.id in self._targets and self.is_outer(key.id):
            self._read(node.value, "own", key.id)
        else:
            self._read(node.value, "")
        node.slice = self.visit(key)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        """`table is None` asks for what stays; `k in table` for the keys."""
        is_in = len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn))
        last = node.comparators[-1]
        if is_in and isinstance(last, ast.Name):
            node.left = self.visit(node.left)
            self._read(last, "in")
            return node
        identity = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        if identity and isinstance(node.left, ast.Name):
            self._read(node.left, "identity")
            node.comparators = self.until_known(node.comparators)
            return node
        return super().visit_Compare(node)
