"""A screen whose process is killed goes on where it was; a folder tells its settings and is never mixed."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docking.folder import LOCK, SETTINGS
from docking.inputs import PRELOADED
from docking.ledger import DOCKINGS, RECEPTOR_FILES, ROUNDS, Ledger, Pick, open_ledger
from docking.records import Box, Docked, DockingInputError, DockSettings, Entry, Search
from tests.docking import small_screen

RESULTS = ("hits.csv", "hits.sdf", "predictions.csv")
WAYS = ((2, "local"), (1, "threads"), (1, "local"), (2, "threads"))
EARLY = ((1, "threads"), 5)
"""How a screen is killed in its start: by how many workers it docks, and how many dockings are on disk."""
OVERLAP = 3
"""Molecules that dock while a round is chosen: more than a round has."""


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    """Processes that have the chemistry packages imported, so that each begins at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["docking.outputs", *PRELOADED])
    return context


@pytest.fixture
def ledger(small_target: Any, tmp_path: Path) -> Iterator[Ledger]:
    opened = open_ledger(tmp_path / "screen", small_target, DockSettings())
    yield opened
    opened.close()


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that may be growing."""
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["smiles"], *row["search"].values())


def screened(processes: Any, receptor: Any, folder: Path, way: tuple[int, str], overlap: int) -> Any:
    """A process that screens in ``folder``."""
    process = processes.Process(
        target=small_screen.run, args=(receptor, folder, *way, overlap, folder.with_suffix(".said"))
    )
    process.start()
    return process


def killed_at(wanted: int, process: Any, folder: Path) -> None:
    """Kill a ``process`` when so many dockings are on disk."""
    while len(lines(folder / DOCKINGS)) < wanted:
        assert process.is_alive()
        process.join(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def check_same(folder: Path, undisturbed: Path) -> None:
    for name in RESULTS:
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes(), name
    rows, there = ([_key(row) for row in lines(each / DOCKINGS)] for each in (folder, undisturbed))
    assert len(set(rows)) == len(rows), "nothing is docked twice"
    assert sorted(rows) == sorted(there)


@pytest.fixture(scope="module")
def undisturbed(
    request: pytest.FixtureRequest,
    processes: Any,
    small_target: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, float]:
    """The folder of a screen that nothing disturbs, by one worker, and the seconds that it takes."""
    folder = tmp_path_factory.mktemp("undisturbed") / "screen"
    begun = time.monotonic()
    process = screened(processes, small_target, folder, (1, "threads"), request.param)
    process.join()
    assert process.exitcode == 0
    return folder, time.monotonic() - begun


@pytest.mark.parametrize(
    ("undisturbed", "overlap", "kills", "last"),
    [
        pytest.param(0, 0, [EARLY, ((2, "local"), 17)], "threads", marks=pytest.mark.long),
        pytest.param(OVERLAP, OVERLAP, [EARLY, ((2, "threads"), 17)], "local", marks=pytest.mark.long),
        (OVERLAP, OVERLAP, [((2, "threads"), 17)], "threads"),
    ],
    indirect=["undisturbed"],
    ids=["rounds", "going on in processes", "once"],
)
def test_a_killed_screen_ends_in_the_same_table(
    processes: Any,
    small_target: Any,
    undisturbed: tuple[Path, float],
    overlap: int,
    kills: list[tuple[tuple[int, str], int]],
    last: str,
    tmp_path: Path,
) -> None:
    """Every day in its first round: what is killed twice, or in worker processes, takes seconds more."""
    folder = tmp_path / "screen"
    for way, wanted in kills:
        killed_at(wanted, screened(processes, small_target, folder, way, overlap), folder)
    found = len(lines(folder / DOCKINGS))
    assert found < small_screen.SEARCHES * (small_screen.START + small_screen.ROUNDS * small_screen.PER_ROUND)
    process = screened(processes, small_target, folder, (2, last), overlap)
    process.join()
    assert process.exitcode == 0
    check_same(folder, undisturbed[0])
    said = folder.with_suffix(".said").read_text()
    assert f"going on with the screen in '{folder}': {found} dockings found" in said
    assert "random start: 8 of 8 docked" in said
    assert "; 16 of 16 were on disk" in said


@pytest.mark.long
@pytest.mark.own_cluster
@pytest.mark.parametrize("undisturbed", [OVERLAP], indirect=True)
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_screen_killed_here_goes_on_on_a_cluster(
    processes: Any, small_target: Any, undisturbed: tuple[Path, float], backend: str, tmp_path: Path
) -> None:
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    folder = tmp_path / "screen"
    killed_at(5, screened(processes, small_target, folder, WAYS[0], OVERLAP), folder)
    process = screened(processes, small_target, folder, (2, backend), OVERLAP)
    process.join()
    assert process.exitcode == 0
    check_same(folder, undisturbed[0])


@pytest.mark.long
@pytest.mark.parametrize("undisturbed", [OVERLAP], indirect=True)
def test_a_screen_killed_twenty_times_ends_in_the_same_table(
    processes: Any, small_target: Any, undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    draw = random.Random(os.environ.get("CELLMILL_SEED", "1"))
    kills = survived = 0
    stages = set()
    folder = tmp_path / "screen-0"
    while kills < 20:
        process = screened(processes, small_target, folder, draw.choice(WAYS), OVERLAP)
        wanted = len(lines(folder / DOCKINGS)) + draw.randrange(4)
        while process.is_alive() and len(lines(folder / DOCKINGS)) < wanted:
            process.join(0.01)
        process.join(draw.uniform(0.0, undisturbed[1] / 10))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            kills += 1
            stages.add(len(lines(folder / DOCKINGS)))
        else:  # it came to its end: the next one is killed from its beginning on
            assert process.exitcode == 0
            check_same(folder, undisturbed[0])
            survived += 1
            folder = tmp_path / f"screen-{survived}"
    process = screened(processes, small_target, folder, WAYS[0], OVERLAP)
    process.join()
    assert len(stages) > 3, "the kills come at different times"
    check_same(folder, undisturbed[0])


def test_what_was_written_is_found_again(small_target: Any, ledger: Ledger) -> None:
    rows = [Docked("C", -1.25, "pose\nof é", seconds=0.5), Docked("CC", reason="no pose fits the box")]
    for row in rows:
        ledger.write(row)
    several = replace(rows[0], score=-1.5, poses=((-1.5, "pose"), (-1.0, "another")))
    ledger.write(several, Search(7, 8, poses=2))
    picks = [Pick("C"), Pick("CC", -3.25)]
    ledger.write_plan(1, {"count": 2}, picks)
    ledger.close()
    again = open_ledger(ledger.folder, small_target, DockSettings())
    assert again.found("C") == rows[0]
    failed = again.found("CC")
    assert failed is not None
    assert (failed.reason, math.isnan(failed.score)) == (rows[1].reason, True)
    assert again.found("C", Search(7, 8, poses=2)) == several
    assert again.found("C", Search(7)) is None
    assert [pick.smiles for pick in again.plan(1, {"count": 2})] == ["C", "CC"]
    assert math.isnan(again.plan(1, {})[0].predicted)
    assert again.plan(1, {})[1].predicted == -3.25
    assert again.notes == [
        f"going on with the screen in '{ledger.folder}': 3 dockings found (1 failed), 1 round chosen"
    ]
    again.close()


@pytest.mark.parametrize("end", ['{"seed":null,"smiles":"CC","sco', "\n", "\0\0\0"])
def test_a_last_line_that_is_not_whole_is_dropped(small_target: Any, ledger: Ledger, end: str) -> None:
    ledger.write(Docked("C", -1.0, "pose"))
    ledger.close()
    path = ledger.folder / DOCKINGS
    whole = path.read_text()
    path.write_text(whole + end)
    again = open_ledger(ledger.folder, small_target, DockSettings())
    assert "not written to its end: it is done again" in again.notes[-1]
    assert path.read_text() == whole
    again.write(Docked("CCC", -2.0, "pose"))
    again.close()
    assert [row["smiles"] for row in lines(path)] == ["C", "CCC"]


def test_damage_before_the_end_is_named(small_target: Any, ledger: Ledger) -> None:
    ledger.write(Docked("C", -1.0, "pose"))
    ledger.close()
    path = ledger.folder / DOCKINGS
    path.write_text('{"smiles": \n' + path.read_text())
    with pytest.raises(DockingInputError, match=r"Line 1 of '.*dockings.jsonl' is damaged"):
        open_ledger(ledger.folder, small_target, DockSettings())


def test_other_settings_are_refused_with_the_difference(small_target: Any, ledger: Ledger) -> None:
    folder = ledger.folder
    ledger.agree_on_library([Entry(1, "C")], seed=1)
    ledger.write_plan(0, {"count": 1}, [Pick("C")])
    ledger.close()
    with pytest.raises(
        DockingInputError,
        match=r"docking exhaustiveness 1 there, 8 here\. Give another folder, or begin again .* with --fresh\.",
    ):
        open_ledger(folder, small_target, DockSettings(exhaustiveness=8), how="--fresh")
    moved = replace(small_target, box=Box((0.0, 0.28, 10.63), (12.0, 12.0, 12.0)))
    with pytest.raises(
        DockingInputError, match=r"receptor box center \[2\.82, .*\] there, \[0\.0, .*\] here"
    ):
        open_ledger(folder, moved, DockSettings())
    again = open_ledger(folder, small_target, DockSettings())
    with pytest.raises(DockingInputError, match="library rows 1 there, 2 here"):
        again.agree_on_library([Entry(1, "C"), Entry(2, "CC")], seed=1)
    with pytest.raises(DockingInputError, match="choice seed 1 there, 2 here"):
        again.agree_on_library([Entry(1, "C")], seed=2)
    again.agree({"score": {"searches": 2}})
    assert again.searches == 2
    with pytest.raises(DockingInputError, match="score searches 2 there, 3 here"):
        again.agree({"score": {"searches": 3}})
    with pytest.raises(DockingInputError, match="round 0 was chosen with count 1, here it is 5"):
        again.plan(0, {"count": 5})
    again.close()


def test_versions_matter_where_scores_depend_on_them(small_target: Any, ledger: Ledger) -> None:
    ledger.close()
    path = ledger.folder / SETTINGS
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"versions": told["versions"] | {"cellmill": "0.0.1"}}))
    again = open_ledger(ledger.folder, small_target, DockSettings())
    assert any("versions cellmill 0.0.1 there" in note for note in again.notes)
    again.close()
    path.write_text(json.dumps(told | {"versions": told["versions"] | {"vina": "1.1"}}))
    with pytest.raises(DockingInputError, match=r"versions vina 1\.1 there"):
        open_ledger(ledger.folder, small_target, DockSettings())


def test_a_folder_of_an_earlier_form_is_refused(small_target: Any, ledger: Ledger) -> None:
    ledger.close()
    path = ledger.folder / SETTINGS
    told = json.loads(path.read_text())
    del told["format"]
    path.write_text(json.dumps(told))
    row = {"seed": None, "smiles": "C", "score": -1.0, "pose": "pose", "reason": "", "seconds": 1.0}
    (ledger.folder / DOCKINGS).write_text(json.dumps(row) + "\n")
    with pytest.raises(
        DockingInputError, match=r"of another version .* begin again in this one with --fresh"
    ):
        open_ledger(ledger.folder, small_target, DockSettings(), how="--fresh")
    fresh = open_ledger(ledger.folder, small_target, DockSettings(), fresh=True)
    assert len(fresh) == 0
    fresh.close()


def test_an_older_folder_of_the_same_kind_of_dockings_goes_on(small_target: Any, ledger: Ledger) -> None:
    """Folders told neither tautomers nor overlap once, and the number of searches beside the seed."""
    ledger.agree_on_library([Entry(1, "C")], seed=1)
    ledger.close()
    path = ledger.folder / SETTINGS
    told = json.loads(path.read_text())
    del told["docking"]["tautomers"]
    told["choice"]["searches"] = 2
    path.write_text(json.dumps(told))
    row = {
        "search": {"number": 1, "exhaustiveness": 0, "poses": 1},
        "smiles": "C",
        "score": -1.0,
        "pose": "pose",
    }
    (ledger.folder / DOCKINGS).write_text(json.dumps(row | {"reason": "", "seconds": 1.0}) + "\n")
    plan = {"round": 1, "rule": {"count": 1, "how": "greedy"}, "picks": [["C", -1.5]]}
    (ledger.folder / ROUNDS).write_text(json.dumps(plan) + "\n")
    with pytest.raises(DockingInputError, match="docking tautomers 1 there, 2 here"):
        open_ledger(ledger.folder, small_target, DockSettings())
    again = open_ledger(ledger.folder, small_target, DockSettings(tautomers=1))
    again.agree_on_library([Entry(1, "C")], seed=1)
    assert again.searches == 2
    with pytest.raises(DockingInputError, match="score searches 2 there, 3 here"):
        again.agree({"score": {"searches": 3}})
    found = again.found("C", Search(1))
    assert found is not None
    assert (found.score, found.form, found.poses) == (-1.0, "", ())
    rule = {"count": 1, "how": "greedy", "overlap": 0, "beyond_size": False}
    assert again.plan(1, rule) == [Pick("C", -1.5)]
    with pytest.raises(DockingInputError, match="round 1 was chosen with overlap 0, here it is 2"):
        again.plan(1, rule | {"overlap": 2})
    again.close()


def test_dockings_of_unknown_settings_are_refused(small_target: Any, ledger: Ledger) -> None:
    ledger.write(Docked("C", -1.0, "pose"))
    ledger.close()
    (ledger.folder / SETTINGS).write_text("{")
    with pytest.raises(DockingInputError, match="it is not known with which settings"):
        open_ledger(ledger.folder, small_target, DockSettings())
    (ledger.folder / SETTINGS).unlink()
    with pytest.raises(DockingInputError, match=r"no screen\.json tells"):
        open_ledger(ledger.folder, small_target, DockSettings())


def test_a_fresh_screen_sets_the_former_one_aside(small_target: Any, ledger: Ledger) -> None:
    ledger.write(Docked("C", -1.0, "pose"))
    (ledger.folder / "hits.csv").write_text("former")
    other = DockSettings(exhaustiveness=8)
    fresh = open_ledger(ledger.folder, small_target, other, fresh=True)
    with pytest.raises(DockingInputError, match="opened again"):
        ledger.write(Docked("CC", -1.0, "pose"))
    assert len(fresh) == 0
    assert not (ledger.folder / "hits.csv").exists()
    for name, text in zip(RECEPTOR_FILES, (small_target.pdb, small_target.pdbqt), strict=True):
        assert (ledger.folder / name).read_text() == text
    fresh.close()
    former = open_ledger(ledger.folder / "former", small_target, DockSettings())
    assert len(former) == 1, "it can go on there"
    assert (ledger.folder / "former" / "hits.csv").read_text() == "former"
    former.close()


def _holds(folder: Path, receptor: Any, told: Any) -> None:
    ledger = open_ledger(folder, receptor, DockSettings())
    ledger.write(Docked("C", -1.0, "pose"))
    told.send(os.getpid())
    signal.pause()


def test_a_second_process_is_refused_until_the_first_is_dead(
    processes: Any, small_target: Any, tmp_path: Path
) -> None:
    here, there = processes.Pipe()
    first = processes.Process(target=_holds, args=(tmp_path, small_target, there))
    first.start()
    number = here.recv()
    with pytest.raises(DockingInputError, match=rf"Another process works in .*\(process {number} on "):
        open_ledger(tmp_path, small_target, DockSettings())
    first.kill()
    first.join()
    ledger = open_ledger(tmp_path, small_target, DockSettings())
    assert len(ledger) == 1
    assert str(os.getpid()) in (tmp_path / LOCK).read_text()
    ledger.close()


def test_what_failed_outside_of_docking_is_tried_again(small_target: Any, ledger: Ledger) -> None:
    import cellmill

    asked: list[str] = []
    with cellmill.Executor(backend="inline") as executor:

        def dock(smiles: str, search: Search) -> Docked:
            asked.append(smiles)
            if smiles == "CC" and asked.count("CC") == 1:
                raise ImportError("no vina here")
            return Docked(smiles, -1.0, "pose")

        kept = ledger.keeping(cellmill.parallel(executor=executor)(dock))
        first = list(kept.map(["C", "CC", "CCC"]))
        assert [isinstance(outcome, Docked) for outcome in first] == [True, False, True]
        assert [outcome.smiles for outcome in kept.map(["CCC", "CC", "C"])] == ["CCC", "CC", "C"]
        assert asked == ["C", "CC", "CCC", "CC"]
        assert kept.docked == 4
    assert sorted(row["smiles"] for row in lines(ledger.folder / DOCKINGS)) == ["C", "CC", "CCC"]
    assert lines(ledger.folder / ROUNDS) == []
