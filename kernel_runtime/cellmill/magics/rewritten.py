"""The text of a cell with some of its loops as tasks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from cellmill.magics.cells import Cell
from cellmill.magics.timed_loops import iterable_of
from cellmill.magics.verdicts import element_of


def rewrite(cell: Cell, chosen: Sequence[tuple[Any, str]]) -> str:
    """Return the cell with these loops as tasks. Each comes with what has to hold, "" where nothing has.

    A `for` that is the whole cell becomes `%%pfor`; beside other statements it is a call of that magic, as a cell has
    one magic at most. Expressions become `map` of a parallel function.
    """
    lines = cell.source.splitlines()
    statements = cell.tree.body
    if len(statements) == 1 and len(chosen) == 1 and statements[0] is chosen[0][0]:
        node, condition = chosen[0]
        if isinstance(node, ast.For):
            return f"%%pfor {_head(node)}\n{_comment(condition)}{_body(node, lines)}"
    needs_import = False
    for node, condition in sorted(
        chosen, key=lambda each: (each[0].lineno, each[0].col_offset), reverse=True
    ):
        if isinstance(node, ast.For):
            text = f'get_ipython().run_cell_magic("pfor", {_head(node)!r}, {_quoted(_body(node, lines))})'
        else:
            text, needs_import = _as_map(node), True
        _replace(lines, node, text)
        if condition:
            lines.insert(_statement(statements, node).lineno - 1, _comment(condition).rstrip("\n"))
    text = "\n".join(lines[1:]).strip("\n")
    return f"import cellmill\n{text}" if needs_import and not _imports_cellmill(cell.tree) else text


def _imports_cellmill(tree: ast.Module) -> bool:
    return any(
        isinstance(n, ast.Import) and any(a.name == "cellmill" and not a.asname for a in n.names)
        for n in tree.body
    )


def _comment(condition: str) -> str:
    return f"# if {condition}\n" if condition else ""


def _statement(statements: Sequence[ast.stmt], node: Any) -> ast.stmt:
    return next(each for each in statements if each.lineno <= node.lineno <= (each.end_lineno or 0))


def _replace(lines: list[str], node: Any, text: str) -> None:
    """Put a text in the place of a node."""
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    lines[first : last + 1] = [f"{before}{text}{after}"]


def _head(node: ast.For) -> str:
    target = ast.unparse(node.target)
    if isinstance(node.target, ast.Tuple) and target.startswith("("):
        target = target[1:-1]
    return f"{target} in {ast.unparse(node.iter)}"


def _body(node: ast.For, lines: Sequence[str]) -> str:
    """The text of the body, moved to the left."""
    first = node.body[0]
    top = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    strings = (
        each
        for part in node.body
        for each in ast.walk(part)
        if isinstance(each, (ast.Constant, ast.JoinedStr))
    )
    if any(each.lineno != each.end_lineno for each in strings) or lines[top - 1][: first.col_offset].strip():
        return "\n".join(map(ast.unparse, node.body))
    moved = []
    for line in lines[top - 1 : node.end_lineno]:
        blank = len(line) - len(line.lstrip())
        moved.append(line[min(first.col_offset, blank) :])
    return "\n".join(moved)


def _quoted(body: str) -> str:
    if "\\" in body or "'''" in body:
        return repr(body)
    return f"'''\n{body}\n'''"


def _as_map(node: Any) -> str:
    """The expression whose items are calls of a parallel function."""
    iterable = ast.unparse(iterable_of(node))
    if isinstance(node, ast.Call):
        return f"cellmill.parallel({ast.unparse(node.args[0])}).map({iterable})"
    value, target = element_of(node)
    (generator,) = node.generators
    if generator.ifs:
        tests = "".join(f" if {ast.unparse(each)}" for each in generator.ifs)
        iterable = f"{ast.unparse(target)} for {ast.unparse(target)} in {iterable}{tests}"
    calls = f"cellmill.parallel({_function(value, target)}).map({iterable})"
    kinds = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}
    return f"{kinds.get(type(node), '')}({calls})"  # the brackets of a call belong to a generator expression


def _function(value: ast.expr, target: ast.expr) -> str:
    """The function of an item: that which is called with it, or a lambda."""
    if isinstance(target, ast.Name):
        alone = isinstance(value, ast.Call) and not value.keywords and len(value.args) == 1
        if alone and isinstance(value, ast.Call) and _is_name(value.args[0], target.id):
            func = value.func
            if isinstance(func, ast.Name) and func.id != target.id:
                return func.id
        return f"lambda {target.id}: {ast.unparse(value)}"
    return f"lambda item: [{ast.unparse(value)} for {ast.unparse(target)} in [item]][0]"


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
