"""What the arguments of a command name: the receptor, the molecules, the settings and where tasks run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from docking.records import Box, DockingInputError, DockSettings, Selection, Verdict, unchecked

# What tasks of a screen need: imported once before workers are forked, where 64 of them would import it 64 times.
PRELOADED = (
    *("rdkit.Chem.AllChem", "meeko", "vina", "sklearn.ensemble", "sklearn.linear_model"),
    *("docking.dock", "docking.screen"),
)


def use_backend(options: argparse.Namespace) -> Any:
    """Have the tasks of this screen run where they are meant to; returns the executor."""
    import cellmill

    try:
        preload = PRELOADED if options.backend == "local" else ()
        executor = cellmill.Executor(options.workers, backend=options.backend, preload=preload)
    except (cellmill.BackendError, cellmill.UsageError) as error:
        raise DockingInputError(str(error)) from error
    cellmill.set_default_executor(executor)
    return executor


def receptor_of(options: argparse.Namespace) -> tuple[Any, Any]:
    """The prepared receptor, and the reference ligand to redock, where there is one whose bonds are known."""
    from docking.receptor import load_complex

    box = Box(tuple(options.box[:3]), tuple(options.box[3:])) if options.box else None
    chains = tuple(name.strip() for name in options.chains.split(",") if name.strip())
    return load_complex(
        options.receptor,
        box=box,
        reference=options.reference,
        smiles=options.reference_smiles,
        selection=Selection(chains, options.model, tuple(options.keep), tuple(options.leave_out)),
        cache_folder=options.out,
    )


def library_of(options: argparse.Namespace, say: Callable[[str], None]) -> Any:
    """The molecules of the file, or generated ones; ``say`` is told what was found out about them."""
    from docking.library import generate, read_library

    if options.ligands:
        return read_library(options.ligands, say)
    say(f"{options.generate:,} molecules are made")
    return generate(options.generate, options.seed)


def settings_of(options: argparse.Namespace) -> DockSettings:
    """How a molecule is docked."""
    return DockSettings(
        options.exhaustiveness,
        options.seed + 41,
        evaluations=options.evaluations,
        ph=None if options.as_given else options.ph,
        isomers=options.isomers,
        tautomers=options.tautomers,
    )


def redocked_of(dock: Any, reference: Any, options: argparse.Namespace, searches: int) -> tuple[Any, Verdict]:
    """The redocked reference, None where it was not done; and what that says of this screen, in a line."""
    from docking.redock import redock

    if not options.conformers:
        return None, unchecked("--conformers 0")
    if reference is None and not options.reference:
        return None, unchecked("there is no reference ligand, so nothing shows that docking works here")
    if reference is None:
        return None, unchecked("the bonds of the reference are not known")
    result = redock(dock, reference, searches=searches, at_least=options.conformers)
    return result, result.verdict(reference.name)
