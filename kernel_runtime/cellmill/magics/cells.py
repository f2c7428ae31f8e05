"""Cells as code: parsing them so that every error points at the line the user sees, and running them."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeGuard, cast

from IPython.core.interactiveshell import InteractiveShell

from cellmill.by_value.pickling import dumps
from cellmill.errors import PayloadError
from cellmill.magics.body import ITEM, VALUE
from cellmill.magics.lines import UsageError
from cellmill.serialization import remedies

_READS = frozenset(
    {
        "LOAD_NAME",
        "LOAD_GLOBAL",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "DELETE_NAME",
        "DELETE_GLOBAL",
        "LOAD_CLASSDEREF",
    }
)
_WRITES = frozenset({"STORE_NAME", "STORE_GLOBAL"})
ONCE = "__cellmill_once__"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Cell:
    """The body of a cell magic, numbered as in the notebook: line 1 is the line of the magic."""

    source: str
    filename: str
    tree: ast.Module
    flags: int


def read_cell(ip: InteractiveShell, magic_line: str, body: str) -> Cell:
    """Parse the body of a cell magic under the cell's own name (`Cell In[n]` in tracebacks).

    Raises SyntaxError at the right line, or UsageError for an await at the top level.
    """
    blank = len(body) - len(body.lstrip("\n"))
    source = "\n" * (blank + 1) + ip.transform_cell(body)  # type: ignore[no-untyped-call]
    shown = magic_line + source
    result = getattr(ip.displayhook, "exec_result", None)
    info = getattr(result, "info", None)
    number = getattr(result, "execution_count", None) or ip.execution_count
    raw = getattr(info, "raw_cell", None) or shown
    whole = raw.lstrip().startswith(
        magic_line.partition(" ")[0]
    )  # else the magic is called by a line of the cell
    filename = ip.compile.cache(shown, number, raw_code=raw if whole else shown)
    tree = cast(ast.Module, ip.compile.ast_parse(source, filename=filename))
    _refuse_await(tree, shown.splitlines(), magic_line.partition(" ")[0])
    return Cell(shown, filename, ip.transform_ast(tree), ip.compile.flags)  # type: ignore[no-untyped-call]


def run_cell(ip: InteractiveShell, cell: Cell) -> Iterator[ast.stmt]:
    """Run a cell in the notebook statement by statement, yielding each when it has run.

    The value of a last expression is displayed, as in any cell.
    """
    __tracebackhide__ = True
    last = cell.tree.body[-1] if cell.tree.body else None
    for node in cell.tree.body:
        if node is last and isinstance(node, ast.Expr):
            code = ip.compile(ast.Interactive([node]), cell.filename, "single")  # type: ignore[arg-type]
        else:
            code = ip.compile(ast.Module([node], []), cell.filename, "exec")  # type: ignore[arg-type]
        exec(code, ip.user_global_ns, ip.user_ns)
        yield node


def compile_body(
    cell: Cell, target: ast.expr | None = None, body: list[ast.stmt] | None = None, *, jumps: bool = False
) -> CodeType:
    """The cell, or a body made of it, as one code object which leaves the value of its last expression under VALUE.

    With a target, its first act is to bind the target to ITEM. ``jumps``: `break` and `continue` end it. Raises
    SyntaxError.
    """
    statements = list(cell.tree.body if body is None else body)
    if statements and isinstance(statements[-1], ast.Expr):
        last = statements[-1]
        value = ast.Assign([ast.Name(VALUE, ast.Store())], last.value)
        statements[-1] = ast.fix_missing_locations(ast.copy_location(value, last))
    if jumps and statements:
        first = _after_future_imports(statements)
        once = ast.For(ast.Name(ONCE, ast.Store()), ast.Constant("1"), statements[first:], [])
        statements[first:] = [ast.fix_missing_locations(ast.copy_location(once, statements[first]))]
    if target is not None:
        bind = ast.Assign([target], ast.copy_location(ast.Name(ITEM, ast.Load()), target))
        statements.insert(_after_future_imports(statements), ast.copy_location(bind, target))
    code = compile(ast.Module(statements, []), cell.filename, "exec", cell.flags, True)
    return cast(CodeType, code)


def _after_future_imports(statements: list[ast.stmt]) -> int:
    position = 0
    while position < len(statements):
        node = statements[position]
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        position += 1
    return position


def names_read(code: CodeType) -> set[str]:
    """The global names which the code, or anything defined in it, may read or delete."""
    return _names(code, _READS)


def names_assigned(code: CodeType) -> set[str]:
    """The global names which the code itself assigns."""
    stored = {op.argval for op in dis.get_instructions(code) if op.opname in _WRITES}
    return {name for name in stored if not name.startswith("__")}


def names_deleted(code: CodeType) -> set[str]:
    """The global names which the code itself deletes."""
    return {op.argval for op in dis.get_instructions(code) if op.opname in ("DELETE_NAME", "DELETE_GLOBAL")}


def _names(code: CodeType, operations: frozenset[str]) -> set[str]:
    found = {op.argval for op in dis.get_instructions(code) if op.opname in operations}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant, operations)
    return found


def capture(
    ip: InteractiveShell, cell: Cell, code: CodeType, *, futures_ok: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The notebook's variables which the code needs, by name.

    Raises UsageError at the line that uses a shell command, a magic, or a future as if it were its value.
    """
    names = names_read(code)
    if "get_ipython" in names and "get_ipython" not in names_assigned(code):
        raise at_name(cell, "get_ipython", "magics and shell commands (%, !) cannot run inside a task")
    hidden = ip.user_ns_hidden
    captured = {}
    for name in names:
        if name not in ip.user_ns:
            continue
        value = ip.user_ns[name]
        if name in hidden and hidden[name] is value:
            continue
        if isinstance(value, Future) and name not in futures_ok:
            hint = f"take its value first ({name}.result()), or in a %%task write: after {name}"
            raise at_name(cell, name, f"{name} is a future and cannot go into a task by itself; {hint}")
        captured[name] = value
    return captured


def explain_unsendable(cell: Cell, variables: dict[str, Any]) -> PayloadError | None:
    """The error that names the variable which cannot be pickled and the line that uses it, if any."""
    for name, value in variables.items():
        try:
            dumps(value)
        except Exception as error:
            lines = [
                node.lineno for node in ast.walk(cell.tree) if isinstance(node, ast.Name) and node.id == name
            ]
            where = f"line {min(lines)}: " if lines else ""
            what = f"the cell uses {name}, which cannot be sent to a worker"
            cure = remedies.advice(value).removesuffix(".") or (
                "Make it inside the cell, or once per worker with @cellmill.per_worker"
            )
            return PayloadError(f"{where}{what} ({type(error).__name__}: {error}). {cure}")
    return None


def at_name(cell: Cell, name: str, message: str) -> UsageError:
    """An error at the first use of a name in the cell."""
    for node in ast.walk(cell.tree):
        if isinstance(node, ast.Name) and node.id == name:
            return at_node(cell, node, message)
    return UsageError(message)


def at_node(cell: Cell, node: ast.expr | ast.stmt, message: str) -> UsageError:
    """An error at a statement or expression of the cell, or its first line."""
    return _at_node(message, cell.source.splitlines(), node)


def _at_node(message: str, lines: list[str], node: ast.expr | ast.stmt) -> UsageError:
    text = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
    start, stop = _column(text, node.col_offset), len(text)
    if node.end_lineno == node.lineno and node.end_col_offset:
        stop = _column(text, node.end_col_offset)
    return UsageError(f"line {node.lineno}: {message}", text=text, start=start, stop=stop)


def _column(text: str, offset: int) -> int:
    """The column of a byte of the line."""
    return len(text.encode()[:offset].decode(errors="replace"))


def _refuse_await(tree: ast.Module, lines: list[str], magic: str) -> None:
    """An await at the top level would need the kernel's event loop, which a magic's cell has not."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)) or _is_async_comprehension(node):
            message = f"await cannot stand at the top level of a {magic} cell; put it into an async def and"
            raise _at_node(f"{message} call asyncio.run(...), or use a plain cell", lines, node)
        if isinstance(node, _SCOPES):
            pending += [*getattr(node, "decorator_list", ()), *node.args.defaults]
            continue
        pending += ast.iter_child_nodes(node)


def _is_async_comprehension(node: ast.AST) -> TypeGuard[ast.expr]:
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp)
    return isinstance(node, comprehensions) and any(each.is_async for each in node.generators)
