"""The command line of a screen: its arguments, and what they say of themselves."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from docking.records import ACQUISITIONS

EPILOG = """\
examples, run in the folder examples/ or with it on PYTHONPATH:
  python -m docking --receptor 1IEP --chains A --reference STI --ligands library.smi \\
      --reference-smiles "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
  python -m docking --receptor protein.pdb --box 15.6 53.4 15.5 20 20 20 --ligands library.csv --out results
  python -m docking --receptor entry.cif.gz --chains A --keep HOH:A:412 --reference pose.sdf --ligands library.sdf
  python -m docking --receptor tutorial --generate 100000 --backend dask
  python -m docking demo --out build/demo
  python -m docking retrospective actives.smi decoys.smi --receptor protein.pdb --reference ligand.sdf
  python -m docking complete --receptor tutorial --generate 2000 --out complete
  python -m docking replay complete/complete.csv.gz
  python -m docking redock --receptor protein.pdb --reference ligand.sdf
  python -m docking noise --receptor tutorial --generate 2000
  python -m docking claims results
"""


def parser() -> argparse.ArgumentParser:
    """The command line of a screen."""
    p = argparse.ArgumentParser(
        prog="python -m docking",
        description="Find the best ligands of a large set: dock a few, learn, infer the rest, dock the best.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_receptor(p)
    add_molecules(p)
    add_forms(p.add_argument_group("in which forms a molecule is docked"))
    p.add_argument(
        "--start", type=count, default=40, help="random molecules docked first (default %(default)s)"
    )
    p.add_argument(
        "--rounds", type=count, default=2, help="rounds of learn, infer, dock (default %(default)s)"
    )
    p.add_argument(
        "--per-round", type=count, default=6, help="molecules docked a round (default %(default)s)"
    )
    add_overlap(p)
    p.add_argument(
        "--acquisition",
        choices=ACQUISITIONS,
        default="greedy",
        help="what a round docks: the best predicted, or with a bonus for doubt, or by a draw (default %(default)s)",
    )
    add_beyond_size(p)
    p.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="CONTACT",
        help="what a hit has to have: a contact with a residue (hbond:ASP129), of a kind (ionic) or of any "
        "(ASP129.A); may be given again, then all of them",
    )
    p.add_argument(
        "--per-scaffold",
        type=count,
        default=3,
        help="molecules of one scaffold that are chosen over all rounds, at most (0: any number; default %(default)s)",
    )
    p.add_argument(
        "--same-size",
        type=count,
        default=6,
        metavar="N",
        help="random molecules of the size of chosen ones that are docked as a control (default %(default)s)",
    )
    _add_means(p)
    return p


def add_receptor(p: argparse.ArgumentParser) -> None:
    """The receptor, and the pocket in it."""
    p.add_argument(
        "--receptor",
        required=True,
        help="PDB or mmCIF file (.gz too), PDB id, or a complex that ProLIF ships: 'tutorial' (5-HT1B), 'm2'",
    )
    _add_pocket(p.add_argument_group("where to dock, and what of the receptor's file is there"))


def add_molecules(p: argparse.ArgumentParser) -> None:
    """The molecules: of a file, or generated."""
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--ligands",
        help="SMILES (.smi), table (.csv, .tsv: separator and column are found) or SD file; .gz too",
    )
    what.add_argument("--generate", type=int, metavar="N", help="screen N generated drug-like amides")


def _add_means(p: argparse.ArgumentParser) -> None:
    """How thoroughly, by whom, and where to."""
    _add_searches(p.add_argument_group("how sure a score is"))
    add_effort(p)
    add_place(p, Path("screen"))


def add_number_of_searches(p: argparse.ArgumentParser, default: int) -> None:
    """How many searches there are of a molecule, where the noise is not measured for it."""
    p.add_argument(
        "--searches",
        type=positive,
        default=default,
        metavar="N",
        help="independent searches of each molecule, of which the best counts (default %(default)s)",
    )


def add_effort(p: argparse.ArgumentParser, exhaustiveness: int = 1) -> None:
    """How thorough a search is, and what it is drawn by."""
    p.add_argument(
        "--exhaustiveness", type=positive, default=exhaustiveness, help="Vina's (default %(default)s)"
    )
    p.add_argument(
        "--evaluations",
        type=count,
        default=0,
        help="of each of Vina's searches at most (0: Vina's own rule)",
    )
    p.add_argument(
        "--seed", type=int, default=1, help="same seed and --searches, same hits (default %(default)s)"
    )


def add_beyond_size(p: argparse.ArgumentParser) -> None:
    """Whether a round is chosen by more than size."""
    p.add_argument(
        "--beyond-size",
        action="store_true",
        help="choose by how much better a score is than size alone makes one expect (a line through the random start); "
        "by the score, large molecules come first",
    )


def add_overlap(p: argparse.ArgumentParser) -> None:
    """How much of what was begun before a round is chosen without its scores."""
    p.add_argument(
        "--overlap",
        type=count,
        default=2,
        metavar="N",
        help="a round is chosen without the scores of the last N molecules begun before it, which keep the workers "
        "busy meanwhile; the same hits for any number of workers (default %(default)s)",
    )


def add_place(p: argparse.ArgumentParser, out: Path) -> None:
    """Where tasks run, and where their results go."""
    p.add_argument("--workers", type=positive, help="worker processes (default: what this machine allows)")
    p.add_argument(
        "--backend",
        default="local",
        help="where tasks run: local, threads, dask, ray, or the address of a cluster (default %(default)s)",
    )
    p.add_argument(
        "--out",
        type=Path,
        default=out,
        help="folder of results (default %(default)s); a screen that was interrupted there goes on",
    )
    p.add_argument(
        "--fresh",
        action="store_true",
        help="begin again; what is in the folder moves to its subfolder former",
    )


def _add_searches(p: argparse._ArgumentGroup) -> None:
    """How many searches there are of a molecule, and how they are chosen."""
    p.add_argument(
        "--searches",
        type=count,
        default=0,
        metavar="N",
        help="independent searches of each molecule, of which the best counts (default: as many as the measured noise "
        "asks for and --budget pays for; the same hits on any machine need a number)",
    )
    p.add_argument(
        "--budget",
        type=minutes,
        default=60.0,
        metavar="MINUTES",
        help="minutes that all dockings may take one worker, two half of it, where --searches is not given "
        "(default %(default)g)",
    )
    p.add_argument(
        "--final",
        type=count,
        default=5,
        metavar="K",
        help="the best K are docked again, more thoroughly, and ranked by that (default %(default)s; 0: none)",
    )
    p.add_argument(
        "--final-exhaustiveness",
        type=positive,
        metavar="N",
        help="Vina's, in that round (default: eight times --exhaustiveness)",
    )
    p.add_argument(
        "--final-searches",
        type=positive,
        default=3,
        metavar="N",
        help="independent searches of each in that round (default %(default)s)",
    )
    p.add_argument(
        "--conformers",
        type=count,
        default=6,
        help="searches of the reference at least, each from its own conformer (0: it is not redocked)",
    )
    p.add_argument(
        "--probes",
        type=count,
        default=5,
        help="random molecules that are searched three times to measure the noise (default %(default)s)",
    )


def add_forms(p: argparse._ArgumentGroup) -> None:
    """Protonation, stereo and tautomers."""
    p.add_argument(
        "--ph", type=acidity, default=7.4, help="protonate molecules as at this pH (default %(default)s)"
    )
    p.add_argument("--as-given", action="store_true", help="dock molecules with the charges of their SMILES")
    p.add_argument(
        "--isomers",
        type=count,
        default=4,
        help="stereoisomers docked at most of a molecule whose stereo is open; the best counts "
        "(default %(default)s; 0: one, by chance)",
    )
    p.add_argument(
        "--tautomers",
        type=positive,
        default=2,
        help="tautomers docked at most: the one that is given, and others that are rated at least as stable; the best "
        "counts (default %(default)s; 1: as given)",
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
    p.add_argument("--model", type=positive, default=1, help="model of the receptor (default %(default)s)")
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


def count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def positive(text: str) -> int:
    value = count(text)
    if value == 0:
        raise argparse.ArgumentTypeError("0 is not enough")
    return value


def acidity(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is no pH")
    return value


def minutes(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of minutes above 0")
    return value
