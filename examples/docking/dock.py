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
from docking.ligand import canonical, prepare, seed_of
from docking.receptor import Receptor
from docking.records import Docked, DockSettings, Search

DEFAULTS = DockSettings()
ONE = Search()
"""A search as the settings have it."""


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

    def dock_pdbqt(self, ligand: str, search: Search = ONE) -> list[tuple[float, str]]:
        """(score in kcal/mol, pose as PDBQT text) of the poses of a ligand given as PDBQT text, best first."""
        self._vina.set_ligand_from_string(ligand)
        exhaustiveness = search.exhaustiveness or self.settings.exhaustiveness
        self._vina.dock(exhaustiveness, search.poses, max_evals=self.settings.evaluations)
        energies = self._vina.energies(n_poses=search.poses)
        models = self._vina.poses(n_poses=search.poses).split("MODEL ")[1:]
        return [(float(row[0]), f"MODEL {model}") for row, model in zip(energies, models, strict=False)]

    def dock(self, smiles: str, search: Search = ONE) -> Docked:
        """Search for the pose of one molecule, of each of its forms, and keep the best; what goes wrong is the reason
        of its row.

        The score is rounded to 1e-4 kcal/mol. A positive one means that no pose fits the box, and is
        rejected.
        """
        start = time.monotonic()
        try:
            forms = forms_of(canonical(smiles), self.settings)
        except Exception as error:  # one molecule's trouble must not end the run
            return Docked(smiles, reason=_reason(error), seconds=time.monotonic() - start)
        poses: list[tuple[float, str, str]] = []
        reason, docked = "", 0
        for form in forms.smiles:
            try:
                ligand = prepare(form, seed_of(self.settings.seed, form, search))
                poses += [(*pose, form) for pose in self.dock_pdbqt(ligand, search)]
                docked += 1
            except Exception as error:
                reason = reason or _reason(error)
        seconds = time.monotonic() - start
        if not poses:
            return Docked(smiles, reason=reason or "Vina gave no score", seconds=seconds)
        score, pose, form = min(poses)
        if not math.isfinite(score) or score > 0:
            return Docked(smiles, reason=f"no pose fits the box (score {score:+.1f})", seconds=seconds)
        several = sorted((round(value, 4), text) for value, text, _form in poses) if search.poses > 1 else []
        note = forms.note(docked, form)
        return Docked(
            smiles, round(score, 4), pose, seconds=seconds, form=form, note=note, poses=tuple(several)
        )


def docking_task(receptor: Receptor, settings: DockSettings = DEFAULTS, *, timeout: float = 600.0) -> Any:
    """A parallel function ``dock(smiles, search=Search()) -> Docked``; every worker makes one engine.

    A worker killed by native code costs one retry of that search, then only that search.
    """

    @cellmill.per_worker
    def engine() -> Engine:
        return Engine(receptor, settings)

    @cellmill.parallel(retries=1, timeout=timeout, name="dock")
    def dock(smiles: str, search: Search = ONE) -> Docked:
        docked: Docked = engine().dock(smiles, search)
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
