"""``python -m docking``: its options, and clear refusals."""

from __future__ import annotations

import ast
import errno
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.docking.command import FRAGMENTS, SMALL_BOX, command

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_backend_that_there_is_not(command_line: Any, files: tuple[Path, Path], capsys: Any) -> None:
    protein, library = files
    given = ["--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--backend", "dusk"]
    assert command_line(given) == 1
    assert "unknown backend 'dusk'" in capsys.readouterr().err


def test_a_shell_has_the_command(tmp_path: Path) -> None:
    done = command("--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "usage: python -m docking" in done.stdout


OTHER_NAMES = {"DOCKS": "start", "LIBRARY": "generate", "START": "start"}
"""Parameters of the notebook whose option has another name."""


def test_each_parameter_of_the_notebook_is_an_option_of_the_command() -> None:
    from docking.options import parser

    path = EXAMPLES / "02_docking_inference.ipynb"
    (cell,) = [cell for cell in nbformat.read(path, as_version=4).cells if "def setting(" in cell.source]
    assigned = [node.targets[0] for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Assign)]
    names = [node.id for target in assigned for node in ast.walk(target) if isinstance(node, ast.Name)]
    assert len(names) > 30
    options = vars(parser().parse_args(["--receptor", "x", "--generate", "1"]))
    assert [name for name in names if OTHER_NAMES.get(name, name.lower()) not in options] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--receptor", "missing.pdb", "--ligands", "{library}", "--box", *SMALL_BOX],
            "No receptor file 'missing.pdb'",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "missing.smi", "--box", *SMALL_BOX],
            "No ligand file 'missing.smi'",
        ),
        (["--receptor", "{protein}", "--ligands", "{library}"], "Where to dock?"),
        (
            [
                "--receptor",
                "{protein}",
                "--ligands",
                "{library}",
                "--box",
                *SMALL_BOX,
                "--require",
                "hbond:ASP330",
            ],
            "'hbond:ASP330': the receptor has no ASP330; 330 is PHE330.B",
        ),
        (
            [
                "--receptor",
                "{protein}",
                "--ligands",
                "{library}",
                "--box",
                *SMALL_BOX,
                "--reference-smiles",
                "CCO",
            ],
            "A reference SMILES is given without a reference",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--box", *SMALL_BOX, "--keep", "HEM"],
            "'HEM' cannot be kept",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--reference", "{protein}"],
            "give the ligand, not the protein",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--box", *SMALL_BOX, "--chains", "X"],
            "There is no chain X; the file has: A, B",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--reference", "gone.sdf"],
            "No reference ligand file 'gone.sdf'",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--box", "0", "0", "0", "20", "-5", "20"],
            "longer than 0",
        ),
        (
            [
                "--receptor",
                "{protein}",
                "--ligands",
                "{library}",
                "--box",
                "0",
                "0",
                "0",
                "900",
                "900",
                "900",
            ],
            "too long",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--box", "400", "0", "0", "20", "20", "20"],
            "No receptor atom is in the box",
        ),
        (
            ["--receptor", "{library}", "--ligands", "{library}", "--box", *SMALL_BOX],
            "no protein ATOM records",
        ),
        (
            ["--receptor", "{protein}", "--ligands", "{library}", "--box", *SMALL_BOX, "--start", "0"],
            "at least 1",
        ),
        (
            [
                "--receptor",
                "{protein}",
                "--ligands",
                "{library}",
                "--box",
                *SMALL_BOX,
                "--exhaustiveness",
                "4",
                "--final-exhaustiveness",
                "2",
            ],
            "give at least as much",
        ),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_done(
    command_line: Any,
    files: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    protein, library = files
    given = [text.format(protein=protein, library=library) for text in arguments]
    assert command_line(given) == 1
    captured = capsys.readouterr()
    last = captured.err.strip().splitlines()[-1]
    assert last.startswith("docking: ")
    assert message in last
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("command", ["redock", "complete", "noise", "retrospective"])
def test_a_folder_that_cannot_be_one_is_named(
    command_line: Any, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    protein, library = map(str, files)
    given = {"redock": [], "retrospective": [library, library]}.get(command, ["--generate", "9"])
    assert command_line([command, "--receptor", protein, *given, "--out", library]) == 1
    assert capsys.readouterr().err == f"docking: Cannot write results to '{library}': File exists.\n"


def test_a_full_disk_is_named_and_leaves_nothing_half_written(
    command_line: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from docking import commands
    from docking.complete import write_table

    table = tmp_path / "complete.csv"
    table.write_text("the former one")

    def full(_path: Path, _text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(_arguments: Any) -> int:
        write_table([], ["a table"], table)
        return 0

    monkeypatch.setitem(commands.COMMANDS, "complete", write)
    monkeypatch.setattr(Path, "replace", full)
    assert command_line(["complete"]) == 1
    told = capsys.readouterr().err
    assert "No space left on device; what has docked is kept, and the same command goes on" in told
    assert list(tmp_path.iterdir()) == [table]
    assert table.read_text() == "the former one"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--receptor", "x.pdb", "--generate", "9", "--ph", "nan"],
        ["--receptor", "x.pdb", "--generate", "9", "--budget", "inf"],
        ["--receptor", "x.pdb"],
        ["--receptor", "x.pdb", "--ligands", "y.smi", "--box", "1", "2"],
        ["--receptor", "x.pdb", "--ligands", "y.smi", "--box", *SMALL_BOX, "--workers", "0"],
        ["--receptor", "x.pdb", "--ligands", "y.smi", "--box", *SMALL_BOX, "--rounds", "-1"],
    ],
)
def test_a_wrong_command_exits_with_two(
    command_line: Any, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        command_line(arguments)
    assert stopped.value.code == 2
    assert "usage: python -m docking" in capsys.readouterr().err


def test_what_is_left_out_at_the_pocket_is_said_first_and_last(
    in_threads: Any, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    protein, library = files
    atoms = (("S", 2.8, 0.3, 10.6), ("O1", 4.2, 0.3, 10.6), ("O2", 2.3, 1.7, 10.6), ("O3", 2.3, -0.4, 11.8))
    protein.write_text(
        protein.read_text().replace("END", "")
        + "".join(
            f"HETATM{9990 + i:5d}  {name:<3} SO4 A 900    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {name[0]}\n"
            for i, (name, x, y, z) in enumerate(atoms)
        )
        + "END\n"
    )
    library.write_text("".join(FRAGMENTS.splitlines(keepends=True)[:3]))
    code = in_threads(
        "--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--start", "3", "--rounds", "0",
        "--workers", "1", "--out", str(tmp_path / "out"), "--searches", "1", "--evaluations", "3000",
        "--final", "0", "--probes", "0",
    )  # fmt: skip
    done = capsys.readouterr()
    assert code == 0, done.err
    said = "WARNING: left out within 8 A of the box: SO4"
    assert said in done.err
    assert done.err.index(said) < done.err.index("molecules to screen")
    assert said in done.out
    assert "left out within 8 A of the box: SO4" in (tmp_path / "out" / "summary.json").read_text()


def test_a_library_of_nonsense_ends_with_its_first_reason(
    in_threads: Any, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    protein, library = files
    library.write_text("nonsense a\n[Na+].[Cl-] b\n")
    assert in_threads("--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX) == 1
    done = capsys.readouterr()
    assert "No molecule of the library can be docked; the first row: SMILES does not parse" in done.err
    assert "Traceback" not in done.err


def test_missing_packages_are_named_with_the_command_that_brings_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import docking

    with pytest.raises(
        docking.DockingInputError, match=r"no_such_package.*pip install 'cellmill\[docking\]'"
    ):
        docking.require(("rdkit", "no_such_package"))
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(docking.DockingInputError, match=r"no wheel for Python 3\.13"):
        docking.require(("vina",))
