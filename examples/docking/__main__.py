"""Screening from a shell: ``python -m docking --receptor … --ligands … --box …``, and ``python -m docking
demo``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from docking import require
from docking.records import ACQUISITIONS, Box, DockingInputError, DockSettings, Selection

EPILOG = """\
examples, run in the folder examples/ or with it on PYTHONPATH:
  python -m docking --receptor 1IEP --chains A --reference STI --ligands library.smi \\
      --reference-smiles "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
  python -m docking --receptor protein.pdb --box 15.6 53.4 15.5 20 20 20 --ligands library.csv --out results
  python -m docking --receptor entry.cif.gz --chains A --keep HOH:A:412 --reference pose.sdf --ligands library.sdf
  python -m docking --receptor tutorial --generate 100000 --backend dask
  python -m docking demo --out build/demo
"""


def parser() -> argparse.ArgumentParser:
    """The command line of a screen."""
    p = argparse.ArgumentParser(
        prog="python -m docking",
        description="Find the best ligands of a large set: dock a few, learn, infer the rest, dock the best.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument(
        "--receptor",
        required=True,
        help="PDB or mmCIF file (.gz too), PDB id, or 'tutorial' (the complex ProLIF ships)",
    )
    _add_pocket(p.add_argument_group("where to dock, and what of the receptor's file is there"))
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--ligands",
        help="SMILES (.smi), table (.csv, .tsv: separator and column are found) or SD file; .gz too",
    )
    what.add_argument("--generate", type=int, metavar="N", help="screen N generated drug-like amides")
    _add_forms(p.add_argument_group("in which forms a molecule is docked"))
    p.add_argument(
        "--start", type=_count, default=40, help="random molecules docked first (default %(default)s)"
    )
    p.add_argument(
        "--rounds", type=_count, default=2, help="rounds of learn, infer, dock (default %(default)s)"
    )
    p.add_argument(
        "--per-round", type=_count, default=6, help="molecules docked a round (default %(default)s)"
    )
    p.add_argument(
        "--acquisition",
        choices=ACQUISITIONS,
        default="greedy",
        help="what a round docks: the best predicted, or with a bonus for doubt, or by a draw (default %(default)s)",
    )
    p.add_argument(
        "--per-scaffold",
        type=_count,
        default=3,
        help="molecules of one scaffold that are chosen over all rounds, at most (0: any number; default %(default)s)",
    )
    _add_means(p)
    return p


def _add_means(p: argparse.ArgumentParser) -> None:
    """How thoroughly, by whom, and where to."""
    p.add_argument("--conformers", type=_count, default=6, help="conformers of the redocking check (0: none)")
    p.add_argument("--exhaustiveness", type=_positive, default=1, help="Vina's (default %(default)s)")
    p.add_argument(
        "--evaluations",
        type=_count,
        default=0,
        help="of each of Vina's searches at most (0: Vina's own rule)",
    )
    p.add_argument("--seed", type=int, default=1, help="same seed, same hits (default %(default)s)")
    p.add_argument("--workers", type=_positive, help="worker processes (default: what this machine allows)")
    p.add_argument(
        "--backend",
        default="local",
        help="where tasks run: local, threads, dask, ray, or the address of a cluster (default %(default)s)",
    )
    p.add_argument(
        "--out",
        type=Path,
        default=Path("screen"),
        help="folder of results (default %(default)s); a screen that was interrupted there goes on",
    )
    p.add_argument(
        "--fresh",
        action="store_true",
        help="begin again; what is in the folder moves to its subfolder former",
    )


def _add_forms(p: argparse._ArgumentGroup) -> None:
    """Protonation and stereo."""
    p.add_argument(
        "--ph", type=float, default=7.4, help="protonate molecules as at this pH (default %(default)s)"
    )
    p.add_argument("--as-given", action="store_true", help="dock molecules with the charges of their SMILES")
    p.add_argument(
        "--isomers",
        type=_count,
        default=4,
        help="stereoisomers docked at most of a molecule whose stereo is open; the best counts "
        "(default %(default)s; 0: one, by chance)",
    )


def _add_pocket(p: argparse._ArgumentGroup) -> None:
    """The box, the reference, and what belongs to the receptor."""
    p.add_argument(
        "--box",
        nargs=6,
        type=float,
        metavar=("CX", "CY", "CZ", "SX", "SY", "SZ"),
        help="centre and size, angstrom (default: around the reference)",
    )
    p.add_argument(
        "--reference",
        help="ligand with a known pose, which is redocked and marks the pocket when there is no --box: "
        "SDF, MOL, MOL2 or PDB file, or a molecule of the receptor's file (STI, A:201, STI:A:201)",
    )
    p.add_argument(
        "--reference-smiles", help="SMILES of a --reference whose file has no bonds (PDB), to redock it"
    )
    p.add_argument("--chains", default="", help="chains of the receptor, such as A,B (default: all)")
    p.add_argument("--model", type=_positive, default=1, help="model of the receptor (default %(default)s)")
    p.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="WHAT",
        help="keep a molecule of the receptor's file: a name (NAD), a place (A:301), both (HOH:A:412), or 'waters' "
        "for those at the pocket; metals and cofactors at the pocket are kept anyway; may be given again",
    )
    p.add_argument(
        "--leave-out", action="append", default=[], metavar="WHAT", help="leave out a metal or cofactor"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a screen, or the demo; 0 when something docked, 1 when nothing could be done, 2 for a wrong
    command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        require()
        if given[:1] == ["demo"]:
            return _demo(given[1:])
        return _screen(parser().parse_args(given))
    except DockingInputError as error:
        print(f"docking: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        how = "the same command with --go-on" if given[:1] == ["demo"] else "the same command"
        print(f"docking: interrupted; what has docked is kept, and {how} goes on", file=sys.stderr)
        return 130


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
    from docking.dock import docking_task
    from docking.ledger import open_ledger
    from docking.outputs import best_rows, rejected_rows, stage_table, write_results, write_summary
    from docking.progress import on_terminal
    from docking.report import write_report
    from docking.screen import Screen

    start = time.monotonic()
    _check_inputs(options)
    receptor, reference = _receptor(options)
    executor = _use_backend(options)
    with on_terminal() as ticker:
        ticker.say(f"{receptor}")
        for line in receptor.remarks().splitlines():
            ticker.say(f"  {line}")
        library = _library(options, ticker.say)
        settings = _settings(options)
        ledger = open_ledger(options.out, receptor, settings, fresh=options.fresh, how="--fresh")
        dock = docking_task(receptor, settings)
        acquisition = Acquisition(options.acquisition, options.per_scaffold)
        screen = Screen(library, dock, options.seed, ledger=ledger, acquisition=acquisition)
        for note in ledger.notes:
            ticker.say(note)
        redocked, verdict = _redock(ledger.keeping(dock), reference, options)
        ticker.say(verdict)
        screen.run(options.start, options.rounds, options.per_round, say=ticker.say)
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
        )
    seconds = time.monotonic() - start
    rmsd = redocked.rmsd if redocked else None
    write_summary(
        screen,
        options.out / "summary.json",
        redock_rmsd=rmsd,
        warnings=receptor.warnings,
        tasks=stats.done,
        seconds=seconds,
    )
    ledger.close()
    print("\n".join([*(f"WARNING: {text}" for text in receptor.warnings), verdict]))
    print(stage_table(screen.clock, stats.workers).to_string())
    print("rank     score  name             SMILES")
    print("\n".join(best_rows(screen)))
    print(
        f"{len(screen.ranked())} docked, {len(rejected_rows(screen))} rows with a reason, "
        f"{seconds:.0f} s; results in {options.out}, all on one page in {options.out / 'report.html'}"
    )
    return 0


def _use_backend(options: argparse.Namespace) -> Any:
    """Have the tasks of this screen run where they are meant to; returns the executor."""
    import cellmill

    try:
        executor = cellmill.Executor(options.workers, backend=options.backend)
    except (cellmill.BackendError, cellmill.UsageError) as error:
        raise DockingInputError(str(error)) from error
    cellmill.set_default_executor(executor)
    return executor


def _check_inputs(options: argparse.Namespace) -> None:
    """Complain about missing files before anything slow starts."""
    if options.ligands and not Path(options.ligands).expanduser().is_file():
        raise DockingInputError(f"No ligand file '{options.ligands}'.")
    if options.start < 1:
        raise DockingInputError("--start must be at least 1: something has to be docked first.")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DockingInputError(f"Cannot write results to '{options.out}': {error.strerror}.") from error


def _receptor(options: argparse.Namespace) -> tuple[Any, Any]:
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


def _library(options: argparse.Namespace, say: Callable[[str], None]) -> Any:
    from docking.library import generate, read_library

    if options.ligands:
        return read_library(options.ligands, say)
    say(f"{options.generate:,} molecules are made")
    return generate(options.generate, options.seed)


def _settings(options: argparse.Namespace) -> DockSettings:
    return DockSettings(
        options.exhaustiveness,
        options.seed + 41,
        evaluations=options.evaluations,
        ph=None if options.as_given else options.ph,
        isomers=options.isomers,
    )


def _redock(dock: Any, reference: Any, options: argparse.Namespace) -> tuple[Any, str]:
    """The redocked reference, None where it was not done; and what that says of this screen, in a line."""
    from docking.redock import redock

    if not options.conformers:
        return None, "NOT redocked: --conformers 0"
    if reference is None and not options.reference:
        return None, "NOT redocked: there is no reference ligand, so nothing shows that docking works here"
    if reference is None:
        return None, "NOT redocked: the bonds of the reference are not known"
    result = redock(dock, reference, conformers=options.conformers)
    verdict = (
        "reproduced" if result.success else "NOT reproduced: distrust the scores, or dock more exhaustively"
    )
    rmsd = f"RMSD {result.rmsd:.2f} A"
    return result, f"redocked {reference.name}: {result.pose.score:.2f} kcal/mol, {rmsd} ({verdict})"


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def _positive(text: str) -> int:
    value = _count(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is not enough")
    return value


if __name__ == "__main__":
    sys.exit(main())
