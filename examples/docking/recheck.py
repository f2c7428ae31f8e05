"""The claims of a finished screen, computed again from the files that it left, by other code than the screen's own.

``summary.json`` tells the claims; ``hits.csv`` and ``rounds.jsonl`` are what they are about.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from docking.records import DockingInputError

TOLERANCE = 0.0011
"""By which a figure may differ that both sides round to three digits."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Files:
    """What a screen left: its ``summary``, and the ``rows`` that docked, in the order in which they were begun."""

    folder: Path
    summary: dict[str, Any]
    rows: list[Row]

    @classmethod
    def of(cls, folder: Path) -> Files:
        """Read a folder; raises :class:`DockingInputError` where it holds no finished screen."""
        try:
            summary = json.loads((folder / "summary.json").read_text())
            with (folder / "hits.csv").open(newline="") as file:
                found = {row["smiles"]: row for row in csv.DictReader(file) if row.get("score")}
            plans = [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]
        except (OSError, ValueError) as error:
            raise DockingInputError(f"'{folder}' holds no finished screen: {error}") from error
        order = [smiles for plan in plans for smiles, _predicted in plan["picks"]]
        return cls(folder, summary, [_numbers(found[smiles]) for smiles in order if smiles in found])

    def start(self) -> list[Row]:
        """The random start."""
        return [row for row in self.rows if row["round"] == 0]

    def chosen(self) -> list[Row]:
        """What the rounds chose."""
        return [row for row in self.rows if row["round"] > 0]


def contradictions(files: Files) -> list[str]:
    """What the claims of a screen say that its files do not; empty where they agree."""
    wrong = []
    for claim in files.summary["claims"]:
        expected = _reading(claim)
        if claim["reading"].split(":")[0].split(" than ")[0] != expected:
            wrong.append(f"{claim['claim']}: reads '{claim['reading']}', its interval says '{expected}'")
        if claim["value"] is not None and claim["low"] is not None and not _inside(claim):
            wrong.append(f"{claim['claim']}: {claim['value']} lies outside of its interval")
        again = _again(files, claim["claim"], claim["n"])
        if again is not None and not _same(again, claim["value"]):
            wrong.append(f"{claim['claim']}: {claim['value']}, from the files {again:.4f}")
    verdict, rmsd = files.summary["redock"], files.summary["redock_rmsd"]
    if verdict == "reproduced" and not float(rmsd) <= 2.0:
        wrong.append(f"the reference is told to be reproduced with an RMSD of {rmsd}")
    if verdict == "failed" and float(rmsd) <= 2.0:
        wrong.append(f"the reference is told to be missed with an RMSD of {rmsd}")
    return wrong


def table(folders: Sequence[Path]) -> list[str]:
    """The main figures of finished screens as lines of a table in Markdown, and what their files contradict."""
    lines = [
        "| screen | redocked, RMSD | surrogate less size alone | chosen less random, kcal/mol | more of the best |"
    ]
    lines.append("|---|---|---|---|---|")
    wrong = []
    for folder in folders:
        files = Files.of(folder)
        told = {claim["claim"]: claim for claim in files.summary["claims"]}
        cells = [
            _figure(told, "surrogate less size alone: difference of rank correlations"),
            _figure(told, "chosen less random: difference of mean scores"),
            _figure(told, "reaching the best 10 % of the random start: chosen against random, ratio"),
        ]
        redocked = f"{files.summary['redock']}, {files.summary['redock_rmsd']} Å"
        lines.append(f"| {folder.name} | {redocked} | {' | '.join(cells)} |")
        wrong += [f"{folder}: {text}" for text in contradictions(files)]
    return [*lines, "", *(wrong or ["Computed again from the files, every claim is as it is told."])]


def _figure(told: dict[str, Row], name: str) -> str:
    claim = told.get(name)
    if claim is None or claim["value"] is None:
        return "none"
    if claim["low"] is None:
        return f"{claim['value']:.2f} (too few)"
    return f"{claim['value']:.2f} [{claim['low']:.2f}, {claim['high']:.2f}], {claim['reading'].split(':')[0]}"


def _reading(claim: Row) -> str:
    """The beginning of what a claim may say, from its interval alone."""
    name, low, high = claim["claim"], claim["low"], claim["high"]
    if name.startswith("size alone"):
        return ""
    if low is None:
        return "too few molecules to tell from chance"
    chance = 1.0 if name.endswith("ratio") else 0.0
    if low <= chance <= high:
        return f"includes {'zero' if chance == 0 else '1'}"
    good = claim["value"] < chance if name.startswith("chosen less") else claim["value"] > chance
    return "more" if good else "less"


def _again(files: Files, name: str, n: int) -> float | None:
    """A figure from the files; None where they do not tell it."""
    start, chosen = files.start(), files.chosen()
    if match := re.match(r"round (\d+): rank correlation", name):
        return _spearman([row for row in chosen if row["round"] == int(match[1])], n, "predicted")
    formulas: dict[str, Callable[[], float]] = {
        "all rounds: rank correlation of": lambda: _spearman(chosen, n, "predicted"),
        "size alone": lambda: -_spearman(start[:n], n, "heavy_atoms"),
        "chosen less random: difference": lambda: _mean(chosen) - _mean(start),
        "chosen less random of the same size (line": lambda: _mean(chosen) - _by_line(start, chosen),
        "reaching the best": lambda: _ratio(chosen, start),
    }
    for beginning, formula in formulas.items():
        if name.startswith(beginning):
            return formula()
    return None


def _spearman(rows: list[Row], n: int, column: str) -> float:
    if len(rows) != n:
        raise DockingInputError(f"A claim is about {n} molecules; the files have {len(rows)}.")
    values = [row[column] for row in rows], [row["score"] for row in rows]
    if n < 3 or min(np.ptp(each) for each in values) == 0:
        return 0.0
    return float(spearmanr(*values).statistic)


def _mean(rows: list[Row]) -> float:
    return float(np.mean([row["score"] for row in rows]))


def _by_line(start: list[Row], chosen: list[Row]) -> float:
    """The mean score of molecules of the sizes of ``chosen`` by a line through ``start``."""
    line = np.polyfit([row["heavy_atoms"] for row in start], [row["score"] for row in start], 1)
    return float(np.mean(np.polyval(line, [row["heavy_atoms"] for row in chosen])))


def _ratio(chosen: list[Row], start: list[Row]) -> float:
    limit = np.quantile([row["score"] for row in start], 0.1)
    parts = [np.mean([row["score"] <= limit for row in rows]) for rows in (chosen, start)]
    return float(parts[0] / parts[1])


def _same(again: float, told: float | None) -> bool:
    if told is None or math.isnan(again):
        return told is None and math.isnan(again)
    return abs(again - told) <= TOLERANCE


def _inside(claim: Row) -> bool:
    return bool(claim["low"] - TOLERANCE <= claim["value"] <= claim["high"] + TOLERANCE)


def _numbers(row: dict[str, str]) -> Row:
    told: Row = dict(row)
    told["round"], told["heavy_atoms"] = int(row["round"]), int(row["heavy_atoms"])
    told["score"] = float(row["score"])
    told["predicted"] = float(row["predicted"]) if row["predicted"] else math.nan
    return told
