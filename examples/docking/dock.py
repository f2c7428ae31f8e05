"""Docking one ligand with AutoDock Vina: one engine with its maps per worker, one CPU, a fixed seed.

Source: Eberhardt et al., J. Chem. Inf. Model. 61, 3891 (2021). A Vina object does not pickle and its maps
take seconds, so a worker makes one :class:`Engine` and keeps it; what travels is SMILES in and a
:class:`Docked` out.
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import Any

import cellmill
from docking.domain import LigandError
from docking.forms import forms_of
from docking.ligand import prepare
from docking.receptor import Receptor
from docking.records import Docked, DockSettings

DEFAULTS = DockSettings()


class Engine:
    """A Vina object with the maps of one receptor; not for sharing between processes or threads."""

    def __init__(self, receptor: Receptor, settings: DockSettings = DEFAULTS) -> None:
        from vina import Vina

        self.settings = settings
        self._vina = Vina(sf_name="vina", cpu=1, seed=settings.seed, verbosity=0)
        with tempfile.TemporaryDirectory(prefix="docking-") as folder:
            path = Path(folder) / "receptor.pdbqt"
            path.write_text(receptor.pdbqt)
            self._vina.set_receptor(str(path))
        box = receptor.box
        self._vina.compute_vina_maps(list(box.center), list(box.size), spacing=settings.spacing)

    def dock_pdbqt(self, ligand: str) -> tuple[float, str]:
        """(score in kcal/mol, best pose as PDBQT text) of a ligand given as PDBQT text."""
        self._vina.set_ligand_from_string(ligand)
        effort = {"exhaustiveness": self.settings.exhaustiveness, "max_evals": self.settings.evaluations}
        self._vina.dock(n_poses=1, **effort)
        energies = self._vina.energies(n_poses=1)
        return float(energies[0][0]), str(self._vina.poses(n_poses=1))

    def dock(self, smiles: str, conformer_seed: int | None = None) -> Docked:
        """Dock one molecule, each of its forms, and keep the best; what goes wrong is the reason of its row.

        The score is rounded to 1e-4 kcal/mol. A positive one means that no pose fits the box, and is
        rejected.
        """
        start = time.monotonic()
        seed = self.settings.seed if conformer_seed is None else conformer_seed
        best, reason, docked = (math.inf, "", ""), "", 0
        try:
            forms = forms_of(smiles, self.settings)
        except Exception as error:  # one molecule's trouble must not end the run
            return Docked(smiles, reason=_reason(error), seconds=time.monotonic() - start)
        for form in forms.smiles:
            try:
                best = min(best, (*self.dock_pdbqt(prepare(form, seed)), form))
                docked += 1
            except Exception as error:
                reason = reason or _reason(error)
        score, pose, form = best
        seconds = time.monotonic() - start
        if not pose:
            return Docked(smiles, reason=reason or "Vina gave no score", seconds=seconds)
        if not math.isfinite(score) or score > 0:
            return Docked(smiles, reason=f"no pose fits the box (score {score:+.1f})", seconds=seconds)
        return Docked(smiles, round(score, 4), pose, seconds=seconds, form=form, note=forms.note(docked))


def docking_task(receptor: Receptor, settings: DockSettings = DEFAULTS, *, timeout: float = 600.0) -> Any:
    """A parallel function ``dock(smiles, conformer_seed=None) -> Docked``; every worker makes one engine.

    A worker killed by native code costs one retry of that ligand, then only that ligand.
    """

    @cellmill.per_worker
    def engine() -> Engine:
        return Engine(receptor, settings)

    @cellmill.parallel(retries=1, timeout=timeout, name="dock")
    def dock(smiles: str, conformer_seed: int | None = None) -> Docked:
        docked: Docked = engine().dock(smiles, conformer_seed)
        return docked

    return dock


def gather(smiles: list[str], outcomes: Any) -> list[Docked]:
    """The outcomes of ``dock.map(smiles, return_exceptions=True)`` as rows: a failed task is a row with
    its reason."""
    rows = []
    for text, outcome in zip(smiles, outcomes, strict=True):
        if isinstance(outcome, Docked):
            rows.append(outcome)
        else:
            rows.append(Docked(text, reason=_reason(getattr(outcome, "error", outcome))))
    return rows


def _reason(error: BaseException) -> str:
    first = next(iter(str(error).strip().splitlines()), "")
    if isinstance(error, LigandError):
        return first
    return f"{type(error).__name__}: {first[:160]}"
