"""Looking back on a screen: what its tasks went through, and the same screen read again from its folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from docking.ledger import Keeping
from docking.records import DockingInputError
from docking.screen import Screen

SPANS = {
    "to a worker": ("submitted", "started"),
    "run": ("started", "finished"),
    "back": ("finished", "resolved"),
}
"""Parts of a journey, each between two of its stamps."""


def journey_table(rows: Iterable[Mapping[str, Any]]) -> Any:
    """For each function its tasks, and the mean milliseconds of each part of their way, as a pandas DataFrame.

    ``rows`` are journeys as ``cellmill.journey_rows()`` gives them.
    """
    import pandas

    tasks: dict[str, int] = {}
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        function = row["function"]
        tasks[function] = tasks.get(function, 0) + 1
        for name, (first, last) in SPANS.items():
            if row[first] and row[last]:
                count, total = sums.get((function, name), (0, 0))
                sums[function, name] = count + 1, total + row[last] - row[first]
    table = [
        {
            "function": function,
            "tasks": count,
            **{f"{name}, ms": _mean(sums.get((function, name))) for name in SPANS},
        }
        for function, count in tasks.items()
    ]
    columns = ["function", "tasks", *(f"{name}, ms" for name in SPANS)]
    return pandas.DataFrame(table, columns=columns).set_index("function")


def read_again(screen: Screen, again: Screen, start: int, per_round: int) -> str:
    """Take the steps of a finished ``screen`` once more with ``again``, which has its folder, and say in a line what
    that docked anew and whether each score is the same."""
    if not isinstance(again.dock, Keeping):
        raise DockingInputError("A screen is read again from its folder: the second one needs a ledger.")
    again.dock_start(start)
    for _ in range(screen.round):
        again.dock_best(per_round)
    again.finish()
    scores = {hit.entry.smiles: hit.docked.score for hit in screen.hits}
    other = [hit for hit in again.hits if not _same(scores.get(hit.entry.smiles), hit.docked.score)]
    count = again.dock.docked
    docked = (
        f"{count} {'search' if count == 1 else 'searches'} docked anew" if count else "nothing docked anew"
    )
    same = f"{len(other)} with another score" if other else "each with the same score"
    return f"{len(again.hits)} molecules from the folder, {docked}, {same}"


def _same(there: float | None, here: float) -> bool:
    return there is not None and (there == here or (math.isnan(there) and math.isnan(here)))


def _mean(summed: tuple[int, int] | None) -> float:
    return round(summed[1] / summed[0] / 1e6, 3) if summed else math.nan
