"""The pose in its pocket, in three dimensions and offline: py3Dmol with the 3Dmol.js of this package.

Source: Rego and Koes, Bioinformatics 31, 1322 (2015). ``static/3Dmol-min.js`` is version 2.5.5
(BSD-3-Clause).
"""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem

from docking.ligand import pose_to_mol
from docking.receptor import Receptor, coordinates
from docking.records import Docked
from docking.reference import Reference

SCRIPT = Path(__file__).with_name("static") / "3Dmol-min.js"
POCKET_RADIUS = 5.0
"""Angstrom: residues with an atom this near to the ligand are drawn as sticks."""


def view_pose(
    receptor: Receptor,
    docked: Docked,
    reference: Reference | None = None,
    *,
    width: int = 760,
    height: int = 480,
) -> Any:
    """A py3Dmol view of ``docked`` (orange) in the pocket, with the reference ligand (thin, green) when
    given."""
    import py3Dmol

    ligand = pose_to_mol(docked.pose)
    view = py3Dmol.view(width=width, height=height, js=script_url())
    view.addModel(receptor.pdb, "pdb")
    view.setStyle({"model": 0}, {"cartoon": {"color": "#b8c4d0", "opacity": 0.75}})
    for chain, number in pocket_residues(receptor, ligand):
        selection = {"model": 0, "chain": chain, "resi": number}
        view.addStyle(selection, {"stick": {"radius": 0.12, "colorscheme": "whiteCarbon"}})
    view.addModel(Chem.MolToMolBlock(ligand), "mol")
    view.setStyle({"model": 1}, {"stick": {"radius": 0.2, "colorscheme": "orangeCarbon"}})
    if reference is not None:
        view.addModel(reference.molblock, "mol")
        view.setStyle({"model": 2}, {"stick": {"radius": 0.09, "colorscheme": "greenCarbon"}})
    view.setStyle({"model": 0, "elem": "H"}, {})
    view.zoomTo({"model": 1})
    view.zoom(0.85)
    return view


def pocket_residues(
    receptor: Receptor, ligand: Chem.Mol, radius: float = POCKET_RADIUS
) -> list[tuple[str, int]]:
    """(chain, residue number) of the residues with an atom within ``radius`` angstrom of the ligand,
    sorted."""
    lines = [line for line in receptor.pdb.splitlines() if line.startswith(("ATOM", "HETATM"))]
    atoms = coordinates(receptor.pdb)
    positions = np.asarray(ligand.GetConformer().GetPositions())
    distances = np.linalg.norm(atoms[:, None, :] - positions[None, :, :], axis=2).min(axis=1)
    near = [line for line, distance in zip(lines, distances, strict=True) if distance <= radius]
    return sorted({(line[21].strip(), int(line[22:26])) for line in near})


@cache
def script_url() -> str:
    """3Dmol.js as a data URL: a page that holds it needs neither a network nor a file beside it."""
    return "data:text/javascript;base64," + base64.b64encode(SCRIPT.read_bytes()).decode("ascii")
