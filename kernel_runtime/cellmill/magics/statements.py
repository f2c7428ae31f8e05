"""A walk through a loop's body in the order in which it runs, which knows what is bound at each statement."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from cellmill.magics.flow import State, binds, in_scope, merged, names_of_scope, pattern_names
from cellmill.magics.loop_body import BROKE, GONE


class Flow(ast.NodeTransformer):
    """Visits statements and their expressions in order; `bound` are the names that belong to the body."""

    def __init__(self, bound: set[str], targets: Iterable[str]) -> None:
        self.bound = bound
        self.state = State().binding(targets)
        self.carried: list[ast.Name] = []  # reads of a name of the body's before anything has bound it
        self.doubtful: list[ast.Name] = []  # reads of one that some paths have not bound
        self.exits: list[State] = []  # at each `continue` and `break` of the body itself
        self.deleted: set[str] = set()  # names of the body that it may delete
        self.jumps = False  # whether there is a `continue` or `break` of the body itself
        self._loops: list[list[State]] = []  # states at each `break`, by loop
        self._finals = 0  # `finally` blocks around the statement
        self._scopes: list[tuple[set[str], bool]] = []  # (their names, whether they run in place)

    # -- names

    def is_outer(self, name: str) -> bool:
        """Whether the name, here, is one of the body's scope or of outside."""
        return not any(name in names for names, _ in self._scopes)

    def runs_here(self) -> bool:
        """Whether the code being visited runs in place, and not when a function is called."""
        return all(immediate for _, immediate in self._scopes)

    def bind(self, names: Iterable[str]) -> None:
        """The body has bound these."""
        if not self._scopes:
            self.state = self.state.binding(names)

    def visit_Name(self, node: ast.Name) -> Any:
        """A read of a name of the body's own."""
        if isinstance(node.ctx, ast.Load) and node.id in self.bound and self.is_outer(node.id):
            if node.id not in self.state.sometimes and self.runs_here() and not self.state.dead:
                self.carried.append(node)
            elif node.id not in self.state.always:
                self.doubtful.append(node)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """The value, then the name."""
        node.value = self.visit(node.value)
        if self.runs_here() and self.is_outer(node.target.id):
            self.state = self.state.binding([node.target.id])
        return node

    # -- parts of expressions that may be left out: what they bind is bound on some paths alone

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """The test, then one of two."""
        node.test = self.visit(node.test)
        before = self.state
        node.body = self.visit(node.body)
        after, self.state = self.state, before
        node.orelse = self.visit(node.orelse)
        self.state = merged(after, self.state)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """Each value, unless one before it tells the result."""
        node.values = self.until_known(node.values)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Two values; each further one, unless a comparison before it is false."""
        node.left = self.visit(node.left)
        node.comparators = self.until_known(node.comparators)
        return node

    def until_known(self, values: Sequence[ast.expr]) -> list[ast.expr]:
        """Visit values of which those behind the first are left out where one before tells the result."""
        made, ends = [], []
        for value in values:
            made.append(self.visit(value))
            ends.append(self.state)
        self.state = merged(*ends)
        return made

    # -- scopes

    def _function(self, node: Any) -> Any:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        node.decorator_list = [self.visit(each) for each in getattr(node, "decorator_list", ())]
        state, loops, jumps = self.state, self._loops, self.jumps
        self._loops = [[]]
        self._scopes.append((names_of_scope(node), False))
        node.body = self.block(node.body) if isinstance(node.body, list) else self.visit(node.body)
        self._scopes.pop()
        self._loops, self.jumps = loops, jumps
        self.state = state.perhaps(self.state.sometimes)
        if not isinstance(node, ast.Lambda):
            self.bind([node.name])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Its body runs later."""
        return self._function(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Its body runs later."""
        made = self._function(node)
        del made.decorator_list
        return made

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Its body runs now, with names of its own."""
        for each in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.visit(each)
        self._scopes.append((names_of_scope(node), True))
        node.body = self.block(node.body)
        self._scopes.pop()
        self.bind([node.name])
        return node

    def _comprehension(self, node: Any) -> Any:
        self._scopes.append((names_of_scope(node), not isinstance(node, ast.GeneratorExp)))
        before: State | None = None
        for each in node.generators:
            each.iter = self.visit(each.iter)
            before = before or self.state  # the rest may not run at all
            each.ifs = [self.visit(test) for test in each.ifs]
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, self.visit(getattr(node, field)))
        self._scopes.pop()
        self.state = merged(*filter(None, (before, self.state)))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # -- statements

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements one after another."""
        made: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new]
        return made

    def visit_Assign(self, node: ast.Assign) -> Any:
        """The value, then the targets from left to right."""
        node.value = self.visit(node.value)
        node.targets = [self.target(each) for each in node.targets]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Treat it as an assignment if it has a value."""
        if node.value is not None:
            node.value = self.visit(node.value)
            node.target = self.target(node.target)
        return node

    def target(self, node: Any) -> Any:
        """Visit the target of an assignment: its names become bound."""
        if isinstance(node, ast.Name):
            self.bind([node.id])
        elif isinstance(node, (ast.Tuple, ast.List)):
            node.elts = [self.target(each) for each in node.elts]
        elif isinstance(node, ast.Starred):
            node.value = self.target(node.value)
        else:
            self.place(node)
        return node

    def place(self, node: Any) -> None:
        """An item or attribute that is assigned among other targets."""
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> Any:
        """Names become unbound, which the item says."""
        gone = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.visit_Name(ast.copy_location(ast.Name(target.id, ast.Load()), target))
                if not self._scopes:
                    self.state = self.state.deleting([target.id])
                    gone.append(self._gone(target.id, node))
            else:
                self.place(target)
        return [node, *gone] if gone else node

    def _gone(self, name: str, node: ast.AST) -> ast.stmt:
        self.deleted.add(name)
        said = ast.Assign([ast.Name(GONE.format(name), ast.Store())], ast.Constant(True))
        return ast.fix_missing_locations(ast.copy_location(said, node))

    def visit_Import(self, node: Any) -> Any:
        """The names that it binds."""
        self.bind(binds(node))
        return node

    visit_ImportFrom = visit_Import

    def visit_If(self, node: ast.If) -> Any:
        """Two paths."""
        node.test = self.visit(node.test)
        before = self.state
        node.body = self.block(node.body)
        after, self.state = self.state, before
        node.orelse = self.block(node.orelse)
        self.state = merged(after, self.state)
        return node

    def visit_For(self, node: Any) -> Any:
        """The body runs any number of times."""
        node.iter = self.visit(node.iter)
        return self._loop(node, endless=False)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> Any:
        """The same, until the test fails."""
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self._loop(node, endless)

    def _loop(self, node: Any, endless: bool) -> Any:
        self.state = self.state.perhaps(self.may_do([*node.body, getattr(node, "target", ast.Pass())]))
        if isinstance(node, ast.While):
            node.test = self.visit(node.test)
        before = self.state
        self._loops.append([])
        if not isinstance(node, ast.While):
            node.target = self.target(node.target)
        node.body = self.block(node.body)
        breaks = self._loops.pop()
        self.state = before.ended() if endless else before
        node.orelse = self.block(node.orelse)
        self.state = merged(self.state, *breaks)
        return node

    def may_do(self, statements: Sequence[ast.AST]) -> set[str]:
        """The names that these may bind."""
        return {name for node in in_scope(statements) for name in binds(node)}

    def visit_Break(self, node: ast.Break) -> Any:
        """Leave an inner loop as it is; for the loop itself, record that the item ended it."""
        if self._loops:
            self._loops[-1].append(self.state)
            self.state = self.state.ended()
            return node
        self.jumps = True
        self.exits.append(self.state)
        self.state = self.state.ended()
        return [_saying(broke=True, at=node), node]

    def visit_Continue(self, node: ast.Continue) -> Any:
        """Leave an inner loop as it is; for the loop itself, end the item. In a `finally` it takes a `break` back."""
        if not self._loops:
            self.jumps = True
            self.exits.append(self.state)
        self.state = self.state.ended()
        return node if self._loops or not self._finals else [_saying(broke=False, at=node), node]

    def visit_Raise(self, node: ast.Raise) -> Any:
        """Nothing follows."""
        self.generic_visit(node)
        self.state = self.state.ended()
        return node

    visit_Return = visit_Raise  # type: ignore[assignment]

    def visit_Try(self, node: Any) -> Any:
        """Each handler may begin anywhere in the body."""
        before = self.state
        node.body = self.block(node.body)
        begun = before.perhaps(self.state.sometimes | self.may_do(node.body))
        node.orelse = self.block(node.orelse)
        ends = [self.state]
        for handler in node.handlers:
            self.state = begun
            if handler.type is not None:
                handler.type = self.visit(handler.type)
            if handler.name:
                self.bind([handler.name])
            handler.body = self.block(handler.body)
            if handler.name and not self._scopes:
                self.state = self.state.deleting([handler.name])
                handler.body.insert(0, self._gone(handler.name, handler.body[0]))
            ends.append(self.state)
        end = merged(*ends)
        self.state = State(begun.always, end.sometimes, begun.dead)
        self._finals += 1
        node.finalbody = self.block(node.finalbody)
        self._finals -= 1
        if node.finalbody:
            gained = self.state.always - begun.always
            end = State(end.always | gained, self.state.sometimes, end.dead or self.state.dead)
        self.state = end
        return node

    visit_TryStar = visit_Try

    def visit_With(self, node: Any) -> Any:
        """A context manager that suppresses exceptions may leave its body early."""
        for each in node.items:
            each.context_expr = self.visit(each.context_expr)
            if each.optional_vars is not None:
                each.optional_vars = self.target(each.optional_vars)
        before = self.state
        node.body = self.block(node.body)
        if any("suppress" in ast.dump(each.context_expr) for each in node.items):
            self.state = merged(before.perhaps(self.state.sometimes), self.state)
        return node

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> Any:
        """Merge the paths of all cases, and of none."""
        node.subject = self.visit(node.subject)
        before, ends = self.state, []
        for case in node.cases:
            self.state = before
            self.bind(pattern_names(case.pattern))
            if case.guard is not None:
                case.guard = self.visit(case.guard)
            case.body = self.block(case.body)
            ends.append(self.state)
            before = before.perhaps(self.state.sometimes)
        last = node.cases[-1]
        if not (isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and not last.guard):
            ends.append(before)
        self.state = merged(*ends)
        return node

    def end(self) -> State:
        """Return the state at the end of an item, merged over all ways in which it may end."""
        return merged(self.state, *self.exits)


def _saying(*, broke: bool, at: ast.stmt) -> ast.stmt:
    """A statement that records whether this item ends the loop."""
    said = ast.Assign([ast.Name(BROKE, ast.Store())], ast.Constant(broke))
    return ast.fix_missing_locations(ast.copy_location(said, at))
