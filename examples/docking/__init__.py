"""Structure-based screening of a large library by docking a little and inferring the rest.

The workflow is the one of "ParslDock" (https://github.com/Parsl/parsl-docking-tutorial): dock a few
molecules, train a surrogate on their scores, infer the score of every other molecule, dock the best,
repeat. Here it needs nothing but packages from PyPI: RDKit and meeko prepare the molecules, AutoDock Vina
docks them, scikit-learn learns, ProLIF explains the pose, and cellmill runs the many small tasks.

    python -m docking --receptor protein.pdb --reference ligand.sdf --ligands library.smi --out results
    python -m docking demo --out build/demo
"""

from __future__ import annotations

import importlib.util
import sys

from docking.records import (
    Box,
    Docked,
    DockingInputError,
    DockSettings,
    Entry,
    Final,
    Search,
    Selection,
    Verdict,
    unchecked,
)

__all__ = [
    "Box",
    "DockSettings",
    "Docked",
    "DockingInputError",
    "Entry",
    "Final",
    "Search",
    "Selection",
    "Verdict",
    "require",
    "unchecked",
]

REQUIRED = (
    "rdkit",
    "gemmi",
    "dimorphite_dl",
    "meeko",
    "vina",
    "prolif",
    "sklearn",
    "matplotlib",
    "py3Dmol",
    "pandas",
)


def require(modules: tuple[str, ...] = REQUIRED) -> None:
    """Raise :class:`DockingInputError` naming what is missing and the command that brings it."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        return
    message = f"Missing for docking: {', '.join(missing)}. Install with: pip install 'cellmill[docking]'"
    major, minor = sys.version_info[:2]
    if "vina" in missing and (major, minor) >= (3, 13):
        message = f"AutoDock Vina has no wheel for Python {major}.{minor}; docking needs Python 3.11 or 3.12."
    raise DockingInputError(message)
