"""Every tab at the widths of a side panel, and wide: nothing is cut off or scrolls sideways, and axe finds nothing.

The run has what a run can have: tasks that are done, failed for two reasons, lost, cancelled, tried again, that print,
and that take results of others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.axe import grave_findings
from tests.browser.page_setup import set_theme
from tests.browser.test_workers import widen

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\n%cellmill workers 2\nimport cellmill\nprint('loaded', 'now')"
DEFINE = """%%parallel
def load_the_measurements(number):
    import os, time
    time.sleep(0.01)
    print('sample', number, 'of a long series of measurements that fills more than one line of a narrow panel')
    if number == 7:
        raise ValueError(f'sample {number} has no peak above the noise in any of its 4096 channels')
    if number == 8:
        raise KeyError('calibration')
    if number == 9:
        os._exit(1)
    return number

def fit(*samples):
    return len(samples)

def wait_for(gate):
    import pathlib, time
    while not pathlib.Path(gate).exists():
        time.sleep(0.01)

print('defined', 'all')"""
RUN = """import concurrent.futures
samples = [load_the_measurements.options(retries=1)(n) if n == 7 else load_the_measurements(n) for n in range(24)]
fits = [fit(*samples[at:at + 4]) for at in range(0, 24, 4)]
whole = fit(*fits[2:])
concurrent.futures.wait([*samples, *fits, whole])
held = [wait_for({gate!r}) for _ in range(6)]
held[5].cancel(), held[4].cancel()
print('over', len(concurrent.futures.wait(held).done))"""
TABS = ("now", "map", "timeline", "journey", "profile", "tasks", "output", "graph", "workers", "runs")
WHILE_IT_RUNS = ("now", "timeline", "tasks", "workers")  # tabs with more than after its end
SIDE, MAIN = "#cellmill-panel", ".cellmill-main"
# What is cut off: parts beyond the right edge, and parts that scroll sideways.
CUT = """selector => {
    const root = document.querySelector(selector);
    const edge = root.getBoundingClientRect().left + root.clientWidth + 0.5;
    const found = [];
    for (const one of root.querySelectorAll('*')) {
        const box = one.getBoundingClientRect();
        if (box.width === 0 || box.height < 2 || one.closest('.cellmill-spoken') !== null) continue;
        const within = one.parentElement.closest('[data-cut], canvas');
        const { overflowX } = getComputedStyle(one);
        if (overflowX !== 'visible') one.dataset.cut = '';
        if (box.right > edge && within === null) found.push(`beyond: ${one.tagName} ${one.className}`);
        if (['auto', 'scroll'].includes(overflowX) && one.scrollWidth > one.clientWidth + 1) {
            found.push(`scrolls: ${one.className} ${one.scrollWidth} > ${one.clientWidth}`);
        }
    }
    for (const one of root.querySelectorAll('[data-cut]')) delete one.dataset.cut;
    return found;
}"""


# Shows the pages of all tabs below each other, as they were drawn last, so that axe looks at all of them at once.
ALL_TABS = """selector => {
    for (const page of document.querySelectorAll(`${selector} .cellmill-page`)) page.hidden = false;
}"""
# Parts that scroll up and down inside of the panel, which does so itself.
NESTED = """selector => {
    const root = document.querySelector(selector);
    const scrolls = one => ['auto', 'scroll'].includes(getComputedStyle(one).overflowY);
    return [...root.querySelectorAll('*')]
        .filter(one => scrolls(one) && one.scrollHeight > one.clientHeight + 1)
        .map(one => `scrolls inside: ${one.className} ${one.scrollHeight} > ${one.clientHeight}`);
}"""
# The two lines of the header: their height, and what of them is wider than its place.
HEADER = """selector => {
    const lines = document.querySelectorAll(`${selector} :is(.cellmill-headline, .cellmill-times)`);
    return [...lines].map(one => [one.className, one.clientHeight, one.scrollWidth - one.clientWidth]);
}"""


def choose(one: Any, root: str, tab: str) -> None:
    one.page.locator(f"{root} [data-tab='{tab}']").click()
    one.page.locator(f"{root} .cellmill-page-{tab}").wait_for()
    one.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def cut_off(one: Any, root: str, tabs: tuple[str, ...] = TABS) -> list[str]:
    return [
        f"{tab}: {each}"
        for tab in tabs
        if choose(one, root, tab) is None
        for each in [*one.page.evaluate(CUT, root), *one.page.evaluate(NESTED, root)]
    ]


def broken_lines(one: Any, root: str) -> list[Any]:
    """Lines of the header that take more than one line, or have no room; there are two."""
    lines = one.page.evaluate(HEADER, root)
    assert len(lines) == 2
    return [line for line in lines if line[1] > 24 or line[2] > 1]


def test_no_tab_is_cut_off_or_hard_to_use(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    one = lab_in_use(LOAD, DEFINE, RUN.format(gate=str(gate)))
    one.open_panel()
    for cell in range(3):
        one.run_cell(cell)
    one.wait_panel("d.running === 2 && d.cancelled === 2 && d.failed > 3 && d.lost === 1")
    found = []
    for width in (300, 250):
        widen(one, width)
        found += [f"{width} px, header: {each}" for each in broken_lines(one, SIDE)]
    found += [f"250 px, while it runs: {each}" for each in cut_off(one, SIDE, WHILE_IT_RUNS)]
    gate.touch()
    one.wait_output(2, "over 6")
    found += [f"250 px: {each}" for each in cut_off(one, SIDE)]
    widen(one, 300)
    one.page.evaluate(ALL_TABS, SIDE)
    for theme in ("dark", "light"):
        set_theme(one, theme)
        found += [f"{theme}: {each}" for each in grave_findings(one.page, SIDE, ".cellmill-status")]
    one.command("cellmill:open-dashboard-in-main")
    one.page.locator(f"{MAIN} .cellmill-dashboard[data-over='37']").wait_for()
    found += [f"wide: {each}" for each in cut_off(one, MAIN)]
    found += [f"wide, header: {each}" for each in broken_lines(one, MAIN)]
    assert not found, "\n".join(dict.fromkeys(found))
    assert one.errors == []
