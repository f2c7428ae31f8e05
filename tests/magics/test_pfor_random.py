"""Loops drawn at random: `%%pfor` leaves what the plain loop leaves, or refuses and does nothing."""

from __future__ import annotations

import pytest

from tests.support.notebook import Notebook

ROOT = __file__.partition("/tests/")[0]


@pytest.mark.parametrize(
    "count", [200, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(3000)])]
)
def test_each_is_the_plain_loop_or_refused(notebook: Notebook, count: int) -> None:
    notebook.run(
        f"import sys\nsys.path.insert(0, {ROOT!r})\nfrom tests.magics.random_loops import outcomes"
    ).ok()
    notebook.finish(notebook.start(f"how, wrong = outcomes(get_ipython(), 0, {count})"), 2900)
    assert notebook.value("wrong[:5]") == "[]"
    same, refused = (int(notebook.value(f"how[{name!r}]")) for name in ("the same", "refused"))
    assert same > count / 2  # it is not refused for safety
    assert refused > count / 20
