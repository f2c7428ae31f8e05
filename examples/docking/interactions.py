"""Which residues hold the ligand, and how: a ProLIF fingerprint of a pose, drawn in two dimensions and
offline.

Source: Bouysset and Fiorucci, J. Cheminform. 13, 72 (2021). ProLIF's own diagram loads a script from the
network, so the picture here is RDKit's drawing of the ligand with the residues around it.
"""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem
from rdkit.Chem.Draw import rdMolDraw2D

from docking.ligand import pose_to_mol
from docking.receptor import Receptor, coordinates
from docking.records import Docked

COLORS = {
    "HBDonor": "#1f6feb", "HBAcceptor": "#1f6feb", "Cationic": "#d9480f", "Anionic": "#d9480f",
    "CationPi": "#d9480f", "PiCation": "#d9480f", "PiStacking": "#7b3fb3", "FaceToFace": "#7b3fb3",
    "EdgeToFace": "#7b3fb3", "XBDonor": "#0f8a5f", "XBAcceptor": "#0f8a5f", "Hydrophobic": "#8a6d3b",
}  # fmt: skip
LABELS = {
    "HBDonor": "H-bond donor", "HBAcceptor": "H-bond acceptor", "Cationic": "ionic", "Anionic": "ionic",
    "CationPi": "cation-pi", "PiCation": "cation-pi", "PiStacking": "pi stacking",
    "FaceToFace": "pi stacking", "EdgeToFace": "pi stacking", "XBDonor": "halogen bond",
    "XBAcceptor": "halogen bond", "Hydrophobic": "hydrophobic",
}  # fmt: skip
STRENGTH = tuple(COLORS)
"""Interactions in the order in which one is picked when a residue has several."""
ATOMS = {
    7: (0.1, 0.25, 0.9), 8: (0.8, 0.1, 0.05), 9: (0.0, 0.47, 0.47), 15: (0.75, 0.35, 0.0), 16: (0.5, 0.42, 0.0),
    17: (0.0, 0.5, 0.1), 35: (0.55, 0.25, 0.1), 53: (0.45, 0.1, 0.6),
}  # fmt: skip
"""Colours of elements: RDKit's cyan and yellow cannot be read on white, nor where a page turns it to dark."""
LABEL_WIDTH = 108
SITE_RADIUS = 9.0
"""Angstrom: residues with an atom this near to the ligand are looked at."""


Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Contact:
    """One interaction: ``residue`` (such as ASP129.A), ``kind`` (ProLIF's name), ligand ``atoms``,
    distance (A), and its ``ends`` in the receptor's frame: on the ligand, on the residue."""

    residue: str
    kind: str
    atoms: tuple[int, ...]
    distance: float
    ends: tuple[Point, Point]


def contacts(receptor: Receptor, docked: Docked) -> tuple[Chem.Mol, list[Contact]]:
    """The docked molecule (with hydrogens) and its interactions with the receptor, sorted by residue and
    kind."""
    with warnings.catch_warnings(record=True), rdBase.BlockLogs():
        import prolif

        ligand = pose_to_mol(docked.pose)
        site = Chem.MolFromPDBBlock(_site(receptor, ligand), removeHs=False, sanitize=False)
        _charge_carboxylates(site)
        Chem.SanitizeMol(site, catchErrors=True)
        fingerprint = prolif.Fingerprint(
            [kind for kind in COLORS if kind not in ("FaceToFace", "EdgeToFace")]
        )
        data = fingerprint.generate(
            prolif.Molecule.from_rdkit(ligand), prolif.Molecule.from_rdkit(site), metadata=True
        )
    found = []
    for (_ligand, residue), kinds in data.items():
        for kind, hits in kinds.items():
            nearest = min(hits, key=lambda hit: float(hit["distance"]))
            atoms = tuple(int(index) for index in nearest["parent_indices"]["ligand"])
            ends = (_end(ligand, atoms), _end(site, nearest["parent_indices"]["protein"]))
            found.append(Contact(str(residue), kind, atoms, float(nearest["distance"]), ends))
    return ligand, sorted(found, key=lambda contact: (contact.residue, STRENGTH.index(contact.kind)))


def contact_table(found: list[Contact]) -> Any:
    """The interactions as a pandas DataFrame: residue, interaction, distance (A)."""
    import pandas

    rows = [(c.residue, LABELS[c.kind], round(c.distance, 2)) for c in found]
    return pandas.DataFrame(rows, columns=["residue", "interaction", "distance (Å)"]).set_index("residue")


def diagram(ligand: Chem.Mol, found: list[Contact], *, width: int = 760, height: int = 520) -> str:
    """A two-dimensional interaction diagram as SVG text: the ligand, and each residue at the atoms it
    touches."""
    flat, heavy = _flat(ligand)
    strongest = _strongest(found)
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    drawer.drawOptions().padding = 0.24
    drawer.drawOptions().clearBackground = False
    drawer.drawOptions().updateAtomPalette(ATOMS)
    anchors_of = {c.residue: [heavy[a] for a in c.atoms if a in heavy] or [0] for c in strongest}
    touched = {atom: _rgb(COLORS[c.kind]) for c in reversed(strongest) for atom in anchors_of[c.residue]}
    drawer.DrawMolecule(
        flat, highlightAtoms=list(touched), highlightAtomColors=touched, highlightBonds=[],
    )  # fmt: skip
    points = {i: drawer.GetDrawCoords(i) for i in range(flat.GetNumAtoms())}
    drawer.FinishDrawing()
    anchors = {
        c.residue: (
            float(np.mean([points[i].x for i in anchors_of[c.residue]])),
            float(np.mean([points[i].y for i in anchors_of[c.residue]])),
        )
        for c in strongest
    }
    labels, lines = _around(strongest, anchors, width, height)
    body = str(drawer.GetDrawingText())
    body = body[body.index("<svg") :]  # without the XML declaration, whose encoding is not ours
    head = f"<rect width='{width}' height='{height}' fill='white'/>" + "".join(lines)
    opened = body.index(">", body.index("<svg")) + 1
    return (
        body[:opened]
        + head
        + body[opened:].replace("</svg>", "".join(labels) + _legend(strongest, height) + "</svg>")
    )


def _end(mol: Chem.Mol, atoms: Sequence[int]) -> Point:
    """Where to draw an interaction's end: the middle of a ring, else the heavy atom that comes first."""
    heavy = [int(index) for index in atoms if mol.GetAtomWithIdx(int(index)).GetAtomicNum() > 1]
    positions = np.asarray(mol.GetConformer().GetPositions())
    chosen = heavy if len(heavy) > 3 else heavy[:1] or [int(atoms[0])]
    x, y, z = positions[chosen].mean(axis=0).round(3).tolist()
    return x, y, z


def _flat(ligand: Chem.Mol) -> tuple[Chem.Mol, dict[int, int]]:
    """The ligand without hydrogens in 2-D, and from each of its atoms (hydrogens too) to the heavy atom
    drawn."""
    for atom in ligand.GetAtoms():
        atom.SetIntProp("index in pose", atom.GetIdx())
    flat = Chem.RemoveHs(ligand)
    flat.RemoveAllConformers()
    AllChem.Compute2DCoords(flat)
    heavy = {atom.GetIntProp("index in pose"): atom.GetIdx() for atom in flat.GetAtoms()}
    for atom in ligand.GetAtoms():
        if atom.GetIdx() not in heavy:
            for neighbor in atom.GetNeighbors():
                if neighbor.GetIdx() in heavy:
                    heavy[atom.GetIdx()] = heavy[neighbor.GetIdx()]
    return flat, heavy


def _strongest(found: list[Contact]) -> list[Contact]:
    """One contact per residue: the most specific kind."""
    best: dict[str, Contact] = {}
    for contact in found:
        known = best.get(contact.residue)
        if known is None or STRENGTH.index(contact.kind) < STRENGTH.index(known.kind):
            best[contact.residue] = contact
    return list(best.values())


def _around(
    shown: list[Contact], anchors: dict[str, tuple[float, float]], width: int, height: int
) -> tuple[list[str], list[str]]:
    """Residue labels spread over an ellipse in the order of their atoms' directions, and dashed lines to
    the atoms."""
    cx, cy = width / 2, height / 2 - 12
    order = sorted(
        shown, key=lambda c: (math.atan2(anchors[c.residue][1] - cy, anchors[c.residue][0] - cx), c.residue)
    )
    wanted = [math.atan2(anchors[c.residue][1] - cy, anchors[c.residue][0] - cx) for c in order]
    apart = max(0.42, (LABEL_WIDTH + 12) / (width / 2 - 62))
    angles = _spread(wanted, min(apart, 2 * math.pi / max(1, len(order))))
    labels, lines = [], []
    for contact, angle in zip(order, angles, strict=True):
        x, y = cx + (width / 2 - 62) * math.cos(angle), cy + (height / 2 - 46) * math.sin(angle)
        ax, ay = anchors[contact.residue]
        color = COLORS[contact.kind]
        lines.append(
            f"<line x1='{ax:.1f}' y1='{ay:.1f}' x2='{x:.1f}' y2='{y:.1f}' stroke='{color}' "
            "stroke-width='1.6' stroke-dasharray='5 4'/>"
        )
        text = f"{contact.residue.split('.')[0]} {contact.distance:.1f} Å"
        labels.append(
            f"<rect x='{x - LABEL_WIDTH / 2:.1f}' y='{y - 12:.1f}' width='{LABEL_WIDTH}' height='23' rx='11' "
            f"fill='white' stroke='{color}' stroke-width='1.6'/>"
            f"<text x='{x:.1f}' y='{y + 4:.1f}' font-family='sans-serif' font-size='12.5' "
            f"text-anchor='middle' fill='{color}'>{html.escape(text)}</text>"
        )
    return labels, lines


def _spread(angles: list[float], gap: float) -> list[float]:
    """Sorted ``angles`` pushed apart until neighbours, also across the end of the circle, are ``gap``
    apart."""
    placed = list(angles)
    count = len(placed)
    for _ in range(200 if count > 1 else 0):
        for i in range(count):
            j = (i + 1) % count
            turn = 2 * math.pi if j == 0 else 0.0
            missing = gap - (placed[j] + turn - placed[i])
            if missing > 1e-6:
                placed[i] -= missing / 2
                placed[j] += missing / 2
    return placed


def _legend(shown: list[Contact], height: int) -> str:
    kinds = dict.fromkeys(
        (LABELS[c.kind], COLORS[c.kind]) for c in sorted(shown, key=lambda c: STRENGTH.index(c.kind))
    )
    parts, x = [], 14
    for label, color in kinds:
        parts.append(
            f"<circle cx='{x}' cy='{height - 14}' r='5' fill='{color}'/><text x='{x + 10}' y='{height - 10}' "
            f"font-family='sans-serif' font-size='12' fill='#1f2933'>{label}</text>"
        )
        x += 30 + 7 * len(label)
    return "".join(parts)


def _site(receptor: Receptor, ligand: Chem.Mol) -> str:
    """PDB text of the whole residues near the ligand."""
    lines = [line for line in receptor.pdb.splitlines() if line.startswith(("ATOM", "HETATM"))]
    positions = np.asarray(ligand.GetConformer().GetPositions())
    atoms = coordinates(receptor.pdb)
    distances = np.linalg.norm(atoms[:, None, :] - positions[None, :, :], axis=2).min(axis=1)
    near = {line[21:27] for line, distance in zip(lines, distances, strict=True) if distance <= SITE_RADIUS}
    return "\n".join(line for line in lines if line[21:27] in near) + "\nEND\n"


def _charge_carboxylates(site: Chem.Mol) -> None:
    """Give the bare oxygens of carboxylates their charge, which a PDB file does not tell."""
    for atom in site.GetAtoms():
        if atom.GetSymbol() != "O" or atom.GetDegree() != 1:
            continue
        (bond,) = atom.GetBonds()
        if bond.GetBondType() == Chem.BondType.SINGLE and bond.GetOtherAtom(atom).GetSymbol() == "C":
            atom.SetFormalCharge(-1)


def _rgb(color: str) -> tuple[float, float, float, float]:
    r, g, b = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b, 0.35
