"""The tab of the workers in a real JupyterLab, with workers of Dask: where they are, what each process has against its
limit, and the way to Dask's own dashboard.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import grave_findings
from tests.browser.lab_page import wait_until
from tests.browser.page_setup import prepare

pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")

OpenLab = Callable[..., Any]
LOAD = """%load_ext cellmill
import cellmill
from distributed import LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=2, memory_limit="2GB", dashboard_address="127.0.0.1:0")
cellmill.set_default_executor(cellmill.Executor(backend=cluster))
print('loaded', 'now')"""
RUN = """def fit(gate):
    import pathlib, time
    kept = bytearray(b'x') * 150_000_000
    while not pathlib.Path(gate).exists():
        sum(range(10_000))
        time.sleep(0.001)
    return len(kept)
tasks = [cellmill.default_executor().submit(fit, {gate!r}) for _ in range({count})]
print('got', len([task.result() for task in tasks]))
"""
RAY = """%load_ext cellmill
import cellmill
cellmill.set_default_executor(cellmill.Executor(2, backend="ray"))
print('loaded', 'now')"""
DASHBOARD = "#cellmill-panel .cellmill-dashboard"
PAGE = f"{DASHBOARD} .cellmill-page-workers"


def test_workers_of_dask(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one = lab_in_use(LOAD, RUN.format(gate=str(gate), count=3))
    prepare(one, "light", panel=True)
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_panel("d.running === 3")
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab=workers]").click()
    rows = one.page.locator(f"{PAGE} tbody .cellmill-worker")
    rows.nth(3).wait_for()
    memory = rows.locator(".cellmill-worker-memory")
    memory.get_by_text("of 2.0 GB").nth(1).wait_for()
    told = memory.all_inner_texts()
    assert sum(text.startswith("with ") for text in told) == 2
    assert [text.count("MB") for text in sorted(told)] == [1, 1, 0, 0]
    addresses = rows.locator(".cellmill-worker-address").all_inner_texts()
    assert len(set(addresses)) == 4
    assert all(address.startswith("tcp://127.0.0.1:") for address in addresses)
    the_dashboard_is_linked(one)
    one.picture("workers-dask-light")
    widen(one, 300)
    one.picture("workers-dask-300-dark", dark=True)
    assert grave_findings(one.page, PAGE) == []  # `tests.browser.test_widths` has the dark theme
    the_strips_are_of_these_workers(one)
    gate.touch()
    one.wait_output(1, "got 3")
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab=journey]").click()
    one.page.locator(f"{DASHBOARD} .cellmill-moved").get_by_text("Arguments").wait_for()
    one.picture("workers-dask-moved")
    assert one.errors == []


@pytest.mark.long  # tests/contract/test_use.py has what workers of Ray use, and the page is the same
def test_workers_of_ray(lab_in_use: OpenLab, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
    gate = tmp_path / "gate"
    one = lab_in_use(RAY, RUN.format(gate=str(gate), count=2))
    prepare(one, "light", panel=True)
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_panel("d.running === 2")
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab=workers]").click()
    rows = one.page.locator(f"{PAGE} tbody .cellmill-worker")
    rows.nth(1).wait_for()
    rows.locator(".cellmill-worker-memory").get_by_text("MB").nth(1).wait_for()
    rows.locator(".cellmill-worker-address").get_by_text("process").nth(1).wait_for()
    assert len(set(rows.locator(".cellmill-worker-address").all_inner_texts())) == 2
    assert one.page.locator(
        f"{PAGE} a.cellmill-workers-link"
    ).is_hidden()  # it was started without Ray's dashboard
    one.picture("workers-ray")
    gate.touch()
    one.wait_output(1, "got 2")
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab=journey]").click()
    one.page.locator(f"{DASHBOARD} .cellmill-moved").get_by_text("Arguments").wait_for()
    assert one.errors == []


def widen(one: Any, width: int) -> None:
    """Drag the panel's left edge until it is so wide."""
    box = one.page.locator("#cellmill-panel").bounding_box()
    one.page.mouse.move(box["x"] - 2, box["y"] + box["height"] / 2)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] - 2 + box["width"] - width, box["y"] + box["height"] / 2, steps=4)
    one.page.mouse.up()
    wait_until(
        one.page,
        "width => Math.abs(document.querySelector('#cellmill-panel').clientWidth - width) < 9",
        arg=width,
    )


def the_dashboard_is_linked(one: Any) -> None:
    link = one.page.locator(f"{PAGE} a.cellmill-workers-link")
    link.get_by_text("Dashboard of Dask").wait_for()
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    one.page.context.route("**/static/**", lambda route: route.abort())  # Dask's page is not drawn
    with one.page.context.expect_page() as opened:
        link.press("Enter")
    opened.value.wait_for_url("**/status")
    assert opened.value.title() == "Dask Diagnostic UI"
    opened.value.close()
    one.page.context.unroute("**/static/**")


def the_strips_are_of_these_workers(one: Any) -> None:
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab=timeline]").click()
    strips = one.page.locator(f"{DASHBOARD} .cellmill-page-timeline")
    told = strips.locator(".cellmill-strips-told")
    told.get_by_text("3 busy, 1 idle").wait_for()
    one.picture("workers-dask-strips")
