"""A recorded run in a page of its own, beside what the live page showed of it: the same pictures, lines and tasks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.lab_page import Lab, wait_until

# What one sees of a tab: its words and its canvases.
PICTURE = """() => {
    const page = [...document.querySelectorAll('.cellmill-page')].find(one => !one.hidden);
    return {
        words: page.innerText,
        data: page.firstElementChild ? {...page.firstElementChild.dataset} : {},
        canvases: [...page.querySelectorAll('canvas')].map(one => one.toDataURL())
    };
}"""
# What the charts of a tab were given to draw: moments and values of each line.
LINES = (
    "() => [...document.querySelectorAll('.cellmill-page-now .cellmill-chart-plot')].map(one => one.drawn)"
)
SEARCH = """async wanted => {
    const slider = document.querySelector('.cellmill-player-slider');
    const look = LOOK;
    const show = at => {
        slider.value = String(at);
        slider.dispatchEvent(new Event('input'));
        return Promise.resolve();  // charts are painted in a microtask
    };
    for (let at = Number(slider.max); at >= 0; at -= 0.05) {
        await show(at);
        const found = look();
        if (wanted.canvases === null) found.canvases = null;
        if (JSON.stringify(found) === JSON.stringify(wanted)) return at;
    }
    await show(slider.max);
    return look();
}""".replace("LOOK", PICTURE)
# Seconds that the timeline shows in the middle of the recording, whose clock is not the page's, and its length.
BARS = """() => {
    performance.now = () => 1e9;
    const slider = document.querySelector('.cellmill-player-slider');
    const length = Number(slider.max);
    const running = () => document.querySelector('.cellmill-dashboard').dataset.running;
    for (let at = length; at >= 0 && running() !== '2'; at -= 0.1) {
        slider.value = String(at);
        slider.dispatchEvent(new Event('input'));
    }
    delete performance.now;
    return [Number(document.querySelector('.cellmill-timeline').dataset.to), length];
}"""

Line = tuple[list[float], list[float | None]]


def same_lines(some: list[Line], others: list[Line]) -> bool:
    """Whether charts were given the same to draw: every moment to a millisecond, and two thirds of the values that both
    know to what a pixel shows. A page that has much to do misses a frame now and then, a recording has them all.
    """
    assert len(some) == len(others) == 3
    for (times, values), (other_times, other_values) in zip(some, others, strict=True):
        assert len(times) == len(values) == len(other_times) == len(other_values) > 100
        if any(abs(one - other) > 0.001 for one, other in zip(times, other_times, strict=True)):
            return False
        known = [
            (one, other)
            for one, other in zip(values, other_values, strict=True)
            if one is not None and other is not None
        ]
        most = max(one for one, _ in known)
        assert most > 0
        alike = sum(abs(one - other) <= 0.01 * most for one, other in known)
        if 3 * alike < 2 * len(known):
            return False
    return True


def replayed(
    one: Lab,
    journal: Path,
    live: dict[str, Any],
    lines: list[Line],
    width: int,
    variables: dict[str, str],
) -> None:
    command = [sys.executable, "-m", "cellmill", "replay", str(journal)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    page = one.page.context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(done.stdout.split()[-1])
    page.bring_to_front()
    page.wait_for_selector(".cellmill-dashboard[data-done='20'][data-failed='2']")
    page.evaluate(
        """([width, variables]) => {
            document.querySelector('.cellmill-panel').style.width = `${width + 24}px`;
            for (const [name, value] of Object.entries(variables)) {
                document.documentElement.style.setProperty(name, value);
            }
            // The buttons that a kernel obeys take room in the live page.
            const style = document.createElement('style');
            style.textContent = '.cellmill-worker-replace { display: inline-block !important; }';
            document.head.append(style);
        }""",
        [width, variables],
    )
    for tab, wanted in live.items():
        page.locator(f"[data-tab={tab}]").click()
        if tab == "now":
            page.locator(".cellmill-page-now").get_by_role("button", name="Whole run").click()
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found = page.evaluate(SEARCH, wanted)
        assert isinstance(found, int | float), (tab, found["words"], wanted["words"])
        if tab == "now":
            assert same_lines(lines, page.evaluate(LINES))
    look_up_tasks(page)
    page.locator("[data-tab=timeline]").click()
    shown, length = page.evaluate(BARS)
    assert 0 < shown <= length
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Play").click()
    wait_until(page, "() => document.querySelector('.cellmill-dashboard').dataset.done === '20'")
    assert not errors
    page.close()


def look_up_tasks(page: Page) -> None:
    """Filters, order, search and clicks at the end of a recording."""
    row, detail = page.locator(".cellmill-task-table tbody tr"), page.locator(".cellmill-task-detail")
    page.locator("[data-tab=tasks]").click()
    page.locator('[data-filter="failed"]').click()
    expect(row).to_have_count(2)
    assert sorted(row.locator("td:nth-child(2)").all_inner_texts()) == ["report", "score"]
    page.locator('[data-filter="failed"]').click()
    expect(row).to_have_count(20)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(row.first.locator("td:nth-child(2)")).to_have_text("align")
    page.get_by_role("searchbox", name="Search tasks").fill("alone")
    wait_until(page, "() => document.querySelectorAll('.cellmill-task-table tbody tr').length < 3")
    row.filter(has_text="score").click()
    expect(detail.locator(".cellmill-stage")).to_have_count(7)
    assert detail.locator(".cellmill-detail-error").inner_text() == "ValueError: <b>alone</b>"
    assert "in score" in detail.locator(".cellmill-detail-traceback").inner_text()
    assert detail.get_by_role("button").all_inner_texts() == ["×"]  # there is no kernel to run it again
    # the other tabs name tasks, the map by their places
    page.locator("[data-tab=map]").click()
    page.locator(".cellmill-map-canvas").focus()
    page.keyboard.press("Enter")
    expect(detail.locator(".cellmill-detail-function")).to_have_text("load")
    page.locator("[data-tab=graph]").click()
    page.locator(".cellmill-graph-canvas").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(detail.locator(".cellmill-detail-function")).to_have_text("align")
