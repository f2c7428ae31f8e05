"""`%%pfor`: a cell as the body of a parallel loop."""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from IPython.core.interactiveshell import InteractiveShell

import cellmill
from cellmill.magics.body import ITEM, Body, Returned, item_function, shortened
from cellmill.magics.cells import capture, compile_body, explain_unsendable, read_cell
from cellmill.magics.failures import LoopErrors, place
from cellmill.magics.lines import (
    CHUNKSIZE,
    MEMORY,
    NAME,
    PRIORITY,
    RESOURCES,
    RETRIES,
    TIMEOUT,
    Line,
    UsageError,
    help_of,
    read_options,
    usage_of,
)
from cellmill.parallel import parallel

OPTIONS = (RETRIES, TIMEOUT, PRIORITY, RESOURCES, MEMORY, CHUNKSIZE, NAME)
USAGE = f"%%pfor {usage_of(OPTIONS)} TARGET in ITERABLE [-> OUT]"

HELP = f"""Run the cell once for each item, in parallel.

    {USAGE}

The last expression of the cell is the item's value, None without one; OUT becomes the list of
values, in the order of the items:

    %%pfor x in range(10) -> squares
    y = x * x
    y + offset

The cell sees copies of the notebook's variables, and what it assigns stays inside, also between
items. A bar is shown, and the cell ends when all items are done. Where an item fails, OUT holds
a false `TaskFailure` (index, item, error) in its place, and one ExceptionGroup names them all.
When ITERABLE raises half way, OUT holds the values of the items before. Stop leaves OUT as it was.

Options, which come first:
{help_of(OPTIONS)}
"""


@dataclass(frozen=True, slots=True)
class Loop:
    """The three parts of the line; `source` columns are those of the cell's first line."""

    target: ast.expr
    iterable: ast.expr
    heading: str
    out: str | None


def run_pfor(ip: InteractiveShell, text: str, body: str) -> None:
    """The magic: `text` is the rest of its line, `body` the lines below."""
    __tracebackhide__ = True
    line = Line("%%pfor", text, USAGE)
    options, start = read_options(line, OPTIONS)
    loop = read_loop(line, start)
    cell = read_cell(ip, f"%%pfor {text}", body)
    code = compile_body(cell, loop.target)
    chunksize = options.pop("chunksize", None)
    options.setdefault("name", loop.heading)
    task = Body(options["name"], code, capture(ip, cell, code), cell.source)
    iterable = ast.Expression(loop.iterable)
    items = eval(compile(iterable, cell.filename, "eval", cell.flags, True), ip.user_global_ns, ip.user_ns)
    if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
        raise _not_iterable(line, loop, items)
    try:
        values, failures, broken = collect(parallel(**options)(item_function(task)), items, chunksize)
    except cellmill.PayloadError as error:
        raise (explain_unsendable(cell, task.variables) or error) from None
    if loop.out is not None:
        ip.user_ns[loop.out] = values
    if failures or broken is not None:
        _raise(loop, values, failures, broken)


def collect(
    function: Any, items: Any, chunksize: int | None
) -> tuple[list[Any], list[cellmill.TaskFailure], Exception | None]:
    """All values in order, the failures among them, and what the iterable itself raised."""
    values: list[Any] = []
    failures: list[cellmill.TaskFailure] = []
    broken: Exception | None = None
    results = function.map(items, return_exceptions=True, chunksize=chunksize)
    try:
        for index, value in enumerate(results):
            if isinstance(value, BaseException):
                value = cellmill.TaskFailure(index, _item_of(value, items, index), value)
                failures.append(value)
            values.append(value.value if type(value) is Returned else value)
    except cellmill.CellmillError:
        raise
    except Exception as error:
        broken = error
    return values, failures, broken


def _item_of(error: BaseException, items: Any, index: int) -> str:
    """A short repr of a failed item: the worker's own, or that of the item where it can be looked up."""
    noted = error.__dict__.pop(ITEM, None)
    if noted is not None:
        return str(noted)
    return shortened(items[index]) if isinstance(items, Sequence) else "?"


def _raise(
    loop: Loop, values: list[Any], failures: list[cellmill.TaskFailure], broken: Exception | None
) -> NoReturn:
    __tracebackhide__ = True
    if broken is not None:
        broken.add_note(f"%%pfor: the iterable raised this after {len(values)} items")
        if not failures:
            raise broken
    for failure in failures:
        place(failure.error, f"item {failure.index} ({failure.item})")
    where = f"; a TaskFailure stands for each in {loop.out}" if loop.out else ""
    message = f"%%{loop.heading}: {len(failures):,} of {len(values):,} items failed{where}"
    errors: list[Any] = [failure.error for failure in failures] + ([broken] if broken is not None else [])
    raise LoopErrors(message, errors) from None


def _not_iterable(line: Line, loop: Loop, value: object) -> UsageError:
    shift = len(line.magic) + 1
    start, stop = loop.iterable.col_offset - shift, (loop.iterable.end_col_offset or 0) - shift
    return line.error(f"cannot loop over {type(value).__name__}: it is not iterable", start, stop)


def read_loop(line: Line, start: int) -> Loop:
    """Split TARGET in ITERABLE [-> OUT] on tokens, so that neither strings nor lambdas confuse it."""
    text = line.text[start:]
    split, arrow, end = _split(line, start)
    if split is None:
        raise line.error(
            "TARGET in ITERABLE is missing" if not text.strip() else "there is no `in` after the target",
            None if text.strip() else start,
        )
    target = _target(line, start, split)
    iterable = _parse(line, split + 2, end if arrow is None else arrow, "an iterable")
    out = None
    if arrow is not None:
        out = line.text[arrow + 2 : end].strip()
        if not out.isidentifier() or keyword.iskeyword(out):
            column = arrow + 2 + len(line.text[arrow + 2 : end]) - len(line.text[arrow + 2 : end].lstrip())
            message = (
                f"-> takes one variable name, not {out!r}" if out else "a variable name is missing after ->"
            )
            raise line.error(message, column if out else arrow, column + len(out) if out else arrow + 2)
    heading = f"pfor {line.text[start : end if arrow is None else arrow].strip()}"
    return Loop(target, iterable, heading if len(heading) <= 48 else heading[:47] + "…", out)


def _split(line: Line, start: int) -> tuple[int | None, int | None, int]:
    """Columns of the first `in` and of the last `->` outside brackets, and where the line ends."""
    split = arrow = None
    end = len(line.text)
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.text[start:]).readline):
            column = start + token.start[1]
            if token.type == tokenize.COMMENT:
                end = column
            elif token.type == tokenize.OP and token.string in "([{":
                depth += 1
            elif token.type == tokenize.OP and token.string in ")]}":
                depth -= 1
            elif depth == 0 and token.string == "in" and split is None:
                split = column
            elif depth == 0 and token.string == "->":
                arrow = column
    except (tokenize.TokenError, IndentationError) as error:
        if depth > 0:
            raise line.error("a bracket is not closed") from None
        raise line.error(f"cannot read this line: {error.args[0]}", start, end) from None
    if split is None or (arrow is not None and arrow < split):
        arrow = None
    return split, arrow, end


def _target(line: Line, start: int, split: int) -> ast.expr:
    node = _parse(line, start, split, "a target")
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, (ast.Tuple, ast.List)):
            pending += part.elts
        elif isinstance(part, ast.Starred):
            pending.append(part.value)
        elif not isinstance(part, ast.Name):
            shift = len(line.magic) + 1
            message = "the target is a name or a tuple of names"
            raise line.error(message, part.col_offset - shift, (part.end_col_offset or 0) - shift)
    return _stored(line, start, split, node)


def _stored(line: Line, start: int, split: int, node: ast.expr) -> ast.expr:
    """The same expression as the target of an assignment."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Tuple, ast.List, ast.Starred)):
            part.ctx = ast.Store()
    try:
        bind = ast.Assign([node], ast.Constant(None))
        compile(ast.fix_missing_locations(ast.Module([bind], [])), "<target>", "exec")
    except SyntaxError as error:
        raise line.error(f"not a target: {error.msg}", start, split) from None
    return node


def _parse(line: Line, start: int, stop: int, what: str) -> ast.expr:
    """An expression of the line, its columns counted from the start of the cell's first line."""
    text = line.text[start:stop]
    if not text.strip():
        raise line.error(f"{what} is missing", start, stop)
    shift = len(line.magic) + 1 + start - 1
    try:
        parsed = ast.parse(f"({text})", mode="eval").body
    except SyntaxError as error:
        column = start + max(0, (error.offset or 2) - 2)
        raise line.error(f"not {what}: {error.msg}", min(column, max(start, stop - 1))) from None
    for node in ast.walk(parsed):
        if isinstance(node, (ast.expr, ast.keyword, ast.arg)):
            node.col_offset += shift
            if node.end_col_offset is not None:
                node.end_col_offset += shift
    return parsed
