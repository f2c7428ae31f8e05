"""Screening from a shell: ``python -m docking --receptor … --ligands … --box …``, and ``python -m docking
demo``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docking import require
from docking.commands import COMMANDS
from docking.folder import make_folder
from docking.inputs import library_of, receptor_of, redocked_of, settings_of, use_backend
from docking.options import parser
from docking.records import DockingInputError, Final


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a screen, or the demo; 0 when something docked, 1 when nothing could be done, 2 for a wrong
    command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        require()
        if given[0:1] and given[0] in COMMANDS:
            return COMMANDS[given[0]](given[1:])
        if given[:1] == ["demo"]:
            return _demo(given[1:])
        return _screen(parser().parse_args(given))
    except DockingInputError as error:
        print(f"docking: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"docking: {error}; what has docked is kept, and {_again(given)} goes on when that is mended",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print(f"docking: interrupted; what has docked is kept, and {_again(given)} goes on", file=sys.stderr)
        return 130


def _again(given: Sequence[str]) -> str:
    return "the same command with --go-on" if given[:1] == ["demo"] else "the same command"


def _demo(arguments: Sequence[str]) -> int:
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    from docking.demo import run_demo

    p = argparse.ArgumentParser(prog="python -m docking demo", description="Execute the docking notebook.")
    p.add_argument(
        "--out", type=Path, default=Path("build/demo"), help="folder of results (default %(default)s)"
    )
    p.add_argument("--backend", default="", help="where tasks run (default: where the notebook says)")
    p.add_argument(
        "--go-on", action="store_true", help="go on with a demo that was interrupted in the folder"
    )
    options = p.parse_args(arguments)
    try:
        line = run_demo(options.out, backend=options.backend, fresh=not options.go_on)
    except CellExecutionError as error:
        print(f"docking: a cell of the notebook failed; see {options.out}\n{error}", file=sys.stderr)
        return 1
    except DeadKernelError:
        print("docking: the kernel died; the same command with --go-on goes on where it was", file=sys.stderr)
        return 1
    print(line, flush=True)
    return 0


def _screen(options: argparse.Namespace) -> int:
    from docking.acquisition import Acquisition
    from docking.controls import NOTE, dock_same_size, sentences
    from docking.dock import docking_task
    from docking.filters import contacts_task, requirements
    from docking.ledger import open_ledger
    from docking.noise import choose_effort, measure
    from docking.outputs import (
        best_rows,
        busy_line,
        final_line,
        rejected_rows,
        stage_table,
        write_results,
        write_summary,
    )
    from docking.progress import on_terminal
    from docking.report import write_report
    from docking.screen import Screen, random_start

    start = time.monotonic()
    _check_inputs(options)
    receptor, reference = receptor_of(options)
    required = requirements(options.require, receptor)
    executor = use_backend(options)
    with on_terminal() as ticker:
        ticker.say(f"{receptor}")
        for line in receptor.remarks().splitlines():
            ticker.say(f"  {line}")
        library = library_of(options, ticker.say)
        settings = settings_of(options)
        ledger = open_ledger(options.out, receptor, settings, fresh=options.fresh, how="--fresh")
        dock = docking_task(receptor, settings)
        acquisition = Acquisition(options.acquisition, options.per_scaffold, options.beyond_size)
        screen = Screen(library, dock, options.seed, ledger=ledger, acquisition=acquisition)
        screen.require, screen.overlap = required, options.overlap
        for note in ledger.notes:
            ticker.say(note)
        kept = ledger.keeping(dock)
        probed = random_start(library, options.seed, options.start)[: options.probes]
        noise = measure(kept, reference, probed, conformers=options.conformers)
        molecules = options.start + options.rounds * options.per_round
        effort = choose_effort(
            noise, molecules, options.budget, given=options.searches, found=ledger.searches
        )
        ticker.say(effort.sentence)
        redocked, screen.verdict = redocked_of(kept, reference, options, effort.searches)
        ticker.say(screen.verdict.words)
        screen.searches = effort.searches
        screen.run(options.start, options.rounds, options.per_round, say=ticker.say)
        if options.same_size and screen.round:
            ticker.say(dock_same_size(screen, options.same_size))
        find = contacts_task(receptor)
        if required:
            screen.find_contacts(find)
        if options.final:
            ticker.say(final_line(screen, screen.rescore(_final(options))))
        screen.find_contacts(find)
        ticker.say("writing the results")
        stats = executor.stats()
        write_results(screen, options.out)
        write_report(
            screen,
            receptor,
            options.out / "report.html",
            workers=stats.workers,
            reference=reference,
            redocked=redocked,
            effort=effort,
        )
    seconds = time.monotonic() - start
    rmsd = redocked.rmsd if redocked else None
    write_summary(
        screen,
        options.out / "summary.json",
        redock_rmsd=rmsd,
        effort=effort,
        warnings=receptor.warnings,
        tasks=stats.done,
        seconds=seconds,
    )
    ledger.close()
    warnings = [f"WARNING: {text}" for text in receptor.warnings]
    print("\n".join([*warnings, effort.sentence, screen.verdict.words]))
    print(stage_table(screen.clock, stats.workers).to_string())
    print(busy_line(screen, stats.workers))
    _look_back(screen, dock, open_ledger(options.out, receptor, settings), options)
    print("\n".join(["", *sentences(screen), NOTE, ""]))
    print(screen.verdict.on("rank     score  name             SMILES"))
    print("\n".join(best_rows(screen)))
    print(
        f"{len(screen.ranked())} docked, {len(rejected_rows(screen))} rows with a reason, "
        f"{seconds:.0f} s; results in {options.out}, all on one page in {options.out / 'report.html'}"
    )
    return 0


def _look_back(screen: Any, dock: Any, ledger: Any, options: argparse.Namespace) -> None:
    """Tell what the tasks of a finished ``screen`` went through, and what its folder gives when it is read again."""
    import cellmill
    from docking.lookback import journey_table, read_again

    print(journey_table(cellmill.journey_rows()).to_string())
    told = read_again(screen, screen.begun_again(dock, ledger), options.start, options.per_round)
    print(f"read again: {told}")
    ledger.close()


def _check_inputs(options: argparse.Namespace) -> None:
    """Complain about missing files before anything slow starts."""
    if options.ligands and not Path(options.ligands).expanduser().is_file():
        raise DockingInputError(f"No ligand file '{options.ligands}'.")
    if options.final and _final(options).exhaustiveness < options.exhaustiveness:
        raise DockingInputError(
            "--final-exhaustiveness is less than --exhaustiveness: give at least as much."
        )
    if options.start < 1:
        raise DockingInputError("--start must be at least 1: something has to be docked first.")
    make_folder(options.out)


def _final(options: argparse.Namespace) -> Final:
    exhaustiveness = options.final_exhaustiveness or 8 * options.exhaustiveness
    return Final(options.final, exhaustiveness, options.final_searches)


if __name__ == "__main__":
    sys.exit(main())
