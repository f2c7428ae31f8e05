"""A report and a replay in a real browser, light and dark: drawn, without an error, and no network is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import BrowserContext, Page, expect

import cellmill
from cellmill import Executor
from tests.browser.lab_page import PICTURES, SCREENSHOTS, wait_until
from tests.support import tasks

GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 29)"}
TITLE_COLOUR = {"light": "#3a424b", "dark": "#c8ced6"}
COLOUR = """() => {
    for (const made of Bokeh.documents) for (const model of made._all_models.values())
        if (model.type === 'Title') return model.text_color;
    return '';
}"""


def test_a_report_and_a_replay(context: BrowserContext, pool: Executor, tmp_path: Path) -> None:
    with cellmill.record(tmp_path):
        list(pool.map(tasks.double, range(500)))
        list(pool.map(tasks.double, range(500)))
    one, two = cellmill.runs(tmp_path)
    page = context.new_page()
    page.set_viewport_size({"width": 1000, "height": 900})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: None if _is_here(asked.url) else problems.append(asked.url))
    _look(page, cellmill.report(tmp_path / "one.html", one), "light")
    _look(page, cellmill.report(tmp_path / "two.html", one, two), "dark")
    page.goto(cellmill.replay(one).save(tmp_path / "replay.html").as_uri())
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_text("500 tasks on")).to_be_visible()
    page.get_by_role("tab", name="Journey").click()
    expect(page.get_by_text("Run times of double")).to_be_visible()
    page.close()
    assert problems == []


def _look(page: Page, path: Path, look: Literal["light", "dark"]) -> None:
    """A report in one of the two looks: drawn in its colours, and not wider than the page."""
    page.emulate_media(color_scheme=look)
    page.goto(path.as_uri())
    expect(page.locator("canvas").first).to_be_visible()
    wait_until(page, f"({COLOUR})() === '{TITLE_COLOUR[look]}'")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == GROUND[look]
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    if PICTURES:
        page.screenshot(path=SCREENSHOTS / f"report-{path.stem}-{look}.png", full_page=True)


def _is_here(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))
