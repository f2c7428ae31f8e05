"""What is shown of the failures of one loop: the first kinds in full, the others counted."""

from __future__ import annotations

import pytest

from cellmill.magics.failures import render


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (1, "1 failure of 1 other kind is not shown here"),
        (2, "2 failures of 2 other kinds are not shown here"),
    ],
)
def test_kinds_that_are_not_shown_are_counted(others: int, words: str) -> None:
    group = ExceptionGroup("a loop", [ValueError(str(number)) for number in range(5 + others)])
    assert render(group)[-1] == words
