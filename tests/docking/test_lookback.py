"""A finished screen is read again from its folder, and its tasks' journeys are summed up."""

from __future__ import annotations

import json
import math
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from docking.ledger import DOCKINGS, open_ledger
from docking.lookback import journey_table, read_again
from docking.records import Docked, DockingInputError, DockSettings, Entry, Search
from docking.screen import Screen

LIBRARY = [Entry(size, "C" * size, f"m{size}") for size in range(1, 9)]


class Dock:
    """Answers like the parallel function ``dock``: the longer the chain, the better; counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, smiles: str, search: Search) -> Future[Docked]:
        self.asked += 1
        call: Future[Docked] = Future()
        call.set_result(Docked(smiles, -1.0 * len(smiles) - search.number, "pose"))
        return call


def opened(folder: Path, target: Any, dock: Any) -> Screen:
    return Screen(LIBRARY, dock, 1, 2, ledger=open_ledger(folder, target, DockSettings()), overlap=1)


@pytest.fixture
def finished(small_target: Any, tmp_path: Path) -> Screen:
    """A screen of a start of 4 molecules and a round of 2, by two searches each."""
    screen = opened(tmp_path, small_target, Dock())
    screen.dock_start(4)
    screen.predictions = [-float(len(entry.smiles)) for entry in LIBRARY]
    screen.dock_best(2)
    screen.finish()
    return screen


def test_a_finished_screen_is_read_from_its_folder(
    small_target: Any, finished: Screen, tmp_path: Path
) -> None:
    dock = Dock()
    again = opened(tmp_path, small_target, dock)
    told = read_again(finished, again, 4, 2)
    assert told == "6 molecules from the folder, nothing docked anew, each with the same score"
    assert dock.asked == 0
    assert [hit.entry for hit in again.hits] == [hit.entry for hit in finished.hits]


def test_what_the_folder_lacks_or_tells_otherwise_is_said(
    small_target: Any, finished: Screen, tmp_path: Path
) -> None:
    path = tmp_path / DOCKINGS
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["score"] -= 10.0
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]))
    told = read_again(finished, opened(tmp_path, small_target, Dock()), 4, 2)
    assert told == "6 molecules from the folder, 1 search docked anew, 1 with another score"
    with pytest.raises(DockingInputError, match="needs a ledger"):
        read_again(finished, Screen(LIBRARY, Dock()), 4, 2)


def test_journeys_are_summed_up_by_function() -> None:
    known = {"submitted": 1_000_000, "started": 3_000_000, "finished": 13_000_000, "resolved": 14_000_000}
    other = {"submitted": 1_000_000, "started": 5_000_000, "finished": 35_000_000, "resolved": None}
    table = journey_table([{"function": "dock", **known}, {"function": "dock", **other}])
    assert table.loc["dock"].to_dict() == {
        "tasks": 2,
        "to a worker, ms": 3.0,
        "run, ms": 20.0,
        "back, ms": 1.0,
    }
    assert journey_table([]).empty
    lacking = journey_table([{"function": "infer", **dict.fromkeys(known)}])
    assert math.isnan(lacking.loc["infer", "run, ms"])
