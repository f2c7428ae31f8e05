"""The pose in its pocket and its contacts, both without a network."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rdkit import Chem

from docking import interactions, pose3d
from docking.records import Docked, Selection


@pytest.fixture(scope="module")
def reference_pose(tutorial: Any) -> Docked:
    """The known pose of the tutorial's ligand as if it had been docked."""
    from docking.ligand import to_pdbqt

    _receptor, reference = tutorial
    return Docked(reference.smiles, -11.0, to_pdbqt(Chem.AddHs(reference.mol(), addCoords=True)))


def test_the_known_pose_shows_the_salt_bridge_to_asp129(tutorial: Any, reference_pose: Docked) -> None:
    _ligand, found = interactions.contacts(tutorial[0], reference_pose)
    kinds = {(contact.residue, contact.kind) for contact in found}
    assert ("ASP129.A", "Cationic") in kinds
    assert any(residue.startswith("PHE330") for residue, _kind in kinds)
    table = interactions.contact_table(found)
    assert (table["distance (Å)"] < 6.0).all()


def test_metals_and_waters_do_not_disturb_the_contacts(
    pocket: list[str], prepared: Any, reference_pose: Docked
) -> None:
    zinc = "HETATM 9001 ZN    ZN A 401       1.200  -2.600  16.400  1.00 20.00          ZN"
    water = "HETATM 9002  O   HOH A 501       6.000   0.000  14.000  1.00 20.00           O"
    receptor = prepared([*pocket, zinc, water], selection=Selection(keep=("waters",)))
    _ligand, found = interactions.contacts(receptor, reference_pose)
    assert ("ASP129.A", "Cationic") in {(contact.residue, contact.kind) for contact in found}
    assert "HETATM" in pose3d.view_pose(receptor, reference_pose)._make_html()


def test_the_diagram_names_each_residue_once_and_needs_no_network(
    tutorial: Any, reference_pose: Docked
) -> None:
    ligand, found = interactions.contacts(tutorial[0], reference_pose)
    svg = interactions.diagram(ligand, found)
    assert svg.startswith("<svg")
    for residue in {contact.residue for contact in found}:
        assert len(re.findall(rf">{residue.split('.')[0]} ", svg)) == 1
    assert not re.search(r"(src|href)=['\"]https?:", svg)


@pytest.mark.parametrize("size", [{}, {"width": 560, "height": 440}])
def test_labels_do_not_overlap(tutorial: Any, reference_pose: Docked, size: dict[str, int]) -> None:
    ligand, found = interactions.contacts(tutorial[0], reference_pose)
    svg = interactions.diagram(ligand, found, **size)
    boxes = [
        (float(x), float(y)) for x, y in re.findall(r"<rect x='([-\d.]+)' y='([-\d.]+)' width='108'", svg)
    ]
    assert len(boxes) > 4
    for i, (x, y) in enumerate(boxes):
        assert all(abs(x - a) > 100 or abs(y - b) > 20 for a, b in boxes[i + 1 :])


def test_no_contacts_still_make_a_picture(tutorial: Any, reference_pose: Docked) -> None:
    ligand, _found = interactions.contacts(tutorial[0], reference_pose)
    assert interactions.diagram(ligand, []).startswith("<svg")


def test_the_view_carries_its_script(tutorial: Any, reference_pose: Docked) -> None:
    receptor, reference = tutorial
    page = pose3d.view_pose(receptor, reference_pose, reference)._make_html()
    assert "data:text/javascript;base64," in page
    assert "cdn" not in page.split("base64,")[0]
    assert "jsdelivr" not in page


def test_the_pocket_is_what_lies_near(tutorial: Any, reference_pose: Docked) -> None:
    from docking.ligand import pose_to_mol

    residues = pose3d.pocket_residues(tutorial[0], pose_to_mol(reference_pose.pose))
    assert ("A", 129) in residues
    assert 10 < len(residues) < 60
