"""The commands beside a screen: a library docked completely, and the controls that are made with one."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from docking import options
from docking.inputs import library_of, receptor_of, settings_of, use_backend


def complete(arguments: Sequence[str]) -> int:
    """``python -m docking complete``: dock every molecule of a library, and write the table of their scores."""
    from docking.complete import run
    from docking.dock import docking_task
    from docking.ledger import open_ledger
    from docking.progress import on_terminal

    p = argparse.ArgumentParser(
        prog="python -m docking complete",
        description="Dock every molecule of a library, for a table that a screen can be held against.",
    )
    options.add_receptor(p)
    options.add_molecules(p)
    options.add_forms(p.add_argument_group("in which forms a molecule is docked"))
    p.add_argument(
        "--searches",
        type=options.positive,
        default=1,
        metavar="N",
        help="independent searches of each molecule, of which the best counts (default %(default)s)",
    )
    options.add_effort(p)
    options.add_place(p, Path("complete"))
    p.add_argument(
        "--table", type=Path, help="where the table goes (default: complete.csv.gz in the folder of results)"
    )
    given = p.parse_args(arguments)
    command = shlex.join(["python", "-m", "docking", "complete", *arguments])
    given.out.mkdir(parents=True, exist_ok=True)
    receptor, _reference = receptor_of(given)
    use_backend(given)
    with on_terminal() as ticker:
        library = library_of(given, ticker.say)
        settings = settings_of(given)
        ledger = open_ledger(given.out, receptor, settings, fresh=given.fresh, how="--fresh")
        for note in ledger.notes:
            ticker.say(note)
        run(
            library,
            docking_task(receptor, settings),
            ledger,
            given.table or given.out / "complete.csv.gz",
            command=command,
            seed=given.seed,
            searches=given.searches,
            say=ticker.say,
        )
    ledger.close()
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"complete": complete}
"""What may stand behind ``python -m docking``."""
