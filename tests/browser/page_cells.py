"""Cells with tasks, and what a page shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.lab_page import wait_until

LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
DEFINE = """
%%parallel
def work(x, gate=""):
    import pathlib, time
    while gate and not pathlib.Path(gate).exists():
        time.sleep(0.01)
    if x % 5 == 0:
        raise ValueError(f"bad {x}")
    return x"""


# The publisher's clock for silent pages is stopped, so that the page before a reload is known for as long as a test
# likes.
STOP_CLOCK = """
from cellmill.views import comm
listeners = comm.publisher()._listeners
listeners._clock = lambda: 0.0
"""
# Counts the views that ever spoke; those that left said so, as the clock for silent ones is stopped.
NOTE_VIEWS = """
ever, heard = set(), listeners.heard
def noting(name, *arguments, **options):
    ever.add(name)
    return heard(name, *arguments, **options)
listeners.heard = noting
"""
COUNT_VIEWS = """import time
for _ in range(2000):
    if len(ever) == 2 and len(listeners) == 1:
        break
    time.sleep(0.02)
print("of", len(ever), "views", len(listeners), "is left")
"""


def run(gate: Path | str, first: int, tasks: int) -> str:
    call = f"work.map(range({first}, {first + tasks}), [{str(gate)!r}] * {tasks}, return_exceptions=True)"
    return f"print('got', len(list({call})))"


def badge(page: Any, cell: int) -> Any:
    return page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".cellmill-badge")


def wait_badge(page: Any, cell: int, condition: str) -> None:
    """Wait until a JavaScript expression over the badge's data `d` holds."""
    wait_until(
        page,
        f"""() => {{
            const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}];
            const d = cell?.querySelector('.cellmill-badge')?.dataset;
            return d !== undefined && ({condition});
        }}""",
    )


def wait_no_badge(page: Any, cell: int) -> None:
    badge(page, cell).wait_for(state="detached")


def what_happened_before_is_still_there(one: Any) -> None:
    one.page.locator("#cellmill-panel .cellmill-window[aria-pressed='true']").get_by_text(
        "Whole run"
    ).wait_for()
    wait_until(
        one.page,
        """() => {
            const plot = document.querySelector('#cellmill-panel .cellmill-chart-queued .cellmill-chart-plot');
            const queued = plot?.drawn?.[1] ?? [];
            return queued.slice(2).every(value => value !== null) && Math.max(...queued) >= 18 && queued.at(-1) === 0;
        }""",
    )
    one.picture("now-after-reload-light")
