"""The page of `cellmill dashboard`: counts, four pictures over time, tables of runs, workers and tasks, and buttons."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from html import escape
from typing import Any, Literal

from bokeh.layouts import column, gridplot, row
from bokeh.models import ColumnDataSource, DataRange1d, NumeralTickFormatter
from bokeh.models.widgets import (
    Button,
    Div,
    Select,
)
from bokeh.plotting import figure

from ...telemetry.text_bar import shares
from ..folder import Served
from ..kernel import Following, Kernel
from ..top import text
from .kernels import KEPT, Kernels, Moment

__all__ = ["Page"]

INTERVAL = 500  # ms between two changes of a page
SHOWN = 20  # runs, and tasks that ended last
COLOURS = {  # readable on white and on black
    "d": "#66bb6a",
    "f": "#d32f2f",
    "l": "#ef6c00",
    "c": "#757575",
    "r": "#1e88e5",
    "w": "#bdbdbd",
}
TEMPLATE = """
{% block preamble %}
<style>
  :root { color-scheme: light dark }
  body { margin: 16px; font: 15px/1.5 system-ui, sans-serif; background: GROUND; color: INK }
</style>
<script>
  (function () {
    const asked = new URLSearchParams(location.search), dark = matchMedia('(prefers-color-scheme: dark)').matches;
    asked.delete('token');
    if (dark && !asked.has('theme')) { asked.set('theme', 'dark'); location.replace('?' + asked); }
    else history.replaceState(null, '', asked.size ? '?' + asked : location.pathname);
  })();
</script>
{% endblock %}
"""
Act = Callable[[Following], object]


class Page:
    """One page in one browser."""

    def __init__(
        self, document: Any, kernels: Kernels, command: Callable[[Served, Act], Awaitable[str]]
    ) -> None:
        """``document``: Bokeh's, of one session."""
        self._document, self._kernels, self._command = document, kernels, command
        self._dark = _theme(document) == "dark"
        ink, ground = ("#e6e8eb", "#16191d") if self._dark else ("#1f2328", "#ffffff")
        document.template = TEMPLATE.replace("GROUND", ground).replace("INK", ink)
        document.title = "Cellmill"
        if self._dark:
            document.theme = "dark_minimal"
        line = "#3d444d" if self._dark else "#d1d9e0"
        self._kernel: Served | None = None
        self._number = 0
        self._question: Act | None = None

        self._choice = Select(title="Kernel or script", options=[], visible=False, width=420)
        self._choice.on_change("value", lambda _, __, value: self._choose(value))
        self._head, self._said = Div(), Div()
        self._bar = Div(sizing_mode="stretch_width", stylesheets=[".bk-clearfix { width: 100% }"])
        self._pause = _button("Pause", self._on_pause)
        self._run = Select(options=[], width=240)
        self._going: dict[str, str] = {}  # runs that may be cancelled
        self._cancel = _button("Cancel the run", self._on_cancel)
        self._cancel_all = _button("Cancel all work", self._on_cancel_all)
        self._asked = Div()
        self._yes = _button("Yes, cancel", self._on_yes, "danger")
        self._no = _button("No", self._on_no)
        self._confirm = row(self._asked, self._yes, self._no, visible=False)
        self._moments = ColumnDataSource({name: [] for name in Moment._fields})
        self._tables = {
            "Runs": _Table(text.RUNS, line),
            "Workers": _Table(text.WORKERS, line),
            "Tasks that ended last": _Table(text.TASKS, line),
        }
        document.add_root(self._layout())
        document.add_periodic_callback(self._update, INTERVAL)
        self._update()

    # -- what there is

    def _layout(self) -> Any:
        pictures = gridplot(
            [
                [self._picture("Tasks a second", "rate"), self._picture("Queued tasks", "queued")],
                [
                    self._picture("Busy workers", "busy", "workers"),
                    self._picture("Memory of the workers, MB", "memory"),
                ],
            ],
            sizing_mode="stretch_width",
            toolbar_location=None,
        )
        tables = [
            part
            for title, table in self._tables.items()
            for part in (Div(text=f"<b>{title}</b>"), table.widget)
        ]
        return column(
            self._choice,
            self._head,
            self._bar,
            row(self._pause, self._run, self._cancel, self._cancel_all),
            self._confirm,
            self._said,
            pictures,
            *tables,
            sizing_mode="stretch_width",
        )

    def _picture(self, title: str, name: str, limit: str = "") -> Any:
        made = figure(
            title=title,
            height=170,
            x_axis_type="datetime",
            sizing_mode="stretch_width",
            tools="",
            min_border_left=60,
            y_range=DataRange1d(start=0),
        )
        made.varea(x="time", y1=0, y2=name, source=self._moments, fill_alpha=0.25, fill_color=COLOURS["r"])
        made.line("time", name, source=self._moments, line_width=2, line_color=COLOURS["r"])
        if limit:
            made.line("time", limit, source=self._moments, line_dash="dashed", line_color=COLOURS["c"])
        made.yaxis.minor_tick_line_color = None
        made.yaxis.formatter = NumeralTickFormatter(format="0,0.[0]")
        return made

    # -- what is new

    def _update(self) -> None:
        known = self._kernels.known()
        if self._kernel is None and known:
            self._show(known[0])
        options: Any = [(str(each.pid), f"{each.title}, process {each.pid}") for each in known]
        if options != self._choice.options:
            self._choice.options = options
            self._choice.visible = len(options) > 1
        kernel = None if self._kernel is None else self._kernels.latest(self._kernel)
        self._pause.disabled = self._cancel_all.disabled = kernel is None
        if kernel is None:
            self._head.text = self._absent(known)
            return
        self._draw(kernel)

    def _absent(self, known: list[Served]) -> str:
        if self._kernel is None:
            return (
                "No kernel or script of yours can be watched. <code>%cellmill serve</code> in a notebook, "
                "<code>cellmill.serve()</code>, or <code>CELLMILL_SERVE=1</code> in the environment of one, lets "
                "this page watch it."
            )
        if self._kernel in known:
            return f"Process {self._kernel.pid} ({escape(self._kernel.title)}) has told nothing yet."
        self._choice.visible = bool(known)
        return f"Process {self._kernel.pid} ({escape(self._kernel.title)}) has ended, or is not watched any more."

    def _draw(self, kernel: Kernel) -> None:
        self._head.text = f"<b>{escape(text.head(kernel))}</b>"
        self._bar.text = _bar(kernel)
        self._pause.label = "Resume" if kernel.paused else "Pause"
        moments = self._kernels.since(kernel.served, self._number)
        if moments:
            self._number = moments[-1].number
            columns = zip(*moments, strict=True)
            self._moments.stream(dict(zip(Moment._fields, map(list, columns), strict=True)), rollover=KEPT)
        self._draw_runs(text.newest_first(kernel.runs))
        self._tables["Workers"].fill([_escaped(text.worker_cells(worker)) for worker in kernel.workers])
        self._tables["Tasks that ended last"].fill(
            [_escaped(text.task_cells(task)) for task in kernel.tasks[:SHOWN]]
        )

    def _draw_runs(self, runs: list[dict[str, Any]]) -> None:
        self._tables["Runs"].fill(list(map(_run_cells, runs[:SHOWN])))
        going = [run for run in runs if not run["finished"] and run["id"] is not None]
        names = {str(run["id"]): f"run {run['id']}, {run['name']}" for run in going}
        if names != self._going:
            self._going = names
            options: Any = list(names.items())
            self._run.options = options
            if self._run.value not in names:
                self._run.value = next(iter(names), "")
        self._cancel.disabled = not names

    def _show(self, kernel: Served) -> None:
        self._kernel, self._number = kernel, 0
        self._moments.data = {name: [] for name in Moment._fields}
        self._choice.value = str(kernel.pid)

    def _choose(self, value: str) -> None:
        chosen = next((each for each in self._kernels.known() if str(each.pid) == value), None)
        if chosen is not None and chosen != self._kernel:
            self._on_no()
            self._show(chosen)
            self._update()

    # -- what is done

    async def _do(self, kernel: Served, act: Act) -> None:
        self._said.text = escape(await self._command(kernel, act))
        self._update()

    def _do_later(self, kernel: Served, act: Act) -> None:
        self._document.add_next_tick_callback(partial(self._do, kernel, act))

    def _on_pause(self) -> None:
        if self._kernel is not None:
            paused = self._pause.label == "Resume"
            self._do_later(
                self._kernel, lambda following: following.resume() if paused else following.pause()
            )

    def _on_cancel(self) -> None:
        number = self._run.value
        name = self._going.get(number)
        if self._kernel is not None and name is not None:
            self._ask(f"Cancel {name}?", lambda following: following.cancel(int(number)))

    def _on_cancel_all(self) -> None:
        if self._kernel is not None:
            self._ask(f"Cancel all work of process {self._kernel.pid}?", lambda following: following.cancel())

    def _ask(self, question: str, act: Act) -> None:
        self._asked.text, self._question = escape(question), act
        self._said.text = ""
        self._confirm.visible = True

    def _on_yes(self) -> None:
        act, kernel = self._question, self._kernel
        self._on_no()
        if act is not None and kernel is not None:
            self._do_later(kernel, act)

    def _on_no(self) -> None:
        self._question = None
        self._confirm.visible = False


class _Table:
    """A table of text, as HTML: Bokeh's own is drawn anew only where the number of its rows changes."""

    def __init__(self, heads: tuple[str, ...], line: str) -> None:
        """``line``: the colour between rows."""
        self._heads = heads
        self._style = (
            f"text-align:left;padding:3px 20px 3px 0;border-bottom:1px solid {line};white-space:nowrap"
        )
        self.widget = Div(sizing_mode="stretch_width")
        self.fill([])

    def fill(self, rows: list[tuple[str, ...]]) -> None:
        """Show these rows; cells are HTML."""
        heads = "".join(f'<th style="{self._style}">{escape(head)}</th>' for head in self._heads)
        body = "".join(
            f"<tr>{''.join(f'<td style={chr(34)}{self._style}{chr(34)}>{cell}</td>' for cell in row)}</tr>"
            for row in rows
        )
        style = "border-collapse:collapse;font-variant-numeric:tabular-nums"
        text = f'<table style="{style}"><tr>{heads}</tr>{body}</table>'
        if text != self.widget.text:
            self.widget.text = text


def _run_cells(run: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of runs, with a bar of colours."""
    over = run["succeeded"] + run["failed"] + run["cancelled"]
    total = run["total"] if run["total"] is not None else run["submitted"]
    bar = _track(shares(text.states(run), max(total, over), 100))
    cells = _escaped(text.run_cells(run))
    at = text.RUNS.index("progress")
    return (*cells[:at], f'<div style="width:120px">{bar}</div>', *cells[at + 1 :])


def _escaped(cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(escape, cells))


def _track(cells: list[tuple[str, int]]) -> str:
    """Return a bar as HTML, of a width of 100."""
    parts = "".join(
        f'<span style="width:{count}%;background:{COLOURS[letter]}"></span>' for letter, count in cells
    )
    return f'<div style="display:flex;height:12px;margin:3px 0 6px">{parts}</div>'


def _button(label: str, act: Callable[[], None], kind: Literal["default", "danger"] = "default") -> Button:
    made = Button(label=label, button_type=kind)
    made.on_click(act)
    return made


def _theme(document: Any) -> str:
    context = document.session_context
    given = (
        context.request.arguments.get("theme", [b""]) if context is not None and context.request else [b""]
    )
    return bytes(given[0]).decode(errors="replace")


def _bar(kernel: Kernel) -> str:
    """Return the bar of all tasks with its legend, as HTML."""
    track = _track(shares(text.states(kernel.counts), kernel.counts["submitted"], 100))
    words = "".join(
        f'<span style="margin-right:16px"><span style="display:inline-block;width:10px;height:10px;margin-right:4px;'
        f'background:{COLOURS[letter]}"></span>{escape(words)}</span>'
        for letter, words in text.legend(kernel.counts)
    )
    rate = f"<b>{escape(text.rate_text(kernel.rate))}</b>"
    return f"{track}<div>{words}{rate}</div>"
