"""The pictures in docs/images, in the light and the dark theme: for `make pictures`.

A notebook half way through a million tasks, for the README; each view of the panel, the widget and what stays of it,
for docs/dashboard.md. The tests' own server, browser and page take them. pytest collects this module only when it is
named.
"""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import BrowserContext

from cellmill.outside.top.app import Top
from cellmill.outside.top.watch import Watch
from tests.browser.page_setup import prepare
from tests.browser.test_widget import wait_inline

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
LIMIT = 300_000
"""Bytes of a picture."""
COLOURS = 96
"""Of a picture of a single view: there are two dozen of them."""
CELLS = [
    nbformat.v4.new_markdown_cell(
        "# A million hailstones\n\n"
        "`%%parallel` makes the function of a cell parallel. `map` hands out one task per item."
    ),
    "%load_ext cellmill",
    '''%%parallel
def collatz(n):
    """Steps from n to 1: halve what is even, otherwise triple and add one."""
    if n < 1:
        raise ValueError(f"from {n} there is no way to 1")
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps''',
    "steps = list(collatz.map(range(1, 200_001)))\nmax(steps)",
    "steps = list(collatz.map(range(-1, 999_999), return_exceptions=True))",
    "[failure for failure in steps if isinstance(failure, Exception)]",
]
# Spectra are measured, some with a failure; ten are fitted together; the fits are ranked.
PEAKS = [
    "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')",
    """%%parallel
def measure(sample):
    import math, time
    until = time.perf_counter() + 0.03 + 0.07 * math.sin(sample) ** 2
    while time.perf_counter() < until:
        pass
    if sample in (57, 131, 188):
        print(f"sample {sample}: 0 of 4096 channels above the noise")
        raise ValueError(f"sample {sample} has no peak")
    return sample

def fit(*spectra):
    import time
    until = time.perf_counter() + 0.2
    while time.perf_counter() < until:
        pass
    return sum(spectra)

def rank(*fits):
    return sorted(fits)
print('defined', 'all')""",
    """import concurrent.futures
spectra = [measure(sample) for sample in range(360)]
fits = [fit(*spectra[at:at + 10]) for at in range(0, 360, 10)]
ranked = [rank(*fits[at:at + 6]) for at in range(0, 36, 6)]
concurrent.futures.wait([*fits, *ranked])
print('ranked', 'all')""",
    "%dashboard --inline",
    "again = list(measure.map(range(60), return_exceptions=True))\nprint('once', 'more')",
]
PANEL = "#cellmill-panel"
CELL = ".jp-Notebook .jp-Cell >> nth={}"
OUTPUT = ".jp-Notebook .jp-Cell >> nth={} >> .jp-OutputArea"


@pytest.fixture
def scale() -> int:
    return 2


@pytest.fixture
def context(own_context: BrowserContext) -> BrowserContext:
    """Of the scale above."""
    return own_context


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_take(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*CELLS, name="hailstones.ipynb")
    prepare(one, theme, panel=True)
    for index in (1, 2, 3):
        one.run_cell(index)
    one.wait_output(3, "382")
    widen(one, 110)
    one.page.locator("#cellmill-panel [data-tab='map']").click()
    one.run_cell(4)
    one.wait_panel("d.total === 1e6 && d.done >= 5e5 && d.failed === 2")
    save_picture(one.page.screenshot(), IMAGES / f"cellmill-{theme}.png")
    one.wait_panel("d.done === 1e6")
    one.wait_kernel("idle")
    assert one.errors == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_take_views(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*PEAKS, name="peaks.ipynb")
    page = one.page
    prepare(one, theme, panel=True, width=1280, height=900)
    widen(one, 150)
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_output(1, "defined all")
    one.run_cell(2)
    one.wait_panel("d.done > 60")
    panel = page.locator(PANEL)

    def take(name: str, element: Any = panel) -> None:
        save_picture(element.screenshot(), IMAGES / f"{name}-{theme}.png", COLOURS)

    panel.locator("[data-tab='profile']").click()
    panel.locator(".cellmill-profile-switch").click()  # what is sampled comes while the others are taken
    for tab in (
        "now",
        "map",
        "journey",
        "workers",
        "timeline",
        "tasks",
        "graph",
        "profile",
        "runs",
        "output",
    ):
        panel.locator(f"[data-tab='{tab}']").click()
        page.mouse.move(5, 5)
        panel.locator(f".cellmill-page-{tab}").wait_for()
        page.wait_for_timeout(700)  # what a person would see, who looks for a moment
        take(tab)
    take("cell", page.locator(OUTPUT.format(2)))
    one.wait_output(2, "ranked all")
    page.locator(".cellmill-failing").first.wait_for()
    take("failing-line", page.locator(CELL.format(1)))
    take("badge", page.locator(CELL.format(2)))
    panel.locator("[data-tab='tasks']").click()
    panel.locator(".cellmill-failure").last.click()
    page.locator(f"{PANEL} .cellmill-task-detail").get_by_text("no peak").first.wait_for()
    take("task")
    page.evaluate("() => window.jupyterapp.shell.collapseRight()")
    page.set_viewport_size({"width": 1280, "height": 1400})  # so that all of the widget is in sight
    one.run_cell(3)
    wait_inline(one, "d.presence === 'loaded' || d.presence === 'live'")
    one.run_cell(4)
    wait_inline(one, "d.total === 60 && d.done > 30")
    take("widget", page.locator(OUTPUT.format(3)))
    one.wait_output(4, "once more")
    one.save()
    notebook = nbformat.read(one.server.root / one.name, as_version=4)
    page.set_viewport_size({"width": 900, "height": 900})
    page.set_content(HTMLExporter(theme=theme).from_notebook_node(notebook)[0])
    take("saved", page.locator(OUTPUT.format(2)))
    assert one.errors == []


TOP = """
import random, time, cellmill
cellmill.serve()
def dock(ligand):
    time.sleep(0.02 + 0.06 * random.random())
    if ligand % 97 == 5:
        raise ValueError("no pose")
with cellmill.Executor(2) as executor:
    list(executor.map(abs, range(400)))
    print("ready", flush=True)
    list(executor.map(dock, range(2000), chunksize=1, return_exceptions=True))
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_take_views_from_outside(
    context: BrowserContext, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cellmill top` and `cellmill dashboard`, each of a program that docks."""
    with tempfile.TemporaryDirectory(prefix="cm-") as folder:
        monkeypatch.setenv("CELLMILL_RUNTIME_DIR", f"{folder}/run")
        program = subprocess.Popen([sys.executable, "-c", TOP], stdout=subprocess.PIPE, text=True)
        viewer = subprocess.Popen(
            [sys.executable, "-m", "cellmill", "dashboard"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert program.stdout is not None
            assert viewer.stdout is not None
            assert program.stdout.readline() == "ready\n"
            address = viewer.stdout.readline().split()[1]
            page = context.new_page()
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.set_viewport_size({"width": 1100, "height": 900})
            page.goto(address)
            page.wait_for_timeout(12_000)  # of which the pictures tell
            save_picture(page.screenshot(), IMAGES / f"dashboard-page-{theme}.png", COLOURS)
            with ThreadPoolExecutor(1) as beside:  # the browser's driver has a loop in this thread
                picture = beside.submit(asyncio.run, terminal(theme)).result()
            page.set_content(f"<body style='margin:0'>{picture}</body>")
            save_picture(page.locator("svg").screenshot(), IMAGES / f"top-{theme}.png", COLOURS)
            page.close()
        finally:
            for process in (program, viewer):
                process.kill()
                process.communicate()


async def terminal(theme: str) -> str:
    """A screenshot of `cellmill top` as SVG, with fonts of this machine."""
    watch = Watch()
    app = Top(watch, 0.5)
    app.theme = f"textual-{theme}"
    async with app.run_test(size=(100, 32)) as pilot:
        await pilot.pause(8)
        picture = app.export_screenshot()
    watch.close()
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


def widen(one: Any, by: int) -> None:
    """Drag the panel's left edge by so many pixels."""
    box = one.page.locator("#cellmill-panel").bounding_box()
    one.page.mouse.move(box["x"] - 2, box["y"] + box["height"] / 2)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] - by, box["y"] + box["height"] / 2, steps=4)
    one.page.mouse.up()
    one.page.wait_for_function(
        "wide => document.querySelector('#cellmill-panel').clientWidth > wide", arg=box["width"] + by / 2
    )


def save_picture(png: bytes, path: Path, colours: int | None = None) -> None:
    """Write a picture with so many colours, or with as many as fit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    if colours is not None:
        picture = picture.quantize(colours, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)
    if path.stat().st_size > LIMIT:
        picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size <= LIMIT
