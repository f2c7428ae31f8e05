"""Two hundred rows of every bad kind: each ends with what can be docked, or with its reason."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest

import cellmill
from docking import outputs
from docking.dock import docking_task
from docking.forms import forms_of
from docking.library import couple, pairs, read_library
from docking.ligand import LigandError, prepare
from docking.records import DockSettings, Entry
from docking.screen import Screen

SALTS = ("Cl", "[Na+].[Cl-]", "OC(=O)C(F)(F)F", "CS(=O)(=O)O", "O", "[K+]", "OC(=O)/C=C/C(=O)O", "ClCCl")
REFUSED = {
    "empty": ("", "   "),
    "text": (
        "aspirin",
        "n/a",
        "#N/A",
        "NULL",
        "0",
        "-",
        "C1CC",
        "c1ccccc",
        "C(C",
        "CC)",
        "=O)C",
        "C%%1",
        "☃",
        "CC\u200bO",
    ),
    "reaction": ("CCO>>CC=O", "CC.O>[Na+]>CCO"),
    "valence": ("CC(C)(C)(C)C", "C=C=C=C(C)C(F)(F)(F)F", "c1cccc1", "FC(F)(F)(F)F", "N(C)(C)(C)C"),
    "element": (
        "OB(O)c1ccccc1",
        "C[Se]c1ccccc1",
        "[Fe]",
        "C[Hg]C",
        "Cl[Pt](Cl)(N)N",
        "CC[Sn](CC)(CC)CC",
        "[U]",
    ),
    "inorganic": ("O", "[Na+].[Cl-]", "N#N", "OS(=O)(=O)O", "[H][H]", "O=O"),
    "radical": ("[CH2]c1ccccc1", "CC1(C)CCCC(C)(C)N1[O]", "[CH3]", "CC[S]"),
    "open": ("*c1ccccc1", "CC(=O)N[*]", "[R1]CC", "C1CC1[*:1]"),
    "size": ("C" * 81, "OCC" * 60, "CC(=O)N" * 40, "C" * 2500, "C" * 45),
}
FULLERENE = (
    "C12=C3C4=C5C6=C1C7=C8C9=C1C%10=C%11C(=C29)C3=C2C3=C4C4=C5C5=C9C6=C7C6=C7C8=C1C1=C8C%10=C%10C%11=C2C2=C3C3=C4C4=C5C5"
    "=C%11C%12=C(C6=C95)C7=C1C1=C%12C5=C%11C4=C3C3=C5C(=C81)C%10=C23"
)
ODD = (
    FULLERENE,
    "c1cc2ccc3ccc4ccc5ccc6ccc1c1c2c3c4c5c61",
    "O=C1CCCCCCCCCCCCCCO1",
    "CC1OC(=O)CCC(C)C(=O)C(C)CC(C)CC(=O)NCC1",
    "C1CC2CCC1C2",
    "C12C3C4C1C5C2C3C45",
    "OCC1OC(OC2C(CO)OC(O)C(O)C2O)C(O)C(O)C1O",
    "CC(C)CC(NC(=O)C(Cc1ccccc1)NC(=O)C(N)CO)C(=O)O",
    "[O-][N+](=O)c1ccc([N+](=O)[O-])cc1",
    "CN(C)(C)=O",
    "C[N+](C)(C)CC([O-])=O",
    "OP(=O)(O)OP(=O)(O)OCC1OC(n2cnc3c(N)ncnc32)C(O)C1O",
    "FS(F)(F)(F)(F)c1ccccc1",
    "C[Si](C)(C)C#Cc1ccccc1",
    "N=C(N)NC(=O)c1nc(Cl)c(N)nc1N",
    "[2H]C([2H])([2H])Oc1ccccc1",
    "[13CH3]c1ccccc1N",
    "InChI=1S/C9H8O4/c1-6(10)13-8-5-3-2-4-7(8)9(11)12/h2-5H,1H3,(H,11,12)",
    "C#CC#CC#C",
    "CCCCCCCCCCCCCCCCCC(=O)O",
    "NCCNCCNCCNCCN",
    "C/C(Cl)=C(/F)Br",
    "CC=C=CC",
    "O=C1c2ccccc2C(=O)c2ccccc21",
    "I",
    "CI",
    "C",
    "[nH]1cccc1",
    "O=c1[nH]cnc2[nH]cnc12",
    "CC(=O)CC(C)=O",
)


@pytest.fixture(scope="module")
def hostile() -> list[tuple[str, str]]:
    """(name, SMILES) of two hundred rows."""
    choose = random.Random(7)
    rows = [
        (f"{kind} {number}", text) for kind, texts in REFUSED.items() for number, text in enumerate(texts)
    ]
    rows += [(f"odd {number}", text) for number, text in enumerate(ODD)]
    good = couple(pairs(200, seed=7))
    while len(rows) < 200:
        text = good.pop()
        kind = choose.choice(("salt", "mixture", "spaces", "repeated", "plain"))
        if kind == "salt":
            parts = [text, *choose.sample(SALTS, choose.randint(1, 2))]
            choose.shuffle(parts)
            text = ".".join(parts)
        elif kind == "mixture":
            text = f"{text}.{good.pop()}"
        elif kind == "spaces":
            text = f"  {text}\t "
        elif kind == "repeated":
            text = choose.choice(rows)[1]
        rows.append((f"{kind} {len(rows)}", text))
    choose.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def library(
    hostile: list[tuple[str, str]], threads: Any, tmp_path_factory: pytest.TempPathFactory
) -> list[Entry]:
    cellmill.set_default_executor(threads)
    path = tmp_path_factory.mktemp("rows") / "hostile.csv"
    with path.open("w", newline="", encoding="utf-16") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(("number", "Name", "SMILES"))
        writer.writerows((number, *row) for number, row in enumerate(hostile))
    return read_library(path)


def fullerene_of(entries: list[Entry]) -> Entry:
    return next(entry for entry in entries if entry.name == "odd 0")


def test_every_row_ends_prepared_or_with_its_reason(
    library: list[Entry], hostile: list[tuple[str, str]], executor: Any
) -> None:
    assert [entry.name for entry in library] == [name for name, _text in hostile]
    assert [entry.row for entry in library] == list(range(2, 202))
    settings = DockSettings()

    def outcome(smiles: str) -> str:
        try:
            return prepare(forms_of(smiles, settings).smiles[0], 1)
        except LigandError as error:
            return f"reason: {error}"

    usable = [entry for entry in library if entry.usable]
    usable.remove(fullerene_of(usable))  # whose rings take 20 s to find: it is docked below
    usual = [entry for entry in usable if not entry.name.startswith("odd")]
    prepared = [entry for entry in usable if entry not in usual] + usual[::4]
    outcomes = dict(
        zip(
            (e.name for e in prepared),
            executor.map(outcome, [e.smiles for e in prepared], return_exceptions=True),
            strict=True,
        )
    )
    for entry in library:
        kind = entry.name.split()[0]
        if kind in REFUSED:
            assert entry.reason, entry
        if entry in prepared:
            text = outcomes[entry.name]
            assert isinstance(text, str), (entry, text)
            assert "ATOM" in text or text.startswith("reason: "), entry
    unprepared = {name: text for name, text in outcomes.items() if "ATOM" not in text}
    assert len(unprepared) <= 3, unprepared
    assert {entry.name.split()[0] for entry in prepared} == {
        "odd",
        "salt",
        "mixture",
        "spaces",
        "repeated",
        "plain",
    }
    assert not [entry for entry in usable if "." in entry.smiles], "salts are stripped"
    assert all(
        entry.note.startswith(("salt", "largest", "one of")) for entry in usable if entry.name[:4] == "salt"
    )
    reasons = {entry.reason.partition(":")[0] for entry in library if entry.reason}
    assert len(reasons) > 12, "each says what it is"
    assert max(map(len, reasons)) < 90


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_every_row_ends_docked_or_with_its_reason(
    library: list[Entry], executor: Any, tutorial: Any, tmp_path: Path
) -> None:
    dock = docking_task(tutorial[0], DockSettings(spacing=0.6, evaluations=2000))
    screen = Screen(library, dock, seed=1)
    screen.dock_start(len(library))
    outputs.write_csv(screen, tmp_path / "hits.csv")
    with (tmp_path / "hits.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["row"]) for row in rows) == list(range(2, 202)), "each row once"
    for row in rows:
        assert bool(row["docked_as"] and float(row["score"]) < 0) is not bool(row["reason"]), row
    assert not [row for row in rows if "Error" in row["reason"]], "a reason is not the name of an exception"
    docked = [row for row in rows if row["rank"]]
    assert len(docked) > 80
    marked = [row["note"].startswith(("large: ", "small: ", "flexible: ", "greasy: ")) for row in docked]
    assert marked == sorted(marked), "what is out of the usual comes last"
    assert sum(marked) > 5


def test_what_is_out_of_the_usual_docks_and_is_ranked_last(
    library: list[Entry], executor: Any, small_target: Any, tmp_path: Path
) -> None:
    fullerene = fullerene_of(library)
    assert fullerene.caution == "large: 60 heavy atoms"
    others = [entry for entry in library if entry.usable and entry.name.startswith("plain")][:3]
    bad = [entry for entry in library if not entry.usable][:5]
    small = [
        Entry(301, "CC(=O)Oc1ccccc1", "phenyl acetate"),
        Entry(302, "CI", "x", "", "", "small: 2 heavy atoms"),
    ]
    dock = docking_task(small_target, DockSettings(spacing=0.6, evaluations=2000))
    screen = Screen([*bad, *others, *small], dock, seed=1)
    screen.dock_start(5)
    assert screen.ranked()[-1].entry.caution
    assert not any(hit.entry.caution for hit in screen.ranked()[:-1])
    outputs.write_csv(screen, tmp_path / "hits.csv")
    with (tmp_path / "hits.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(screen.library)
    assert all(row["docked_as"] or row["reason"] for row in rows)
    assert [row["note"] for row in rows if row["smiles"] == "CI"] == ["small: 2 heavy atoms"]
