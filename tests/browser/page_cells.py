"""Cells with tasks, and what a page shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def run(gate: Path | str, first: int, tasks: int) -> str:
    call = f"work.map(range({first}, {first + tasks}), [{str(gate)!r}] * {tasks}, return_exceptions=True)"
    return f"print('got', len(list({call})))"


def badge(page: Any, cell: int) -> Any:
    return page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".cellmill-badge")


def wait_badge(page: Any, cell: int, condition: str) -> None:
    """Wait until a JavaScript expression over the badge's data `d` holds."""
    page.wait_for_function(
        f"""() => {{
            const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}];
            const d = cell?.querySelector('.cellmill-badge')?.dataset;
            return d !== undefined && ({condition});
        }}"""
    )


def wait_no_badge(page: Any, cell: int) -> None:
    badge(page, cell).wait_for(state="detached")
