"""Everything Cellmill puts into one shell, and takes out of it again."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

import cellmill
import cellmill.run_registry
import cellmill.views.comm
import cellmill_widgets.progress
from cellmill.by_value import kernel_modules
from cellmill.cell_output import present_cell
from cellmill.cell_output.request import ask_requests
from cellmill.diagnostics.tracebacks import shorten
from cellmill.magics import (
    control,
    dashboard,
    journeys,
    parallel,
    pfor,
    speedup,
    task,
    trace,
    waiting,
    why,
)
from cellmill.magics.completion import matcher
from cellmill.magics.delivery import Arrivals
from cellmill.magics.failures import hide_from, show_in
from cellmill.magics.tracebacks import one_header
from cellmill.randomness import own_streams
from cellmill.views import inline_dashboard


class Session:
    """The magics, hooks, completions and bars of one shell."""

    def __init__(self, ip: InteractiveShell) -> None:
        self._ip = ip
        self._arrivals = Arrivals(ip)
        self._matcher = matcher(ip)
        self._waiting = waiting.attend(ip)
        self._waiting.leave_hooks()
        self._stop = _Stop(ip, self._waiting)
        self._magics = _magics(ip, self._arrivals)
        for (kind, name), function in self._magics.items():
            ip.magics_manager.register_function(function, magic_kind=kind, magic_name=name)
        self._hooks = (
            ("pre_run_cell", self._new_epoch),
            ("pre_run_cell", self._stop.before_cell),
            ("pre_run_cell", _note_seeds),
            ("pre_run_cell", self._waiting.before_cell),
            ("pre_run_cell", self._arrivals.before_cell),
            ("post_run_cell", self._stop.after_cell),
            ("post_run_cell", self._waiting.after_cell),
            ("post_run_cell", _note_modules),
            ("post_run_cell", self._arrivals.after_cell),
            ("post_run_cell", self._stop.cell_over),
        )
        for event, hook in self._hooks:
            ip.events.register(event, hook)
        if ip.Completer is not None:
            ip.Completer.custom_matchers.append(self._matcher)
        kernel_modules.modules.by_autoreload = _autoreload_of(ip)
        ask_requests(self._request)
        _note_modules()
        show_in(ip)
        cellmill_widgets.progress.enable(ip)
        cellmill.views.comm.attach(ip)
        threading.Thread(target=_warm_up, name="cellmill-warm-up", daemon=True).start()

    def _new_epoch(self, info: object = None) -> None:
        # not `execution_count`: some releases of IPython count a cell before they announce it, others at its end
        history = self._ip.history_manager
        number = self._ip.execution_count if history is None else len(history.input_hist_parsed)
        within = waiting.within_another() or waiting.beside_others(self._ip)
        cellmill.run_registry.bump_epoch(f"In[{number}]", getattr(info, "raw_cell", None) or "", within)

    def _request(self) -> str | None:
        """Return the request of the cell that runs; None for a widget's callback, and in threads: of any cell."""
        kernel = getattr(self._ip, "kernel", None)
        if kernel is None or threading.current_thread() is not threading.main_thread():
            return None
        header = kernel.get_parent().get("header") or {}
        if header.get("msg_type") != "execute_request":
            return None
        return str(header["msg_id"])

    def close(self) -> None:
        """Undo what the constructor did."""
        ask_requests(None)
        for (kind, name), function in self._magics.items():
            table = self._ip.magics_manager.magics[kind]
            if table.get(name) is function:
                del table[name]
        for event, hook in self._hooks:
            self._ip.events.unregister(event, hook)
        self._stop.close()
        self._waiting.close()
        hide_from(self._ip)
        if self._ip.Completer is not None and self._matcher in self._ip.Completer.custom_matchers:
            self._ip.Completer.custom_matchers.remove(self._matcher)
        cellmill_widgets.progress.disable()
        inline_dashboard.close_all()
        cellmill.views.comm.detach(self._ip)


def _note_seeds(info: Any = None) -> None:
    """Tell, before the cell runs, whether it seeds what tasks of earlier cells draw from."""
    own_streams.before_cell(getattr(info, "raw_cell", None) or "")


def _note_modules(result: object = None) -> None:
    """Note the modules that the cell imported, while their files are as it read them."""
    kernel_modules.modules.note()


def _autoreload_of(ip: InteractiveShell) -> Callable[[str, str], kernel_modules.Reloaded | None]:
    """Return a function that asks the autoreload extension about a module; it gives None before that is loaded."""

    def ask(name: str, path: str) -> kernel_modules.Reloaded | None:
        reloader = getattr(ip.magics_manager.registry.get("AutoreloadMagics"), "_reloader", None)
        mtime = getattr(reloader, "modules_mtimes", {}).get(name)
        if mtime is None:
            return None
        return kernel_modules.Reloaded(mtime, getattr(reloader, "failed", {}).get(path) == mtime)

    return ask


class _Stop:
    """When Stop was pressed, what the cell set going ends too, and nothing of other cells.

    That is before its traceback is made: this takes many seconds while threads of the cell want the GIL. Tracebacks of
    all errors are shortened at the same place, see `tracebacks`.
    """

    def __init__(self, ip: InteractiveShell, cells: waiting.Waiting) -> None:
        self._ip = ip
        self._cells = cells
        self._within = False  # a cell, or what is called at its end
        self._stopped = 0  # the cell that was, by its epoch
        self._replaced = vars(ip).get("showtraceback")
        self._show: Callable[..., None] = ip.showtraceback
        self._hook = self._stop_and_show
        vars(ip)["showtraceback"] = self._hook

    def close(self) -> None:
        """The shell shows tracebacks as before, unless other code has come between."""
        if vars(self._ip).get("showtraceback") is self._hook:
            del vars(self._ip)["showtraceback"]
            if self._replaced is not None:
                vars(self._ip)["showtraceback"] = self._replaced

    def before_cell(self, info: object = None) -> None:
        """A cell starts (pre_run_cell)."""
        self._within = True

    def cell_over(self, result: object = None) -> None:
        """All that is called at the end of a cell was (post_run_cell): one that has run it may go on."""
        self._within = self._cells.running
        self._stopped = 0

    def after_cell(self, result: Any) -> None:
        """The cell has ended (post_run_cell)."""
        if isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt):
            self._stop()

    def _stop_and_show(self, *args: Any, **how: Any) -> None:
        # IPython swallows Stop in what is called at the end of a cell, and goes on to the next of it
        if (self._within or how.get("running_compiled_code")) and _is_stop(sys.exc_info()[1]):
            with contextlib.suppress(KeyboardInterrupt):  # pressed twice: the end of the cell stops the rest
                self._stop()
        if how.get("running_compiled_code"):
            shorten(sys.exc_info()[1])
        with one_header(self._ip):
            self._show(*args, **how)

    def _stop(self) -> None:
        """Once for a cell: a second interrupt would break off what tasks do to end well."""
        cell = present_cell.epoch()
        if self._stopped != cell:
            cellmill.run_registry.stop_cell()
            self._stopped = cell


def _is_stop(error: BaseException | None) -> bool:
    """Whether a cell ends by Stop: ipykernel cancels the asyncio task of a cell that awaits."""
    if isinstance(error, asyncio.CancelledError):
        with contextlib.suppress(RuntimeError):  # no event loop runs
            task = asyncio.current_task()
            return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt)


def _warm_up() -> None:
    """Start the default executor's workers, so that the first call finds them warm."""
    try:
        cellmill.default_executor()
    except cellmill.CellmillError:
        return  # the first call raises the same error where the user sees it


def _magics(ip: InteractiveShell, arrivals: Arrivals) -> dict[tuple[str, str], Callable[..., Any]]:
    """The functions to register, by kind and name; their docstrings are the help."""

    def cellmill_magic(line: str) -> Any:
        __tracebackhide__ = True
        return control.run_control(line)

    def dashboard_magic(line: str) -> None:
        __tracebackhide__ = True
        dashboard.run_dashboard(line)

    def journeys_magic(line: str) -> Any:
        __tracebackhide__ = True
        return journeys.run_journeys(line)

    def parallel_magic(line: str, cell: str) -> None:
        __tracebackhide__ = True
        parallel.run_parallel(ip, line, cell)

    def pfor_magic(line: str, cell: str) -> None:
        __tracebackhide__ = True
        pfor.run_pfor(ip, line, cell)

    speedups = speedup.Speedups()

    def speedup_magic(line: str, cell: str | None = None) -> None:
        __tracebackhide__ = True
        if cell is None:
            speedup.insert_latest(ip, speedups, line)
        else:
            speedup.run_speedup(ip, speedups, line, cell)

    def task_magic(line: str, cell: str) -> None:
        __tracebackhide__ = True
        task.run_task(ip, arrivals, line, cell)

    def trace_magic(line: str) -> Any:
        __tracebackhide__ = True
        return trace.run_trace(line)

    def why_magic(line: str) -> None:
        __tracebackhide__ = True
        why.run_why(ip, line)

    cellmill_magic.__doc__ = control.HELP
    dashboard_magic.__doc__ = dashboard.HELP
    journeys_magic.__doc__ = journeys.HELP
    parallel_magic.__doc__ = parallel.HELP
    pfor_magic.__doc__ = pfor.HELP
    speedup_magic.__doc__ = speedup.HELP
    task_magic.__doc__ = task.HELP
    trace_magic.__doc__ = trace.HELP
    why_magic.__doc__ = why.HELP
    return {
        ("line", "cellmill"): no_var_expand(cellmill_magic),
        ("line", "dashboard"): no_var_expand(dashboard_magic),
        ("line", "journeys"): no_var_expand(journeys_magic),
        ("cell", "parallel"): no_var_expand(parallel_magic),
        ("cell", "pfor"): no_var_expand(pfor_magic),
        ("cell", "speedup"): no_var_expand(speedup_magic),
        ("line", "speedup"): no_var_expand(speedup_magic),
        ("cell", "task"): no_var_expand(task_magic),
        ("line", "trace"): no_var_expand(trace_magic),
        ("line", "why"): no_var_expand(why_magic),
    }
