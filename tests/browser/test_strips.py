"""The strips below the timeline in a real JupyterLab: on its time axis, for all workers and for one; and the warning of
a task that is near the memory that it declares.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
DEFINE = """%%parallel --memory 200MB
def fill(gate):
    import pathlib, time
    kept = bytearray(b'x') * 190_000_000
    while not pathlib.Path(gate).exists():
        sum(range(10_000))
        time.sleep(0.01)
    return len(kept)
"""
RUN = "print('got', fill({gate!r}).result())"
PAGE = "#cellmill-panel .cellmill-dashboard .cellmill-page-timeline"


def numbers(one: Any, canvas: str) -> Any:
    return one.page.evaluate(
        f"""() => {{
            const canvas = document.querySelector('{PAGE} .{canvas}');
            const box = canvas.getBoundingClientRect();
            return {{from: Number(canvas.dataset.from), to: Number(canvas.dataset.to), x: box.x, width: box.width}};
        }}"""
    )


def aligned(one: Any) -> Any:
    """Both canvases show the same time between the same edges."""
    above, below = numbers(one, "cellmill-timeline"), numbers(one, "cellmill-strips")
    assert above == below
    return above


def memory_against_its_limits(one: Any) -> None:
    """Of the worker whose task declares memory, against that; of the others and the kernel, against the machine's."""
    memory = one.page.locator("#cellmill-panel .cellmill-worker-memory")
    memory.get_by_text("of 200 MB").wait_for()
    shares = {}
    for meter in memory.locator(".cellmill-meter").all():
        limit = (meter.get_attribute("title") or "").rpartition("of the ")[2]
        fill = meter.locator(".cellmill-meter-fill").evaluate("one => parseFloat(one.style.width)")
        shares.setdefault(limit.partition(" that ")[2], []).append(fill)
    (declared,) = shares.pop("its task declares")
    assert declared >= 90
    assert [len(found) for found in shares.values()] == [2], shares
    assert max(shares["this machine has"]) < 25


def test_strips(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one = lab_in_use(LOAD, DEFINE, RUN.format(gate=str(gate)))
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.run_cell(2)
    one.wait_panel("d.running === 1")
    near = one.page.locator("#cellmill-panel .cellmill-now .cellmill-near li")
    near.get_by_text("of memory, and the task declares 200 MB").wait_for()
    one.picture("strips-near")
    tabs = one.page.locator("#cellmill-panel .cellmill-dashboard [role=tab]")
    tabs.and_(one.page.locator("[data-tab=workers]")).click()
    one.page.locator("#cellmill-panel .cellmill-workers-tab .cellmill-near li").wait_for()
    memory_against_its_limits(one)
    tabs.and_(one.page.locator("[data-tab=timeline]")).click()
    told = one.page.locator(f"{PAGE} .cellmill-strips-told")
    told.get_by_text("1 busy, 1 idle").wait_for()
    gate.touch()
    one.wait_output(2, "got 190000000")
    one.page.locator(f"{PAGE} .cellmill-note").first.filter(has_not_text="running").wait_for()
    whole = aligned(one)
    canvas = one.page.locator(f"{PAGE} .cellmill-strips")
    canvas.focus()
    one.page.keyboard.press("+")
    wait_until(
        one.page,
        f"() => Number(document.querySelector('{PAGE} .cellmill-timeline').dataset.to) < {whole['to']}",
    )
    zoomed = aligned(one)
    assert zoomed["to"] - zoomed["from"] < 0.6 * (whole["to"] - whole["from"])
    one.page.keyboard.press("0")
    canvas.hover(position={"x": whole["width"] - 30, "y": 20})
    told.get_by_text("workers have").wait_for()
    assert "in use" in told.inner_text()
    of_one(one, told)
    assert one.errors == []


def of_one(one: Any, told: Any) -> None:
    """A press on a worker's name shows that one."""
    box = one.page.locator(f"{PAGE} .cellmill-timeline").bounding_box()
    one.page.mouse.click(box["x"] + 20, box["y"] + 10)
    told.get_by_text("worker 0 has").wait_for()
    one.page.locator(f"{PAGE} .cellmill-strips[data-worker='0']").wait_for()
    assert one.page.locator(f"{PAGE} .cellmill-strips-head select").input_value() == "0"
    one.picture("strips-one")
    one.page.locator(f"{PAGE} .cellmill-strips-head select").select_option("")
    told.get_by_text("workers have").wait_for()
    one.picture("strips-all")
