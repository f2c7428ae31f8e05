"""The sanity check before any screen: can docking find the known pose of the known ligand again?

The protocol is the one of the screen: the best of as many independent searches as each molecule has. One search is luck
(1.8 to 7.4 angstrom at low exhaustiveness), so more are made than the screen has, and they tell in how many draws of
that number the known pose is found. Success is a heavy-atom RMSD of at most 2 angstrom.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rdkit import Chem
from rdkit.Chem import rdMolAlign

from docking.ligand import pose_to_mol
from docking.records import Docked, DockingInputError, Search, Verdict
from docking.reference import Reference
from docking.searches import search_each

SUCCESS_RMSD = 2.0
"""Angstrom: the usual criterion for a reproduced pose."""
HALF = 0.5
"""Part of the draws that have to find the known pose: less is luck."""


@dataclass(frozen=True, slots=True)
class Redocked:
    """All ``dockings``, their ``rmsds`` (angstrom, nan where one failed), and the index ``best`` of the lowest energy
    among the first ``searches``, which are the check: each molecule of the screen has as many."""

    dockings: tuple[Docked, ...]
    rmsds: tuple[float, ...]
    best: int
    searches: int

    @property
    def rmsd(self) -> float:
        """RMSD of the pose of lowest energy, angstrom."""
        return self.rmsds[self.best]

    @property
    def pose(self) -> Docked:
        """The docking of lowest energy."""
        return self.dockings[self.best]

    @property
    def success(self) -> bool:
        """Whether the known pose was found again."""
        return self.rmsd <= SUCCESS_RMSD

    @property
    def lowest_rmsd(self) -> float:
        """RMSD of the pose of lowest energy of all searches, angstrom."""
        rows = zip(self.dockings, self.rmsds, strict=True)
        return min((docking.score, rmsd) for docking, rmsd in rows if docking.ok)[1]

    @property
    def state(self) -> str:
        """``reproduced``, or ``seldom`` where less than half of the draws are and the best of all searches is, or
        ``failed``."""
        if self.success and self.share >= HALF:
            return "reproduced"
        return "seldom" if self.success or self.lowest_rmsd <= SUCCESS_RMSD else "failed"

    def __str__(self) -> str:
        verdict = "reproduced" if self.success else "NOT reproduced"
        if self.state != "reproduced":
            verdict += ": distrust the scores, or search each molecule more often"
        told = f"{self.pose.score:.2f} kcal/mol, RMSD {self.rmsd:.2f} A ({verdict})"
        if len(self.dockings) > self.searches:
            found = f"{100 * self.share:.0f} % of the draws of {self.searches} out of {len(self.dockings)} searches"
            told += f"; {found} reproduce it"
            if not self.success and self.lowest_rmsd <= SUCCESS_RMSD:
                told += f", and the best of all does (RMSD {self.lowest_rmsd:.2f} A)"
        return told

    def lines(self) -> list[str]:
        """What each search found, a line each."""
        rows = zip(self.dockings, self.rmsds, strict=True)
        return [
            f"search {number}: "
            + (f"{d.score:.2f} kcal/mol, {rmsd:.2f} A from the known pose" if d.ok else d.reason)
            for number, (d, rmsd) in enumerate(rows, start=1)
        ]

    def sdf(self) -> str:
        """The best pose of each search, with its score (kcal/mol), RMSD (angstrom) and number, best score first."""
        text = io.StringIO()
        writer = Chem.SDWriter(text)
        rows = zip(self.dockings, self.rmsds, range(1, len(self.rmsds) + 1), strict=True)
        for docked, rmsd, number in sorted((row for row in rows if row[0].ok), key=lambda row: row[0].score):
            mol = pose_to_mol(docked.pose)
            for name, value in (("score", docked.score), ("rmsd", rmsd)):
                mol.SetProp(name, f"{value:.2f}")
            mol.SetIntProp("search", number)
            writer.write(mol)
        writer.close()
        return text.getvalue()

    def verdict(self, name: str) -> Verdict:
        """What this says of a screen; ``name``: of the reference."""
        doubt = {
            "failed": "distrust: the known pose was NOT found again",
            "seldom": f"unsure: the known pose is found in {100 * self.share:.0f} % of the checks",
        }.get(self.state, "")
        return Verdict(self.state, f"redocked {name}: {self}", doubt)

    @property
    def share(self) -> float:
        """Of all draws of ``searches`` out of the dockings, the part whose lowest energy is the known pose."""
        usable = sorted(
            (docking.score, rmsd)
            for docking, rmsd in zip(self.dockings, self.rmsds, strict=True)
            if docking.ok
        )
        drawn = min(self.searches, len(usable))
        draws = math.comb(len(usable), drawn)
        found = sum(
            math.comb(len(usable) - 1 - place, drawn - 1)
            for place, (_score, rmsd) in enumerate(usable)
            if rmsd <= SUCCESS_RMSD
        )
        return found / draws


def pose_rmsd(pose: str, reference: Reference) -> float:
    """Symmetry-corrected heavy-atom RMSD in angstrom between a docked pose and the reference, without
    alignment."""
    docked, known = Chem.RemoveHs(pose_to_mol(pose)), reference.mol()
    try:
        return float(rdMolAlign.CalcRMS(_comparable(docked), _comparable(known)))
    except (
        RuntimeError
    ):  # a charge has moved double bonds, as in amidines: which atoms are bonded is the same
        return float(rdMolAlign.CalcRMS(_comparable(docked, bonds=False), _comparable(known, bonds=False)))


def _comparable(mol: Chem.Mol, *, bonds: bool = True) -> Chem.Mol:
    """``mol`` without charges, which differ between the forms of a molecule; without the kinds of bonds on demand."""
    bare = Chem.RWMol(mol)
    for atom in bare.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
        if not bonds:
            atom.SetIsAromatic(False)
    for bond in bare.GetBonds() if not bonds else ():
        bond.SetBondType(Chem.BondType.SINGLE)
        bond.SetIsAromatic(False)
    return bare.GetMol()


def redock(dock: Any, reference: Reference, *, searches: int = 6, at_least: int = 0) -> Redocked:
    """Dock ``reference`` with the parallel function ``dock`` by as many ``searches`` as a molecule of the screen has;
    ``at_least`` so many are made, to tell how sure the result is."""
    numbers = [Search(number) for number in range(max(searches, at_least))]
    (rows,) = search_each(dock, [(reference.smiles, numbers)])
    return judge(rows, reference, searches)


def judge(dockings: Sequence[Docked], reference: Reference, searches: int = 0) -> Redocked:
    """The RMSD of every docking, and the one of lowest energy among the first ``searches`` (0: all); raises when none
    of these succeeded."""
    searches = searches or len(dockings)
    rmsds = tuple(pose_rmsd(d.pose, reference) if d.ok else math.nan for d in dockings)
    usable = [index for index, docking in enumerate(dockings[:searches]) if docking.ok]
    if not usable:
        reason = dockings[0].reason if dockings else "no search was asked for"
        raise DockingInputError(f"The reference ligand {reference.name} did not dock: {reason}")
    best = min(usable, key=lambda index: (dockings[index].score, index))
    return Redocked(tuple(dockings), rmsds, best, searches)
