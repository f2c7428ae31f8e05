"""Pictures of what is told in cells, in the light and the dark theme, to be read: `pytest tests/browser/messages.py`.

They come to build/screenshots. pytest collects this module only when it is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.page_setup import prepare, take_notebook

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


ERRORS = [
    "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')",
    (
        "%%parallel\ndef read(path):\n    return parse(open(path).read())\n"
        "def parse(text):\n    return float(text)\ndef slow(x):\n    import time\n    time.sleep(60)\n"
        "def leave(x):\n    import os\n    os._exit(3)\ndef crash(x):\n    import ctypes\n    ctypes.string_at(0)"
    ),
    "import pathlib\nfor i in range(9):\n    pathlib.Path(f'{i}.csv').write_text('x' if i == 7 else '1')",
    "read('7.csv').result()",
    "list(read.map(f'{i}.csv' for i in range(9)))",
    "later = read(read('7.csv'))\nlater.result()",
    "%%pfor x in [2, 1, 0, 0] -> out\n1 / x",
    "%%task prep\nvalue = 1 / 0",
    "prep.result()",
    "slow.options(timeout=0.3)(1).result()",
    "leave(1).result()",
    "crash(1).result()",
    "%cellmill pause\nwaits = read('1.csv')\nmany = read.map(f'{i}.csv' for i in range(3000))",
    "%cellmill stop",
    "waits.result()",
    "list(many)",
    "%cellmill resume",
    "read.options(tiemout=3)",
    "%cellmill stauts",
    "%%parallel --tiemout 3\ndef g(x):\n    return x",
    "import threading\nlock = threading.Lock()\nread(lock)",
    "read('1.csv', 2)",
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_messages(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*CELLS, name="messages.ipynb")
    prepare(one, theme, width=1100, height=1500)
    take_notebook(one, f"messages-{theme}", len(CELLS), 3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_errors(lab: Callable[..., Any], theme: str) -> None:
    one = lab(*ERRORS, name="errors.ipynb")
    prepare(one, theme, width=1100, height=1500)
    take_notebook(one, f"errors-{theme}", len(ERRORS), 3)
