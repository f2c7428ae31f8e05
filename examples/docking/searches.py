"""Independent searches of a molecule: their seeds, all of them as tasks, and what they say together.

A single search at low exhaustiveness may miss the best pose, so the score of a molecule is the best of several. Each
is a task of its own: a molecule with many does not keep one worker busy at the end of a round while others have
nothing, a killed screen loses one search and not all of them, and searches that measured the noise are not done again.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from docking.dock import gather
from docking.records import Docked, Search


def search_each(dock: Any, wanted: Sequence[tuple[str, Sequence[Search]]]) -> list[list[Docked]]:
    """For each molecule (SMILES) the outcomes of its searches, by the parallel function ``dock(smiles, search)``."""
    molecules = [smiles for smiles, searches in wanted for _ in searches]
    numbers = [search for _smiles, searches in wanted for search in searches]
    rows = iter(gather(molecules, dock.map(molecules, numbers, return_exceptions=True)))
    return [list(islice(rows, len(searches))) for _smiles, searches in wanted]


def best_of(dock: Any, smiles: Sequence[str], searches: Sequence[Search]) -> list[Docked]:
    """For each of ``smiles`` the best of ``searches``."""
    return [combine(rows) for rows in search_each(dock, [(text, searches) for text in smiles])]


def combine(rows: Sequence[Docked]) -> Docked:
    """The best of several searches of one molecule, with the mean and the spread of all that ended with a score.

    A molecule is failed when none did.
    """
    seconds = sum(row.seconds for row in rows)
    good = [row for row in rows if row.ok]
    if not good:
        return replace(rows[0], seconds=seconds, searches=0)
    best = min(good, key=lambda row: row.score)
    scores = [row.score for row in good]
    failed = [row for row in rows if not row.ok]
    lost = f"{len(failed)} of {len(rows)} searches failed: {failed[0].reason}" if failed else ""
    return replace(
        best,
        seconds=seconds,
        mean=round(statistics.fmean(scores), 4),
        spread=round(statistics.stdev(scores), 4) if len(good) > 1 else best.spread,
        searches=len(good),
        note="; ".join(filter(None, (best.note, lost))),
        poses=tuple(sorted((pose for row in good for pose in row.poses), key=lambda pose: pose[0])),
    )


def best_of_both(final: Docked, screened: Docked) -> Docked:
    """What a ``final`` round found, with the score and the pose of the round before where that one was better; mean and
    spread stay those of the final searches."""
    if not final.ok or final.score <= screened.score:
        return final
    return replace(
        final,
        score=screened.score,
        pose=screened.pose,
        form=screened.form,
        poses=((screened.score, screened.pose), *final.poses),
    )
