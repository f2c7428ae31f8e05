"""A redocking that failed is shown beside all that a screen tells afterwards."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from docking import controls, outputs, plots
from docking.records import Entry, Final, Verdict
from docking.screen import Screen
from tests.docking.quick_screen import QuickDock

DOUBT = "distrust: the known pose was NOT found again"
FAILED = Verdict("failed", "redocked known: -9.00 kcal/mol, RMSD 7.40 A (NOT reproduced)", DOUBT)


def test_a_failed_redocking_stands_beside_every_figure(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(screen, "verdict", FAILED)
    outputs.write_csv(screen, tmp_path / "hits.csv")
    with (tmp_path / "hits.csv").open() as file:
        assert {row["redock"] for row in csv.DictReader(file)} == {"failed"}
    assert set(outputs.table(screen)["redock"]) == {"failed"}
    told = outputs.write_summary(
        screen, tmp_path / "summary.json", redock_rmsd=7.4, warnings=(), tasks=0, seconds=0.0
    )
    assert json.loads((tmp_path / "summary.json").read_text()) == told
    assert (told["redock"], told["redock_rmsd"], told["redock_in_words"]) == ("failed", 7.4, FAILED.words)
    for draw in (plots.predicted_against_docked, plots.score_distributions, plots.progress_curves):
        assert DOUBT in draw(screen).get_supxlabel(), draw.__name__
    assert DOUBT in plots.top_grid(screen, 3)
    claims = controls.sentences(screen)[: len(controls.claims(screen))]
    assert all(line.endswith(f"({DOUBT})") for line in claims)


def test_a_failed_redocking_stands_beside_every_line_of_a_run(library: list[Entry]) -> None:
    said: list[str] = []
    screen = Screen(library, QuickDock(), seed=4, verdict=FAILED)
    screen.run(start=12, rounds=1, per_round=3, say=said.append)
    said.append(outputs.final_line(screen, screen.rescore(Final(top=2))))
    figures = [line for line in said if any(character.isdigit() for character in line)]
    assert len(figures) > 4
    assert all(line.endswith(f"({DOUBT})") for line in figures), figures
