"""`%%parallel`: the functions of a cell become parallel functions."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from cellmill.errors import UsageError
from cellmill.magics.cells import at_node, read_cell, run_cell
from cellmill.magics.lines import (
    BATCH,
    CHECKPOINT,
    DEPENDS_ON,
    MEMO,
    MEMORY,
    NAME,
    PRIORITY,
    RESOURCES,
    RETRIES,
    TIMEOUT,
    Line,
    did_you_mean,
    help_of,
    read_options,
    usage_of,
)
from cellmill.parallel import ParallelFunction, PerWorker, parallel
from cellmill.process_context.interrupts import uninterrupted

OPTIONS = (RETRIES, BATCH, TIMEOUT, PRIORITY, RESOURCES, MEMORY, NAME, MEMO, DEPENDS_ON, CHECKPOINT)
USAGE = f"%%parallel {usage_of(OPTIONS)} [functions…]"

HELP = f"""Run the cell; the functions it defines become parallel functions.

    {USAGE}

Every function defined at the top level of the cell, or only those named. Beside others, generators,
context managers and async functions stay plain. From the line after its
definition on `f(x)` returns a future at once, and `f.map(xs)` an iterator of results in order:

    %%parallel --retries 2
    def f(x):
        return x * x

    f(3).result(), list(f.map(range(10)))

`f.map(xs, window=3)` gives `window=3` to each call, `f.starmap(pairs)` calls `f(*pair)`.

Inside a task `f(x)` is the plain function's value, and no future. When the cell raises, what was
defined before that line is parallel and the rest is as it was.

Options, which come first:
{help_of(OPTIONS)}
"""


def run_parallel(ip: InteractiveShell, text: str, body: str) -> None:
    """The magic: `text` is the rest of its line, `body` the lines below."""
    __tracebackhide__ = True
    line = Line("%%parallel", text, USAGE)
    options, start = read_options(line, OPTIONS)
    words = line.words(start)
    cell = read_cell(ip, f"%%parallel {text}", body)
    defined = {
        node.name: node
        for node in cell.tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for word in words:
        if word.text.startswith("--"):
            raise line.at(f"options come first: %%parallel {word.text} {words[0].text}", word)
        if word.text not in defined:
            listed = (
                f"it defines {', '.join(defined)}" if defined else "it defines no function at its top level"
            )
            raise line.at(
                f"the cell defines no function {word.text!r}; {listed}{did_you_mean(word.text, defined)}",
                word,
            )
    named = {word.text for word in words}
    chosen = named or {name for name, node in defined.items() if not _is_helper(node)} or set(defined)
    if not chosen:
        raise line.error("the cell defines no function at its top level", 0)
    for name in chosen:
        if isinstance(defined[name], ast.AsyncFunctionDef):
            message = f"async def {name} cannot become a parallel function; make it a plain def that calls"
            raise at_node(cell, defined[name], f"{message} asyncio.run(...), or name the functions to take")
    decorating = chosen & _decorators(cell.tree)
    waiting: set[str] = set()  # to become parallel, also where Stop comes in between

    def take(name: str) -> None:
        if name in ip.user_ns:
            try:
                ip.user_ns[name] = make_parallel(ip.user_ns[name], options)
            except UsageError:  # its options are wrong for all: one error
                waiting.clear()
                raise

    try:
        for node in run_cell(ip, cell):
            if isinstance(node, ast.FunctionDef) and node.name in chosen:
                waiting.add(node.name)
                if node.name not in decorating:
                    take(node.name)
                    waiting.discard(node.name)
    finally:
        with uninterrupted():
            for name in waiting:
                take(name)


def _is_helper(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether this is what tasks or the cell make use of, as it can be no task: a generator, an async function."""
    if isinstance(node, ast.AsyncFunctionDef):
        return True
    decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    return decorators <= {"contextmanager"} and any(map(_yields, node.body))


def _yields(node: ast.AST) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return False  # it does so by itself
    return isinstance(node, (ast.Yield, ast.YieldFrom)) or any(map(_yields, ast.iter_child_nodes(node)))


def _decorators(tree: ast.Module) -> set[str]:
    """Names in decorators of the cell: their functions are called by its definitions, and stay plain for them."""
    expressions = [each for node in ast.walk(tree) for each in getattr(node, "decorator_list", ())]
    return {part.id for each in expressions for part in ast.walk(each) if isinstance(part, ast.Name)}


def make_parallel(function: Any, options: dict[str, Any]) -> Any:
    """The parallel function of what a `def` with its decorators left.

    One that is parallel already takes the options; what is made once per worker stays what it is.
    """
    if isinstance(function, ParallelFunction):
        return function.options(**options) if options else function
    if not isinstance(function, FunctionType) and not _wraps_function(function):
        return function
    return parallel(**options)(function)


def _wraps_function(value: Any) -> bool:
    """Whether a decorator replaced the function (by a wrapper, a cache, an object)."""
    return callable(value) and not isinstance(value, (PerWorker, type))
