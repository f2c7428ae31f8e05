"""The names that a loop's body has bound at each of its statements, which tell its own names from outer ones.

A name that a path through the body may read before binding it would in a plain loop have the value of an item before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class State:
    """Names bound on all paths to here and on some; ``dead``: no path leads here. ``-x``: x was deleted."""

    always: frozenset[str] = frozenset()
    sometimes: frozenset[str] = frozenset()
    dead: bool = False

    def binding(self, names: Iterable[str]) -> State:
        """After these were bound."""
        added = frozenset(names)
        always = self.always - {f"-{name}" for name in added} | added
        return State(always, self.sometimes | added, self.dead)

    def deleting(self, names: Iterable[str]) -> State:
        """After these were deleted."""
        gone = frozenset(names)
        return State(self.always - gone | {f"-{name}" for name in gone}, self.sometimes, self.dead)

    def perhaps(self, names: Iterable[str]) -> State:
        """After what may have bound these, so that they are not sure to be deleted any more."""
        added = frozenset(names)
        return State(self.always - {f"-{name}" for name in added}, self.sometimes | added, self.dead)

    def ended(self) -> State:
        """Behind a jump."""
        return State(self.always, self.sometimes, dead=True)


def merged(*states: State) -> State:
    """Merge the states of paths that meet."""
    alive = [state for state in states if not state.dead]
    sometimes = frozenset[str]().union(*(state.sometimes for state in states))
    if not alive:
        return State(states[0].always, sometimes, dead=True)
    return State(frozenset.intersection(*(state.always for state in alive)), sometimes)


def target_names(node: ast.AST | None) -> list[str]:
    """The names that an assignment to this target binds."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [name for part in node.elts for name in target_names(part)]
    return target_names(node.value) if isinstance(node, ast.Starred) else []


def starred_names(target: ast.AST) -> set[str]:
    """The names of a target that get new lists: `rest` of `first, *rest`."""
    return {name for node in ast.walk(target) if isinstance(node, ast.Starred) for name in target_names(node)}


def pattern_names(pattern: ast.AST) -> list[str]:
    """The names that a pattern of a `match` binds."""
    found = []
    for node in ast.walk(pattern):
        name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None)
        if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)) and name is not None:
            found.append(name)
    return found


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The names that an import binds, but for those of a star."""
    names = (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    return [name for name in names if name != "*"]


def binds(node: ast.AST) -> list[str]:
    """The names that this node itself binds in its scope, augmented assignment aside."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return imported_names(node)
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    return pattern_names(node) if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)) else []


def in_scope(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one scope: of nested functions and classes only what runs where they are defined."""
    pending = list(roots)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, SCOPES):
            pending += [*getattr(node, "decorator_list", ()), *node.args.defaults]
            pending += [default for default in node.args.kw_defaults if default is not None]
        elif isinstance(node, ast.ClassDef):
            pending += [*node.decorator_list, *node.bases, *(each.value for each in node.keywords)]
        elif isinstance(node, COMPREHENSIONS):
            pending += [each for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        else:
            pending += ast.iter_child_nodes(node)


def names_of_scope(scope: ast.AST) -> set[str]:
    """The local names of a function, a lambda, a class or a comprehension."""
    if isinstance(scope, COMPREHENSIONS):
        return {name for each in scope.generators for name in target_names(each.target)}
    body = scope.body if isinstance(scope.body, list) else [scope.body]  # type: ignore[attr-defined]
    found = {name for node in in_scope(body) for name in binds(node)}
    found -= {name for node in in_scope(body) if isinstance(node, ast.Global) for name in node.names}
    if isinstance(scope, SCOPES):
        a = scope.args
        each = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x is not None)]
        found |= {argument.arg for argument in each}
    return found
