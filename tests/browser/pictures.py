"""The pictures in docs/images: a notebook in JupyterLab, half way through a million tasks. For `make pictures`.

The tests' own server, browser and page take them. pytest collects this module only when it is named.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from PIL import Image

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
LIMIT = 300_000
"""Bytes of a picture."""
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


@pytest.fixture
def scale() -> int:
    return 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_take(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*CELLS, name="hailstones.ipynb")
    one.command("apputils:change-theme", theme=f"JupyterLab {theme.capitalize()}")
    light = str(theme == "light").lower()
    one.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
    one.page.wait_for_selector("#jupyterlab-splash", state="detached")
    one.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    one.open_panel()
    for index in (1, 2, 3):
        one.run_cell(index)
    one.wait_output(3, "382")
    widen(one, 110)
    one.page.locator("#cellmill-panel [data-tab='map']").click()
    one.run_cell(4)
    one.wait_panel("d.total === 1e6 && d.done >= 5e5 && d.failed === 2")
    save(one.page.screenshot(), IMAGES / f"cellmill-{theme}.png")
    one.wait_panel("d.done === 1e6")
    one.wait_kernel("idle")
    assert one.errors == []


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


def save(png: bytes, path: Path) -> None:
    """Write a picture with as many colours as fit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.save(path, optimize=True)
    if path.stat().st_size > LIMIT:
        picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size <= LIMIT
