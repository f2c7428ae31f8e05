"""A whole small screen in a process of its own, for tests that kill it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docking.records import Final

BRIEF = 8_000
"""Evaluations of a search: some hundredths of a second."""
START, ROUNDS, PER_ROUND, SEARCHES = 8, 2, 2, 2
FINAL = Final(top=2, exhaustiveness=2, searches=2)
MOLECULES = (
    "NCc1ccccc1", "Oc1ccccc1", "Cc1ccncc1", "c1ccc2[nH]ccc2c1", "Nc1ccccn1", "Oc1ccncc1", "Cc1ccccc1C", "NCc1ccco1",
    "c1ccc2ncccc2c1", "Cc1cc[nH]n1", "OCc1ccccc1", "NC(=O)c1ccccc1", "Clc1ccccc1", "OB(O)c1ccccc1", "Cc1ccc(CN)cc1",
    "Oc1ccc(F)cc1", "Nc1ccc(Cl)cc1", "c1ccsc1", "Cc1nccs1", "O=C1CCCN1", "OC1CCCCC1", "NC1CCCCC1", "COc1ccccc1",
    "N#Cc1ccccc1",
)  # fmt: skip
"""Small, so that they dock at once; one of them is a row with a reason, as Vina knows no boron."""


def run(
    receptor: Any, folder: Path, workers: int, backend: str, overlap: int, said: Path | None = None
) -> None:
    """Screen :data:`MOLECULES` in ``folder`` and write the results."""
    import cellmill
    from docking.dock import docking_task
    from docking.inputs import PRELOADED
    from docking.ledger import open_ledger
    from docking.library import check
    from docking.outputs import write_csv, write_predictions, write_sdf
    from docking.records import DockSettings, Entry
    from docking.screen import Screen

    library = check([Entry(row, smiles, f"m{row}") for row, smiles in enumerate(MOLECULES, start=1)])
    settings = DockSettings(spacing=0.6, evaluations=BRIEF)
    ledger = open_ledger(folder, receptor, settings)
    lines = list(ledger.notes)
    preload = PRELOADED if backend == "local" else ()  # once for both workers: it takes seconds
    with cellmill.Executor(workers, backend=backend, preload=preload) as executor:
        cellmill.set_default_executor(executor)
        dock = docking_task(receptor, settings)
        screen = Screen(library, dock, 0, SEARCHES, ledger=ledger, overlap=overlap)
        screen.run(START, ROUNDS, PER_ROUND, say=lines.append)
        screen.rescore(FINAL)
        write_csv(screen, folder / "hits.csv")
        write_sdf(screen, folder / "hits.sdf")
        write_predictions(screen, folder / "predictions.csv")
    ledger.close()
    if said is not None:
        said.write_text("\n".join(lines))
