"""The commands beside a screen: a library docked completely, and the controls that are made with one."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docking import options
from docking.folder import make_folder
from docking.inputs import library_of, receptor_of, redocked_of, settings_of, use_backend
from docking.records import DockingInputError

if TYPE_CHECKING:
    from docking.receptor import Receptor


@contextmanager
def _dockings(given: argparse.Namespace, receptor: Receptor, say: Callable[[str], None]) -> Iterator[Any]:
    """What docks into a receptor, and the ledger of the folder, which is closed when all went well; ``say`` is told
    what there is of both.
    """
    from docking.dock import docking_task
    from docking.ledger import open_ledger

    say(f"{receptor}")
    for line in receptor.remarks().splitlines():
        say(f"  {line}")
    settings = settings_of(given)
    ledger = open_ledger(given.out, receptor, settings, fresh=given.fresh, how="--fresh")
    for note in ledger.notes:
        say(note)
    yield docking_task(receptor, settings), ledger
    ledger.close()


def complete(arguments: Sequence[str]) -> int:
    """``python -m docking complete``: dock every molecule of a library, and write the table of their scores."""
    from docking.complete import run
    from docking.progress import on_terminal

    p = argparse.ArgumentParser(
        prog="python -m docking complete",
        description="Dock every molecule of a library, for a table that a screen can be held against.",
    )
    options.add_receptor(p)
    options.add_molecules(p)
    options.add_forms(p.add_argument_group("in which forms a molecule is docked"))
    options.add_number_of_searches(p, 1)
    options.add_effort(p)
    options.add_place(p, Path("complete"))
    p.add_argument(
        "--table", type=Path, help="where the table goes (default: complete.csv.gz in the folder of results)"
    )
    given = p.parse_args(arguments)
    command = shlex.join(["python", "-m", "docking", "complete", *arguments])
    make_folder(given.out)
    receptor, _reference = receptor_of(given)
    use_backend(given)
    with on_terminal() as ticker, _dockings(given, receptor, ticker.say) as (dock, ledger):
        run(
            library_of(given, ticker.say),
            dock,
            ledger,
            given.table or given.out / "complete.csv.gz",
            command=command,
            seed=given.seed,
            searches=given.searches,
            say=ticker.say,
        )
    return 0


def replay(arguments: Sequence[str]) -> int:
    """``python -m docking replay``: screen a completely docked library, and tell how many of the best were found."""
    from docking.acquisition import Acquisition
    from docking.complete import read_table
    from docking.records import ACQUISITIONS
    from docking.replay import SHIPPED, TRUTHS, Plan, told
    from docking.replay import replay as replayed

    p = argparse.ArgumentParser(
        prog="python -m docking replay",
        description="Replay a screen against a completely docked library: recall of the best, and enrichment.",
    )
    p.add_argument(
        "table",
        nargs="?",
        type=Path,
        default=SHIPPED,
        help="a table that 'python -m docking complete' wrote (default: the one that comes with the package)",
    )
    p.add_argument(
        "--start", type=options.positive, default=40, help="random molecules first (default %(default)s)"
    )
    p.add_argument("--rounds", type=options.positive, default=2, help="rounds (default %(default)s)")
    p.add_argument(
        "--per-round", type=options.positive, default=6, help="molecules a round (default %(default)s)"
    )
    p.add_argument("--acquisition", choices=ACQUISITIONS, default="greedy", help="(default %(default)s)")
    p.add_argument(
        "--per-scaffold",
        type=options.count,
        default=3,
        help="of one scaffold at most (default %(default)s; 0: any)",
    )
    options.add_beyond_size(p)
    p.add_argument(
        "--best",
        choices=TRUTHS,
        default=TRUTHS[0],
        help="which molecules are to be found: the best by score, or by score beyond a line through the table for "
        "their size (default %(default)s)",
    )
    options.add_overlap(p)
    p.add_argument("--seeds", type=options.positive, default=10, help="screens (default %(default)s)")
    given = p.parse_args(arguments)
    table = read_table(given.table)
    acquisition = Acquisition(given.acquisition, given.per_scaffold, given.beyond_size)
    plan = Plan(given.start, given.rounds, given.per_round, given.overlap, acquisition)
    outcomes = replayed(table, plan, given.seeds, given.best)
    print("\n".join(told(outcomes, table, plan, given.seeds, given.best)))
    return 0


def retrospective(arguments: Sequence[str]) -> int:
    """``python -m docking retrospective``: dock known actives and decoys, and tell whether scores part them."""
    from docking.complete import dock_all
    from docking.library import read_library
    from docking.progress import on_terminal
    from docking.retrospective import Molecule, measures, together, told, write_ranking

    given = _retrospective_parser().parse_args(arguments)
    make_folder(given.out)
    receptor, reference = receptor_of(given)
    use_backend(given)
    with on_terminal() as ticker, _dockings(given, receptor, ticker.say) as (dock, ledger):
        actives, decoys, both = together(
            read_library(given.actives, ticker.say), read_library(given.decoys, ticker.say)
        )
        if both:
            ticker.say(f"{both} decoys are left out: they are among the actives")
        _result, verdict = redocked_of(ledger.keeping(dock), reference, given, given.searches)
        ticker.say(verdict.words)
        library = [*actives, *decoys]
        docked = dock_all(library, dock, ledger, given.seed, given.searches)
    molecules = [
        Molecule(entry, place < len(actives), row)
        for place, (entry, row) in enumerate(zip(library, docked, strict=True))
    ]
    path = given.out / "retrospective.csv"
    write_ranking(molecules, path)
    lines = [verdict.on(str(measure)) for measure in measures(molecules)]
    print("\n".join([verdict.words, *told(molecules), *lines, f"the ranking is {path}"]))
    return 0


def _retrospective_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m docking retrospective",
        description="Dock known actives and decoys: do scores tell them apart, and better than size does?",
    )
    p.add_argument("actives", help="molecules that bind: SMILES, table or SD file; .gz too")
    p.add_argument("decoys", help="molecules that do not, or are taken not to")
    options.add_receptor(p)
    options.add_forms(p.add_argument_group("in which forms a molecule is docked"))
    options.add_number_of_searches(p, 3)
    p.add_argument(
        "--conformers",
        type=options.count,
        default=6,
        help="searches of the reference at least (0: it is not redocked; default %(default)s)",
    )
    options.add_effort(p)
    options.add_place(p, Path("retrospective"))
    return p


def noise(arguments: Sequence[str]) -> int:
    """``python -m docking noise``: would a higher exhaustiveness bring more than more searches?"""
    from docking.noise import measure, table_of_levels
    from docking.progress import on_terminal
    from docking.screen import random_start

    given = _noise_parser().parse_args(arguments)
    make_folder(given.out)
    receptor, reference = receptor_of(given)
    use_backend(given)
    with on_terminal() as ticker, _dockings(given, receptor, ticker.say) as (dock, ledger):
        probes = random_start(library_of(given, ticker.say), given.seed, given.probes)
        found = {}
        for level in sorted(set(given.levels)):
            ticker.say(f"exhaustiveness {level}")
            found[level] = measure(
                ledger.keeping(dock),
                reference,
                probes,
                conformers=given.searches,
                each=given.searches,
                exhaustiveness=level,
            )
    print("\n".join(table_of_levels(found)))
    return 0


def _noise_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m docking noise",
        description="Search a few molecules again and again: does a higher exhaustiveness "
        "bring more than more searches in the same time?",
    )
    options.add_receptor(p)
    options.add_molecules(p)
    options.add_forms(p.add_argument_group("in which forms a molecule is docked"))
    p.add_argument(
        "--levels",
        type=options.positive,
        nargs="+",
        default=[1, 2, 4],
        help="exhaustiveness of the searches (default: 1 2 4)",
    )
    p.add_argument(
        "--probes",
        type=options.count,
        default=4,
        help="random molecules, beside the reference (default %(default)s)",
    )
    options.add_number_of_searches(p, 12)
    options.add_effort(p)
    options.add_place(p, Path("noise"))
    return p


def redock(arguments: Sequence[str]) -> int:
    """``python -m docking redock``: is the known pose of the reference found again in this box, by these settings?"""
    from docking.folder import replace_file
    from docking.progress import on_terminal
    from docking.redock import redock as redocked

    given = _redock_parser().parse_args(arguments)
    make_folder(given.out)
    receptor, reference = receptor_of(given)
    if reference is None:
        raise DockingInputError(
            "The bonds of the reference are not known: give its SMILES as --reference-smiles, or an SDF file."
            if given.reference
            else "There is no reference to redock: give a ligand with a known pose as --reference."
        )
    use_backend(given)
    with on_terminal() as ticker, _dockings(given, receptor, ticker.say) as (dock, ledger):
        result = redocked(ledger.keeping(dock), reference, searches=given.searches)
    poses = given.out / "redocked.sdf"
    replace_file(poses, result.sdf())
    print("\n".join([*result.lines(), result.verdict(reference.name).words, f"the poses are {poses}"]))
    return int(not result.success)


def _redock_parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m docking redock",
        description="Dock a ligand whose pose is known: is that pose found again? Exits with 1 where it is not.",
    )
    options.add_receptor(p)
    options.add_forms(p.add_argument_group("in which forms the ligand is docked"))
    options.add_number_of_searches(p, 4)
    options.add_effort(p, exhaustiveness=8)
    options.add_place(p, Path("redock"))
    return p


def claims(arguments: Sequence[str]) -> int:
    """``python -m docking claims``: compute the claims of finished screens again from their files."""
    from docking.recheck import Files, contradictions, table

    p = argparse.ArgumentParser(
        prog="python -m docking claims",
        description="Compute the claims of finished screens again from the files they left; 1 where one is untrue.",
    )
    p.add_argument("folder", nargs="+", type=Path, help="folder of results of a screen")
    given = p.parse_args(arguments)
    print("\n".join(table(given.folder)))
    return int(any(contradictions(Files.of(folder)) for folder in given.folder))


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "claims": claims,
    "complete": complete,
    "noise": noise,
    "redock": redock,
    "replay": replay,
    "retrospective": retrospective,
}
"""What may stand behind ``python -m docking``."""
