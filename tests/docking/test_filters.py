"""Contacts of every hit by real ProLIF, and what is required of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem

import cellmill
from docking import outputs
from docking.filters import as_text, contacts_task, requirements
from docking.ligand import to_pdbqt
from docking.records import Docked, DockingInputError, Entry, Final
from docking.report import write_report
from docking.screen import Hit, Screen
from tests.docking.quick_screen import QuickDock
from tests.docking.test_report import _moved


@pytest.fixture(scope="module")
def pose(tutorial: Any) -> str:
    return to_pdbqt(Chem.AddHs(tutorial[1].mol(), addCoords=True))


@pytest.fixture
def inline() -> Iterator[None]:
    with cellmill.Executor(backend="inline") as executor:
        cellmill.set_default_executor(executor)
        yield
        cellmill.set_default_executor(None)


def screened(pose: str, smiles: str) -> Screen:
    """A screen of the known pose and of a better score elsewhere."""
    entries = [Entry(1, smiles, "known"), Entry(2, "CCO", "elsewhere"), Entry(3, "CCN", "failed")]
    docked = [
        Docked(smiles, -9.0, pose),
        Docked("CCO", -10.0, _moved(pose)),
        Docked("CCN", reason="no pose fits the box"),
    ]
    hits = [Hit(entry, row, 0) for entry, row in zip(entries, docked, strict=True)]
    return Screen(entries, QuickDock(pose=_moved(pose)), hits=hits)


def test_what_lacks_a_required_contact_is_no_hit(
    inline: None, tutorial: Any, pose: str, tmp_path: Path
) -> None:
    receptor, reference = tutorial
    screen = screened(pose, reference.smiles)
    assert [hit.entry.name for hit in screen.ranked()] == ["elsewhere", "known"]
    screen.require = requirements(["ionic:ASP129"], receptor)
    find = contacts_task(receptor)
    screen.find_contacts(find)
    assert [hit.entry.name for hit in screen.ranked()] == ["known"]
    outputs.write_csv(screen, tmp_path / "hits.csv")
    with (tmp_path / "hits.csv").open() as file:
        known, failed, elsewhere = csv.DictReader(file)
    assert {"ionic:ASP129.A", "hydrophobic:PHE330.B"} <= set(known["contacts"].split())
    assert (known["rank"], known["redock"], known["reason"]) == ("1", "unchecked", "")
    assert failed["reason"] == "no pose fits the box"
    assert (elsewhere["rank"], elsewhere["reason"]) == ("", "lacks ionic:ASP129")
    assert elsewhere["score"] == "-10.0"
    screen.rescore(Final(top=1))
    screen.find_contacts(find)
    assert screen.ranked() == [], "the better pose of the final round is elsewhere"
    write_report(screen, receptor, tmp_path / "report.html", workers=1)
    page = (tmp_path / "report.html").read_text()
    assert "No molecule that docked has ionic:ASP129." in page
    assert ">0</b><span>with ionic:ASP129<" in page


def test_contacts_that_cannot_be_found_meet_nothing(inline: None, tutorial: Any, pose: str) -> None:
    receptor, reference = tutorial
    screen = screened("no pose", reference.smiles)
    screen.find_contacts(contacts_task(receptor))
    assert len(screen.ranked()) == 2, "nothing is required"
    screen.require = requirements(["hydrophobic"], receptor)
    screen.find_contacts(contacts_task(receptor))
    assert screen.ranked() == []
    assert outputs.rejected_rows(screen)[-1]["reason"] == "lacks contacts: they could not be found"


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("ionic:ASP129", True),
        ("IONIC:asp129.A", True),
        ("ASP129", True),
        ("hydrophobic", True),
        ("halogen", False),
        ("ionic:PHE330", False),
        ("ionic:ASP129.B", None),
    ],
)
def test_a_requirement_names_a_kind_or_a_residue_or_both(
    tutorial: Any, pose: str, text: str, met: bool | None
) -> None:
    from docking.interactions import contacts

    if met is None:
        with pytest.raises(DockingInputError, match=r"has no ASP129\.B; 129 is ASP129\.A"):
            requirements([text], tutorial[0])
        return
    _ligand, found = contacts(tutorial[0], Docked("", pose=pose))
    (required,) = requirements([text], tutorial[0])
    assert required.met(found) is met
    assert all(requirements([each], tutorial[0])[0].met(found) for each in as_text(found).split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hbond:ASP128", "the receptor has no ASP128; 128 is SER128.A"),
        ("hbond:ASP9999", "there is no residue 9999"),
        ("water:ASP129", "a kind of contact that there is not: give one of hbond, hbond-donor,"),
        ("anything", "names no kind of contact .* and no residue, such as ASP129"),
        ("hbond:", "names no kind of contact"),
    ],
)
def test_what_there_is_not_is_refused(tutorial: Any, text: str, message: str) -> None:
    with pytest.raises(DockingInputError, match=message):
        requirements([text], tutorial[0])
