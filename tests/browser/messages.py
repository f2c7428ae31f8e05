"""Pictures of what is told in cells, in the light and the dark theme, to be read: `pytest tests/browser/messages.py`.

They come to build/screenshots. pytest collects this module only when it is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.test_widget import set_theme

CELLS = [
    "%load_ext cellmill\n%cellmill workers 2\nimport numpy as np\nprint('loaded', 'now')",
    "weights, total = [0], 0",
    "%%parallel\ndef count(x):\n    weights[0] += x\n    return weights[0]",
    "counted = list(count.map(range(4)))",
    "%%parallel\ndef add(x):\n    global total\n    total += x\n    return total",
    "rng = np.random.default_rng(1)",
    "%%parallel\ndef draw(x):\n    return rng.random()",
    "drawn = list(draw.map(range(3)))\nagain = list(draw.map(range(3)))",
    "table = np.zeros(4_000_000)",
    "%%parallel\ndef look(x):\n    return table[x]",
    "looked = [look(i).result() for i in range(4)]",
    "%%parallel\ndef write(x):\n    table[x] = 1",
    "written = [write(i) for i in range(1)]\nwritten[0].result()",
    "%%parallel\ndef is_even(x):\n    return x % 2 == 0",
    "[x for x in range(10) if is_even(x)]",
    "is_even(2) == True",
    "sorted([is_even(2), is_even(3)])",
    "state = {'n': 0}",
    "%%parallel\ndef seen(x):\n    return state['n']",
    "found = []\nfor value in seen.map(range(1000)):\n    state['n'] += 1\n    found.append(value)",
    "import itertools\nseen.map(itertools.count())\nprint('not', 'read')",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_messages(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*CELLS, name="messages.ipynb")
    page = one.page
    set_theme(one, theme)
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    page.set_viewport_size({"width": 1100, "height": 1500})
    for index in range(len(CELLS)):
        one.run_cell(index)
        one.wait_kernel("idle")
        page.wait_for_timeout(300)
    for part in range(3):
        page.locator(".jp-Notebook .jp-Cell").nth(part * len(CELLS) // 3).scroll_into_view_if_needed()
        page.locator(".jp-WindowedPanel-outer").first.evaluate(
            "(e, part) => { e.scrollTop = e.scrollHeight * part / 3; }", part
        )
        page.wait_for_timeout(500)
        one.screenshot(f"messages-{theme}-{part}")
