"""A bar of states by their shares, for text: what there is at all is seen."""

from __future__ import annotations

from collections.abc import Mapping

LETTERS = "dflcrw"
"""done, failed, lost, cancelled, running, waiting"""
MARKS = {"d": "#", "f": "!", "l": "x", "c": "-", "r": ">", "w": "."}
"""Their characters in a bar of text."""


def shares(counts: Mapping[str, int], total: int, width: int) -> list[tuple[str, int]]:
    """Cells for each state by its share of the total; what is there at all gets a cell at least."""
    counts = {**counts, "w": max(0, total - sum(counts.values()))}
    whole = sum(counts.values())
    if whole <= 0:
        return []
    cells = {
        state: max(1, round(width * counts.get(state, 0) / whole)) if counts.get(state, 0) > 0 else 0
        for state in LETTERS
    }
    while (over := sum(cells.values()) - width) != 0:
        largest = max(cells, key=lambda state: cells[state])
        step = over if over < 0 else min(over, cells[largest] - 1)
        if not step:
            break  # a cell each is more than there are
        cells[largest] -= step if step < 0 else 1
    return [(state, number) for state, number in cells.items() if number > 0]


def text_bar(counts: Mapping[str, int], total: int, width: int) -> str:
    """Return so many characters, of `MARKS`; those of tasks to come where there is nothing to tell."""
    return "".join(MARKS[state] * number for state, number in shares(counts, total, width)) or "." * width
