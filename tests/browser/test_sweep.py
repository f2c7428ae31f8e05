"""A sweep in a notebook: controls run points, the plot and the table follow, Stop ends it; a picture stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.lab_page import wait_until
from tests.browser.page_setup import set_setting
from tests.browser.test_widget import name_no_kernel

OpenLab = Callable[..., Any]
BOX = ".jp-OutputArea .cellmill-sweep-box"
PLOT = f"{BOX} .cellmill-sweep-plot"
# Two points wait at a door; what comes after them goes to the other workers.
DEFINE = """
%load_ext cellmill
%cellmill workers 4
import cellmill, math, os, time
from pathlib import Path
"""
SWEEP = """
folder = {folder!r}
def train(lr, depth, cosine=True):
    (Path(folder) / "calls").open("a").write(f"{{lr}},{{depth}},{{cosine}} ")
    if lr == 0.1 and depth == 4:
        raise ArithmeticError("diverged")
    if lr == 0.3 and depth == 5:
        while not (Path(folder) / "door").exists():
            time.sleep(0.01)
    loss = (math.log10(lr) + 1.5) ** 2 + 1 / depth + 0.2 * (not cosine)
    return {{"loss": loss, "accuracy": 1 / (1 + loss)}}
sweep = cellmill.sweep(train, lr=[0.003, 0.01, 0.03, 0.1, 0.3], depth=range(2, 6))
sweep
"""


def wait_points(one: Any, count: int) -> None:
    wait_until(
        one.page,
        "([plot, count]) => document.querySelector(plot)?.dataset.points === String(count)",
        arg=[PLOT, count],
    )


def open_without_kernel(one: Any) -> None:
    """Close the notebook, and open what is saved of it; in a page of its own: `test_widget.load_without_kernel`."""
    page = one.page
    page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    page.locator(".jp-Notebook").wait_for(state="detached")
    name_no_kernel(one)
    set_setting(one, "autoStartDefaultKernel", False, "@jupyterlab/notebook-extension:tracker")
    one.command("docmanager:open", path=one.name)
    page.wait_for_selector(".jp-Notebook .jp-Cell")


def test_controls_plot_table_stop_and_the_picture_that_stays(lab_in_use: OpenLab, tmp_path: Path) -> None:
    one = lab_in_use(DEFINE, SWEEP.format(folder=str(tmp_path)), "sweep.run(); print('all', 'over')")
    page = one.page
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    one.run_cell(0)
    one.run_cell(1)
    box = page.locator(BOX)
    progress = box.locator(".cellmill-sweep-progress")
    progress.get_by_text("0 of 40 points done").wait_for()

    slider = box.locator(".widget-hslider", has_text="lr").locator(".noUi-handle")
    slider.focus()
    page.keyboard.press("ArrowRight")  # a control runs its point
    progress.get_by_text("1 of 40 points done").wait_for()
    wait_points(one, 1)
    page.keyboard.press("ArrowLeft")
    progress.get_by_text("2 of 40 points done").wait_for()
    page.keyboard.press("ArrowRight")  # known
    rows = box.locator(".cellmill-sweep-table tbody tr")
    assert rows.locator("nth=0").inner_text().split()[:3] == ["0.003", "2", "True"]  # the newest comes first
    box.locator("tr[data-present='true']", has_text="0.01").wait_for()
    calls = (tmp_path / "calls").read_text().split()
    assert calls == ["0.01,2,True", "0.003,2,True"]

    box.get_by_role("button", name="Run all").click()
    wait_points(one, 36)  # without two that wait at the door, the last ones, and two that failed
    progress.get_by_text("36 of 40 points done, 2 failed, 2 running").wait_for()
    box.scroll_into_view_if_needed()
    one.picture("sweep-running-light")
    box.get_by_role("button", name="Stop").click()
    progress.get_by_text("36 of 40 points done, 2 failed", exact=True).wait_for()
    header = box.get_by_role("button", name="loss")
    header.click()
    losses = [float(row.split()[3]) for row in rows.all_inner_texts() if "Error" not in row]
    assert len(losses) == 36
    assert losses == sorted(losses)
    box.locator("select").nth(2).select_option("accuracy")
    wait_until(
        page,
        "() => Bokeh.documents.some(d => [...d._all_models.values()].some(m => m.axis_label === 'accuracy'))",
    )
    (tmp_path / "door").touch()
    one.run_cell(2)  # results come while the cell runs
    one.wait_output(2, "all over")
    progress.get_by_text("38 of 40 points done, 2 failed", exact=True).wait_for()
    wait_points(one, 38)
    box.scroll_into_view_if_needed()
    one.picture("sweep-over-light")
    one.picture("sweep-over-dark", dark=True)
    calls = (tmp_path / "calls").read_text().split()
    assert len(set(calls)) == 40
    assert len(calls) == 42  # each once, but the two that were stopped
    assert all(url.startswith((one.server.url, "blob:", "data:")) for url in requests)
    wait_until(
        page,
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.model.toJSON()).includes('38 of 40 points done')",
    )
    one.save()
    assert (one.server.root / one.name).stat().st_size < 100_000  # no library is saved with it
    page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    open_without_kernel(one)
    still = page.locator(".cellmill-still")
    still.locator("img[src^='data:image/svg+xml']").wait_for()
    assert (
        still.locator("img").evaluate("async image => { await image.decode(); return image.naturalWidth; }")
        == 640
    )
    assert "38 of 40 points done, 2 failed" in still.inner_text()
    assert "The newest 20 of 40 results" in still.inner_text()
    assert "Loading widget" not in page.locator(".jp-Notebook").inner_text()
    still.scroll_into_view_if_needed()
    one.picture("sweep-saved-light")
    one.picture("sweep-saved-dark", dark=True)
    assert one.errors == []
