"""The screen of `cellmill top`: counts, throughput, runs, workers and the tasks that ended last, with keys to act."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Label, Sparkline, Static

from ...diagnostics.short_text import counted
from ...errors import CellmillError
from ...telemetry.text_bar import shares
from ..folder import Served
from ..kernel import Kernel
from . import text
from .listing import Listing, Order, Row
from .watch import Frame, Watch

GLYPHS = {"d": "█", "f": "▚", "l": "▌", "c": "▁", "r": "▓", "w": "░"}
COLOURS = {
    "d": "$success",
    "f": "$error",
    "l": "$warning",
    "c": "$text-muted",
    "r": "$primary",
    "w": "$foreground-muted",
}
RATES = 240  # looks of which throughput is drawn

RUN_ORDERS: tuple[Order, ...] = (
    ("newest first", lambda run: (run["finished"], -(run["id"] or 2**63))),
    ("by time left", lambda run: (run["finished"], -(run["left"] or 0.0))),
    ("failures first", lambda run: (-run["failed"], -(run["id"] or 2**63))),
    ("by name", lambda run: (run["name"], run["id"] or 0)),
)
WORKER_ORDERS: tuple[Order, ...] = (
    ("by number", lambda worker: (worker["executor"], worker["worker"])),
    ("longest task first", lambda worker: -worker["seconds"] if worker["function"] is not None else 0.0),
    ("most memory first", lambda worker: -(worker["memory"] or 0)),
)
TASK_ORDERS: tuple[Order, ...] = (
    ("newest first", lambda task: -(task["returned"] or task["submitted"] or 0)),
    ("slowest first", lambda task: task["started"] - task["finished"] if task["finished"] else 0),
    ("failures first", lambda task: (task["status"] == "done", -(task["returned"] or 0))),
)


def _change(part: Static, content: str | Content) -> None:
    """Show something else in a part whose size stays: a new layout would draw the whole screen."""
    if content != part.content:
        part.update(content, layout=False)


def _key_of_run(run: Row) -> str:
    return str(run["id"] or f"key {run['key']}")


def _key_of_worker(worker: Row) -> str:
    return f"{worker['executor']} {worker['worker']}"


def _key_of_task(task: Row) -> str:
    return f"{task['task']} {task['element']} {task['attempt']} {task['submitted']}"


class Asked(ModalScreen[bool]):
    """A question before something is cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape", "answer(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="asked"):
            yield Label(self._question, markup=False)
            with Horizontal():
                yield Button("Yes (y)", id="yes", variant="error")
                yield Button("No (n)", id="no")

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class Top(App[None]):
    """Looks at a kernel until it is told to quit."""

    TITLE = "cellmill top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "Pause"),
        Binding("c", "cancel", "Cancel"),
        Binding("C", "cancel_all", "Cancel all", key_display="C"),
        Binding("s", "sort", "Sort"),
        Binding("tab", "app.focus_next", "Next table"),
        Binding("k", "kernel", "Kernel"),
        Binding("q", "quit", "Quit"),
    ]
    CSS = """
    #head { height: 1; text-style: bold; }
    #bar { height: 1; }
    #legend { height: 1; }
    Listing { overflow-x: hidden; }
    #speed { height: 2; }
    #speed Sparkline { width: 1fr; height: 2; }
    #rate { width: 18; height: 2; content-align: right bottom; }
    #problem { height: auto; color: $warning; display: none; }
    Listing { height: 1fr; min-height: 4; border: round $foreground 30%; border-title-color: $text; }
    Listing { scrollbar-size: 1 1; }
    Listing:focus { border: round $primary; }
    #tasks { display: none; }
    .tall #tasks { display: block; }
    Asked { align: center middle; }
    #asked { width: auto; max-width: 90%; height: auto; padding: 1 2; border: round $error; background: $surface; }
    #asked Label { width: auto; max-width: 100%; margin-bottom: 1; }
    #asked Horizontal { height: auto; width: auto; }
    #asked Button { margin-right: 2; }
    """

    def __init__(self, watch: Watch, interval: float) -> None:
        super().__init__()
        self._watch, self._interval = watch, interval
        self._asker = ThreadPoolExecutor(1, "cellmill-top")
        self._frame = Frame([])
        self._rates: deque[float] = deque(maxlen=RATES)
        self._pid: int | None = None
        self._revealed = True
        self._head, self._problem = Static(id="head", markup=False), Static(id="problem", markup=False)
        self._bar, self._legend = Static(id="bar"), Static(id="legend")
        self._speed, self._sparkline = Horizontal(id="speed"), Sparkline([])
        self._rate = Static(id="rate", markup=False)
        self._run_list = Listing("Runs", text.RUNS, RUN_ORDERS, _key_of_run, text.run_cells, id="runs")
        self._worker_list = Listing(
            "Workers", text.WORKERS, WORKER_ORDERS, _key_of_worker, text.worker_cells, id="workers"
        )
        self._task_list = Listing(
            "Tasks that ended last", text.TASKS, TASK_ORDERS, _key_of_task, text.task_cells, id="tasks"
        )
        self._lists = (self._run_list, self._worker_list, self._task_list)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._problem
        yield self._bar
        yield self._legend
        with self._speed:
            yield self._sparkline
            yield self._rate
        yield from self._lists
        yield Footer()

    def on_mount(self) -> None:
        self._run_list.focus()
        self.run_worker(self._follow())

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 30, "tall")

    def on_unmount(self) -> None:
        self._asker.shutdown(wait=True, cancel_futures=True)  # a look that is under way ends in seconds

    async def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._asker, function, *args)

    async def _follow(self) -> None:
        while True:
            self._show(await self._ask(self._watch.look))
            await asyncio.sleep(self._interval)

    # -- what is seen

    def _show(self, frame: Frame) -> None:
        self._frame = frame
        if frame.problem:
            self._say(frame.problem)
        kernel = frame.kernel
        self._reveal(kernel is not None)
        if kernel is None:
            _change(self._head, "cellmill top")
            return
        if kernel.served.pid != self._pid:
            self._pid = kernel.served.pid
            self._rates.clear()
        self._show_counts(kernel, len(frame.known))
        self._run_list.show(kernel.runs)
        self._worker_list.show(kernel.workers)
        if self._task_list.display:
            self._task_list.show(kernel.tasks)

    def _reveal(self, on: bool) -> None:
        if on != self._revealed:
            self._revealed = on
            for part in (self._bar, self._legend, self._speed, *self._lists):
                part.visible = on

    def _show_counts(self, kernel: Kernel, known: int) -> None:
        others = f" · 1 of {known} kernels" if known > 1 else ""
        _change(self._head, text.head(kernel) + others)
        width = max(10, self.size.width)
        cells = shares(text.states(kernel.counts), kernel.counts["submitted"], width) or [("w", width)]
        track = Content.assemble(*((GLYPHS[letter] * count, COLOURS[letter]) for letter, count in cells))
        _change(self._bar, track)
        parts = [
            part
            for letter, words in text.legend(kernel.counts)
            for part in ((GLYPHS[letter], COLOURS[letter]), f" {words}   ")
        ]
        _change(self._legend, Content.assemble(*parts))
        if kernel.rate is not None:
            self._rates.append(kernel.rate)
        self._sparkline.data = list(self._rates)
        _change(self._rate, text.rate_text(kernel.rate))

    def _say(self, problem: str) -> None:
        self._problem.update(problem)
        self._problem.display = bool(problem)

    # -- what is done

    async def _do(self, said: str, function: Callable[..., Any], *args: Any) -> None:
        try:
            found = await self._ask(function, *args)
        except CellmillError as error:
            self._say(str(error))
            return
        self._say("")
        self.notify(said.format(counted(found, "task") if isinstance(found, int) else ""))
        self._show(await self._ask(self._watch.look))

    async def action_pause(self) -> None:
        """Pause, or resume, all executors of the kernel."""
        if self._frame.kernel is None:
            return
        paused = self._frame.kernel.paused
        said = "Resumed." if paused else "Paused: what runs goes on, no more tasks begin."
        await self._do(said, self._watch.pause, self._frame.kernel.served, not paused)

    def action_cancel(self) -> None:
        """Cancel the run under the cursor, when that is wanted indeed."""
        run = self._run_list.selected()
        if self._frame.kernel is None or run is None or run["id"] is None:
            self.notify("Choose a run in the upper table.", severity="warning")
        elif run["finished"]:
            self.notify(f"Run {run['id']} ({run['name']}) is over.", severity="warning")
        else:
            question = f"Cancel run {run['id']} ({run['name']}), with {_not_over(run['outstanding'])}?"
            self._ask_first(question, self._frame.kernel.served, run["id"])

    def action_cancel_all(self) -> None:
        """Cancel all work of the kernel, when that is wanted indeed."""
        kernel = self._frame.kernel
        if kernel is not None:
            left = kernel.counts["submitted"] - kernel.ended
            question = f"Cancel all work of process {kernel.served.pid}, {_not_over(left)}?"
            self._ask_first(question, kernel.served, None)

    def _ask_first(self, question: str, kernel: Served, run: int | None) -> None:
        async def answered(yes: bool | None) -> None:
            if yes:
                await self._do("Cancelled {} that had not begun.", self._watch.cancel, kernel, run)

        self.push_screen(Asked(question), answered)

    def action_sort(self) -> None:
        """Take the next order of the table that has the focus."""
        if isinstance(self.focused, Listing):
            self.focused.reorder()
            self._show(self._frame)

    def action_kernel(self) -> None:
        """Look at the next kernel."""
        known, kernel = self._frame.known, self._frame.kernel
        if len(known) < 2:
            self.notify("There is no other kernel that can be watched.")
            return
        at = next((at for at, each in enumerate(known) if kernel is not None and each == kernel.served), -1)
        self._watch.choose(known[(at + 1) % len(known)].pid)


def _not_over(count: int) -> str:
    """So many tasks, for a question."""
    return f"{counted(count, 'task')} that {'is' if count == 1 else 'are'} not over"
