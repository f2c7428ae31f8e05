"""`%%speedup`: a plain cell, and what of it could be tasks."""

from __future__ import annotations

import ast
import contextlib
import functools
import keyword
import time
from collections.abc import Iterator
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

import cellmill
from cellmill import run_registry
from cellmill.diagnostics.lasting_ids import lasting_id
from cellmill.magics.body import runs_here
from cellmill.magics.cells import Cell, read_cell
from cellmill.magics.harvest import Harvest, Source
from cellmill.magics.lines import Line, Option, help_of, read_options, usage_of
from cellmill.magics.loop import Loop, make_plan
from cellmill.magics.pfor import run_loop
from cellmill.magics.promise import Cost, Promise, free_processors, predict
from cellmill.magics.rewritten import rewrite
from cellmill.magics.speedup_report import Finding, Speedup
from cellmill.magics.timed_loops import Found, Times, clocks, find_loops, with_clocks
from cellmill.magics.verdicts import Examined
from cellmill.process_context.cpus import available_cpus, idle_seconds

DRY = Option("dry", "", "look at the cell without running it: verdicts, and no times")
OPTIONS = (DRY,)
USAGE = f"%%speedup {usage_of(OPTIONS)} [-> NAME]"

HELP = f"""Run the cell as it is, and say which of its loops could be tasks, and what each would bring.

    {USAGE}

The cell runs once, in the notebook, with the values, effects, errors and display of a plain cell. The items of
the loops at its top level are timed meanwhile: `for` loops, comprehensions, and generator expressions and
`map` in sum, list, tuple, set, dict, sorted, min and max. Then a line for each loop says

    independent          its items can be tasks, and how long they would take with the workers there are:
                         the measured items scheduled on paper, with what tasks cost here, measured once
    if ...               so are they if that holds, which the source does not prove
    no                   why not: what one item needs of the one before, and its line

and the cell is shown with those loops as tasks that would gain. It is not run. `%speedup` puts it into a new
cell below. No gain is promised for loops too short to be worth it, and none below a sixth.

Not counted are the sizes of items and results. Loops in functions, and in blocks of `if`, `with` and `try`, are
not looked at. With `-> NAME` the report is that variable: NAME.findings, NAME.rewritten, and
NAME.possible, the cell with all loops as tasks that can be, also those that would not gain.
A cell that fails shows its error, and no report.

Options, which come first:
{help_of(OPTIONS)}
"""

_PROBE = (200, 2000)  # items of the two loops that tell what tasks cost


class Speedups:
    """The latest report of a shell."""

    def __init__(self) -> None:
        self.latest: Speedup | None = None


def run_speedup(ip: InteractiveShell, kept: Speedups, text: str, body: str) -> None:
    """The magic: `text` is the rest of its line, `body` the lines below."""
    __tracebackhide__ = True
    line = Line("%%speedup", text, USAGE)
    options, name = _read(line)
    cell = read_cell(ip, f"%%speedup {text}", body)
    dry = bool(options.get("dry"))
    if dry:
        looked, wall, cpus = _dry(ip, cell), None, 0.0
    else:
        idle, used = idle_seconds(), time.process_time()
        began = time.perf_counter()
        looked, wall = _run(ip, cell, body)
        rested = None if idle is None else (idle_seconds() or idle) - idle
        cpus = free_processors(
            available_cpus(), time.process_time() - used, rested, time.perf_counter() - began
        )
    report = kept.latest = _report(ip, cell, looked, wall, cpus)
    if name:
        ip.user_ns[name] = report
    display(report)  # type: ignore[no-untyped-call]


def insert_latest(ip: InteractiveShell, kept: Speedups, text: str) -> None:
    """The line magic: the latest rewritten cell goes into a new one."""
    line = Line("%speedup", text, "%speedup, after a %%speedup cell")
    if text.strip():
        raise line.error(
            "%speedup takes nothing; to look at a cell write %%speedup in its first line", 0, len(text)
        )
    if kept.latest is None:
        raise line.error("no cell has been looked at; write %%speedup in the first line of a slow one")
    if not kept.latest.rewritten:
        raise line.error(
            "nothing of the latest %%speedup cell would gain as tasks, so there is no rewritten cell"
        )
    ip.set_next_input(kept.latest.rewritten, replace=False)


def _read(line: Line) -> tuple[dict[str, Any], str]:
    """The options, and NAME of `-> NAME`."""
    before, arrow, after = line.text.partition("->")
    options, start = read_options(Line(line.magic, before, line.usage), OPTIONS)
    words = Line(line.magic, before, line.usage).words(start)
    if words:
        raise line.at(f"%%speedup takes options and -> NAME, not {words[0].text}", words[0])
    name = after.partition("#")[0].strip()
    if arrow and not (name.isidentifier() and not keyword.iskeyword(name)):
        what = f"-> takes one variable name, not {name!r}" if name else "a variable name is missing after ->"
        raise line.error(what, len(before), len(line.text.rstrip()))
    return options, name


Looked = list[tuple[Found, Examined | str, Times | None]]


def _run(ip: InteractiveShell, cell: Cell, body: str) -> tuple[Looked, float]:
    """Run the cell statement by statement; each loop is examined before it runs, when its names have their values.

    Returns the seconds that the statements took, too.
    """
    __tracebackhide__ = True
    looked: Looked = []
    wall = 0.0
    backend = cellmill.default_executor().backend
    quiet = DisplayHook.semicolon_at_end_of_expression(body)  # type: ignore[no-untyped-call]
    last = cell.tree.body[-1] if cell.tree.body else None
    for statement in cell.tree.body:
        loops = find_loops(statement, ip.user_ns)
        examined = [Examined(ip, cell, found, backend) for found in loops]
        timed, times = with_clocks(statement, loops)
        shown = statement is last and isinstance(statement, ast.Expr) and not quiet
        tree: Any = ast.Interactive([timed]) if shown else ast.Module([timed], [])
        code = ip.compile(tree, cell.filename, "single" if shown else "exec")
        with clocks(times):
            began = time.perf_counter()
            exec(code, ip.user_global_ns, ip.user_ns)
            wall += time.perf_counter() - began
        looked += zip(loops, examined, times, strict=True)
    return looked, wall


def _dry(ip: InteractiveShell, cell: Cell) -> Looked:
    looked: Looked = []
    backend = cellmill.default_executor().backend
    assigned: dict[str, int] = {}
    for statement in cell.tree.body:
        for found in find_loops(statement, ip.user_ns):
            used = {each.id: each for each in ast.walk(found.node) if isinstance(each, ast.Name)}
            open_names = sorted(set(used) & set(assigned))
            if open_names:
                name = open_names[0]
                what = f"line {assigned[name]} gives {name} its value, and has not run: %%speedup without --dry tells"
                looked.append((found, what, None))
            else:
                looked.append((found, Examined(ip, cell, found, backend), None))
        for each in ast.walk(statement):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                assigned.setdefault(each.id, each.lineno)
            elif isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                assigned.setdefault(each.name, each.lineno)
    return looked


def _report(ip: InteractiveShell, cell: Cell, looked: Looked, wall: float | None, cpus: float) -> Speedup:
    executor = cellmill.default_executor()
    findings: list[Finding] = []
    chosen, possible = [], []
    for found, examined, times in looked:
        if isinstance(examined, str):
            findings.append(Finding(found.line, _shown(cell, found), "unknown", examined))
            continue
        verdict = examined.verdict()
        promise = None
        if verdict.kind != "impossible" and times is not None and times.items:
            promise = _promise(ip, executor, times, cpus)
        finding = Finding(found.line, _shown(cell, found), verdict.kind, verdict.reason, times, promise)
        findings.append(finding)
        if verdict.kind != "impossible":
            possible.append((found.node, verdict.reason))
        if promise is not None and promise.holds:
            condition = "; and if ".join(filter(None, (verdict.reason, promise.condition)))
            chosen.append((found.node, condition))
    every = rewrite(cell, possible) if possible else ""
    text = every if wall is None else rewrite(cell, chosen) if chosen else ""
    cost = _cost(ip, executor) if any(each.promise is not None for each in findings) else None
    return Speedup(tuple(findings), text, every, wall, cost)


def _promise(ip: InteractiveShell, executor: cellmill.Executor, times: Times, cpus: float) -> Promise:
    return predict(
        times.durations,
        _cost(ip, executor),
        executor.max_workers,
        items=times.items,
        processor=times.processor,
        cpus=cpus,
        waiting=times.waiting,
        filtered=times.filtered,
        shares_gil=executor.backend == "threads",
    )


def _shown(cell: Cell, found: Found) -> str:
    return cell.source.splitlines()[found.line - 1].strip()


def _cost(ip: InteractiveShell, executor: cellmill.Executor) -> Cost:
    return _measured(ip, lasting_id(executor), executor.backend, executor.max_workers)


@contextlib.contextmanager
def _beside(backend: str, workers: int) -> Iterator[cellmill.Executor]:
    """An executor like the user's, with its tasks in none of the user's counters, tables and pictures; the workers of a
    cluster are used themselves.
    """
    with run_registry.unlisted():
        if backend not in ("local", "threads", "inline"):
            yield cellmill.default_executor()
            return
        with cellmill.Executor(workers, backend=backend) as executor:
            yield executor


@functools.lru_cache(maxsize=1)
def _measured(ip: InteractiveShell, executor: int, backend: str, workers: int) -> Cost:
    """What `%%pfor` costs here: loops that do nothing, of the same kind as those that are offered."""
    tree = ast.parse("None")
    cell = Cell("None", "<what tasks cost>", tree, ip.compile.flags)
    loop = Loop(ast.Name("_", ast.Store()), ast.Name("range", ast.Load()), "what tasks cost", None)
    ast.fix_missing_locations(ast.copy_location(loop.target, tree.body[0]))
    ast.fix_missing_locations(ast.copy_location(loop.iterable, tree.body[0]))
    plan = make_plan(ip, cell, loop, here=runs_here(backend))

    def seconds(items: int) -> float:
        began = time.perf_counter()
        run_loop(plan, Source(range(items)), Harvest(), {"name": "what tasks cost"}, None, beside)
        return time.perf_counter() - began

    with _beside(backend, workers) as beside:
        seconds(workers)  # the workers start, and import what they need
        few, many = (min(seconds(items) for _ in range(2)) for items in _PROBE)
    each = max(many - few, 0.0) / (_PROBE[1] - _PROBE[0])
    counted = workers + 2 * sum(_PROBE) if beside is cellmill.default_executor() else 0
    return Cost(max(few - _PROBE[0] * each, 0.0), each, counted)
