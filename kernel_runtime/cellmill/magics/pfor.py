"""`%%pfor`: a cell as the body of a parallel loop."""

from __future__ import annotations

import ast
import functools
import io
import keyword
import tokenize
from typing import Any, NoReturn

from IPython.core.interactiveshell import InteractiveShell

import cellmill
from cellmill.diagnostics.short_text import counted
from cellmill.magics.body import runs_here
from cellmill.magics.cells import explain_unsendable, read_cell
from cellmill.magics.failures import group_of, place
from cellmill.magics.flow import target_names
from cellmill.magics.harvest import Harvest, Source, apply, assign_names, say
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
from cellmill.magics.loop import Loop, Plan, changed_unseen, make_plan
from cellmill.magics.loop_body import last_look, loop_function
from cellmill.parallel import parallel

OPTIONS = (RETRIES, TIMEOUT, PRIORITY, RESOURCES, MEMORY, CHUNKSIZE, NAME)
USAGE = f"%%pfor {usage_of(OPTIONS)} TARGET in ITERABLE [-> OUT]"

HELP = f"""Run the cell once for each item, in parallel, with the effects of a plain for loop.

    {USAGE}

The last expression of the cell is the item's value, None without one; OUT becomes the list of
values, in the order of the items:

    %%pfor x in range(10) -> squares
    y = x * x
    y + offset

What the body does to things from outside is recorded by the items and done in the notebook when
all are over, in their order, so that sums have the plain loop's last digit:

    %%pfor path in paths
    text = read(path)
    total += len(text)
    seen.append(path)
    index.setdefault(text[0], []).append(path)
    if not text:
        counts["empty"] += 1

These are name += x, name = name + x, name = max(name, x), d[k] = d.get(k, 0) + x; items, slices
and attributes that are assigned, augmented or deleted; append, extend, add, update and their like. What is changed so
cannot be read in the body as well, as the items before are not over: that is refused before
anything runs, with the place. So is what an item before would have bound. Changes made in other
ways (heapq.heappush(heap, x), a function that changes its argument) stay in a worker: they are
found there, the loop fails, and nothing of it is done. Changes of the item itself are done to
the notebook's object too when they are written as such statements: row["z"] = f(row). Other
changes of the item are lost, and are not found.

The loop's variable and the names that the body binds have their last values afterwards; a line
says which do not. `continue` ends an item, its value is None; `break` ends the loop: the items
behind may have run. What they print, or write to files themselves, is there; nothing else of them
is done, and OUT ends with the item that breaks. Over an
iterator of the notebook's (a file, a generator), of which a plain loop leaves the rest, it is refused. When
nothing is left of the items' values a line says so.

A bar is shown, and the cell ends when all items are done. Where an item fails, OUT holds a false
`TaskFailure` (index, item, error) in its place, one ExceptionGroup names them all, and the
effects of the items before the first failure are done. After Stop those before the first
unfinished item are done; OUT stays as it was. After both, names are as they were before.
Where the first that fails raises SystemExit, KeyboardInterrupt or another that is no Exception,
this is raised itself, as by a plain loop.
When ITERABLE raises half way, all this is that of the items before. A retried item counts once.

With the backends `threads` and `inline` the body works on the notebook's own objects; what is
recorded is done at the end there too. Only changes of the item are made at once.

Options, which come first:
{help_of(OPTIONS)}
"""


def run_pfor(ip: InteractiveShell, text: str, body: str) -> None:
    """The magic: `text` is the rest of its line, `body` the lines below."""
    __tracebackhide__ = True
    line = Line("%%pfor", text, USAGE)
    options, start = read_options(line, OPTIONS)
    loop = read_loop(line, start)
    cell = read_cell(ip, f"%%pfor {text}", body)
    chunksize = options.pop("chunksize", None)
    options.setdefault("name", loop.heading)
    executor = cellmill.default_executor()
    plan = make_plan(ip, cell, loop, here=runs_here(executor.backend))
    iterable = ast.Expression(loop.iterable)
    items = eval(compile(iterable, cell.filename, "eval", cell.flags, True), ip.user_global_ns, ip.user_ns)
    if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
        raise _not_iterable(line, loop, items)
    harvest = Harvest()
    try:
        run_loop(plan, Source(items), harvest, options, chunksize)
    except cellmill.PayloadError as error:
        raise (explain_unsendable(cell, plan.variables) or error) from None
    except KeyboardInterrupt:
        _apply(ip, plan, harvest)
        _say_stopped(plan, harvest)
        raise
    except Exception:
        raise
    except BaseException:  # an item that ran here, with the backend `inline`, ended the loop
        apply(ip, plan, harvest)
        raise
    finish(ip, plan, harvest)


def run_loop(
    plan: Plan,
    source: Source,
    harvest: Harvest,
    options: dict[str, Any],
    chunksize: int | None,
    executor: cellmill.Executor | None = None,
) -> None:
    """Run all items, and read what they leave. ``executor``: instead of the default one."""
    where = executor or cellmill.default_executor()
    task = plan.body(options["name"], sized=source.sized)
    plan.follow()  # the expression of the iterable has run
    feed = source.feed(plan.follow, mark_last=bool(plan.bound))
    if where.backend == "inline":
        feed = (item for item in feed)  # of no known length: an item runs when the ones before have been read
    function = parallel(executor=executor, **options)(loop_function(task))
    results = function.map(feed, return_exceptions=True, chunksize=chunksize)
    harvest.read(plan, source, results)
    if plan.heavy or harvest.unseen:
        looks = where.run_on_workers(functools.partial(last_look, task.terms.token))
        changed = next((name for name in looks if name is not None), None)
        if changed is not None:
            raise changed_unseen(plan, changed)


def finish(ip: InteractiveShell, plan: Plan, harvest: Harvest) -> None:
    """Assign the loop's results in the notebook; raise the error of what failed."""
    __tracebackhide__ = True
    _apply(ip, plan, harvest)
    loop = plan.loop
    if not harvest.failures:
        assign_names(ip, plan, harvest)
    if loop.out is not None:
        ip.user_ns[loop.out] = harvest.values
    if harvest.failures or harvest.broken is not None:
        _raise(loop, harvest)
    changes = plan.sites or harvest.moved
    if loop.out is None and not changes and harvest.values and _comes_to_nothing(plan, harvest):
        say(
            "%%pfor: the values of the items go nowhere; to keep them write `-> NAME` at the end of the first line"
        )


def _apply(ip: InteractiveShell, plan: Plan, harvest: Harvest) -> None:
    __tracebackhide__ = True
    try:
        apply(ip, plan, harvest)
    except KeyboardInterrupt:  # Stop, between the effects of many items
        _say_stopped(plan, harvest)
        raise


def _say_stopped(plan: Plan, harvest: Harvest) -> None:
    if plan.sites:
        done = counted(harvest.applied, "item")
        at_once = " (but for changes of the items themselves, which are made at once)" if plan.here else ""
        say(f"%%pfor was stopped; the effects of its first {done} are done, of no others{at_once}")


def _comes_to_nothing(plan: Plan, harvest: Harvest) -> bool:
    """Whether the items end with a value that goes nowhere."""
    last = plan.cell.tree.body[-1] if plan.cell.tree.body else None
    if isinstance(last, (ast.Assign, ast.AugAssign)):
        targets = last.targets if isinstance(last, ast.Assign) else [last.target]
        return any(map(target_names, targets))  # else it has changed an object
    return any(value is not None for value in harvest.values)


def _raise(loop: Loop, harvest: Harvest) -> NoReturn:
    __tracebackhide__ = True
    failures, broken, count = harvest.failures, harvest.broken, len(harvest.values)
    if broken is not None:
        broken.add_note(f"%%pfor: the iterable raised this after {counted(count, 'item')}")
        if not failures:
            raise broken
    for failure in failures:
        # of a change that is done at the end the item is not kept
        shown = f" ({failure.item})" if failure.item else ""
        place(failure.error, f"item {failure.index}{shown}")
    if not isinstance(
        failures[0].error, Exception
    ):  # the plain loop ends here, and no `except Exception` sees it
        if len(failures) > 1:
            failures[0].error.add_note(
                f"%%pfor: {len(failures) - 1:,} more of {counted(count, 'item')} failed"
            )
        raise failures[0].error
    where = f"; a TaskFailure is in the place of each in {loop.out}" if loop.out else ""
    message = f"%%{loop.heading}: {len(failures):,} of {counted(count, 'item')} failed{where}"
    errors: list[Any] = [failure.error for failure in failures] + ([broken] if broken is not None else [])
    raise group_of(message, errors) from None


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
