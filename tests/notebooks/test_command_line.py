"""``python -m docking``: a screen from a shell, the same hits for any number of workers, clear refusals."""

from __future__ import annotations

import ast
import csv
import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.usefixtures("chemistry")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BRIEFLY = (
    "--searches", "2", "--evaluations", "20000", "--final", "2", "--final-exhaustiveness", "2",
)  # fmt: skip
"""tests/docking has whole searches."""
SMALL_BOX = ("2.82", "0.28", "10.63", "16", "16", "16")
FRAGMENTS = """\
NCc1ccccc1 benzylamine
Oc1ccccc1 phenol
Cc1ccncc1 picoline
nonsense broken
c1ccc2[nH]ccc2c1 indole
[Na+].[Cl-] salt
Nc1ccccn1 aminopyridine
Oc1ccncc1 pyridinol
Cc1ccccc1C xylene
NCc1ccco1 furfurylamine
c1ccc2ncccc2c1 quinoline
Cc1cc[nH]n1 methylpyrazole
OCc1ccccc1 benzyl alcohol
NC(=O)c1ccccc1 benzamide
Clc1ccccc1 chlorobenzene
"""


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    import os

    return subprocess.run(
        [sys.executable, "-m", "docking", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The command line as a function, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    from docking.__main__ import main

    return main


@pytest.fixture
def in_threads(main: Any) -> Iterator[Callable[..., int]]:
    """The same, its tasks in threads: a process and its workers take seconds to import the chemistry packages."""
    import cellmill

    yield lambda *arguments: main([*arguments, "--backend", "threads"])
    cellmill.default_executor().shutdown()
    cellmill.set_default_executor(None)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """(a receptor file of the user's own, a library with bad rows)."""
    from docking.receptor import tutorial_folder

    protein = tmp_path / "protein.pdb"
    protein.write_text((tutorial_folder() / "rec.pdb").read_text())
    library = tmp_path / "library.smi"
    library.write_text(FRAGMENTS)
    return protein, library


def screened(files: tuple[Path, Path], out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A small screen."""
    protein, library = files
    done = command(
        "--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--start", "10",
        "--rounds", "1", "--per-round", "2", "--workers", "2", "--out", str(out), *BRIEFLY, *arguments, cwd=out.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "12 docked, 2 rows with a reason" in done.stdout
    return done


@pytest.mark.notebook
@pytest.mark.long
def test_the_same_hits_on_every_backend(files: tuple[Path, Path], tmp_path: Path) -> None:
    from docking.compare import available

    screened(files, tmp_path / "local")
    missing = []
    for backend, reason in available(("dask", "ray")).items():
        if reason:
            missing.append(f"{backend}: {reason}")
            continue
        screened(files, tmp_path / backend, "--backend", backend)
        for name in ("hits.csv", "hits.sdf", "predictions.csv"):
            assert (tmp_path / backend / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    if missing:
        pytest.skip(f"without {'; '.join(missing)}")


def test_a_backend_that_there_is_not(main: Any, files: tuple[Path, Path], capsys: Any) -> None:
    protein, library = files
    given = ["--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--backend", "dusk"]
    assert main(given) == 1
    assert "unknown backend 'dusk'" in capsys.readouterr().err


@pytest.mark.notebook
def test_a_screen_from_a_shell_gives_the_same_hits_as_one_thread(
    in_threads: Any, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    protein, library = files
    written = []
    for workers in ("1", "2"):
        out = tmp_path / f"out-{workers}"
        given = (
            "--receptor", str(protein), "--ligands", str(library), "--box", *SMALL_BOX, "--start", "10",
            "--rounds", "1", "--per-round", "2", "--workers", workers, "--out", str(out), *BRIEFLY,
        )  # fmt: skip
        if workers == "1":
            code, (stdout, stderr) = in_threads(*given), capsys.readouterr()
        else:
            done = command(*given, cwd=tmp_path)
            code, stdout, stderr = done.returncode, done.stdout, done.stderr
        assert code == 0, stderr
        assert "13 molecules to screen, 2 rows rejected with a reason" in stderr
        assert "held-out Spearman" in stderr
        assert "12 docked, 2 rows with a reason" in stdout
        assert "Single searches of one molecule differ by" in stdout
        assert "is the best of 2 independent searches: as asked for" in stdout
        assert "NOT redocked: there is no reference ligand" in stdout
        assert "rejected: 1 SMILES does not parse, 1 no carbon" in stderr
        assert "to a worker, ms" in stdout
        assert (
            "read again: 12 molecules from the folder, nothing docked anew, each with the same score"
            in stdout
        )
        written.append((out / "hits.csv").read_bytes())
        assert (out / "hits.sdf").stat().st_size > 1000
        assert (out / "predictions.csv").read_text().count("\n") == 14
    assert written[0] == written[1]
    rows = list(csv.DictReader(written[0].decode().splitlines()))
    reasons = {row["name"]: row["reason"] for row in rows if row["reason"]}
    assert {row["searches"] for row in rows if not row["reason"]} == {"2"}
    assert {row["redock"] for row in rows if not row["reason"]} == {"unchecked"}
    assert all(re.search(r"hydrophobic:\w+\.[AB]", row["contacts"]) for row in rows if not row["reason"])
    assert [row["final_searches"] for row in rows[:3]] == ["3", "3", ""]
    assert all(float(row["score"]) <= float(row["mean"]) for row in rows if not row["reason"])
    assert reasons == {"broken": "SMILES does not parse", "salt": "no carbon: not an organic molecule"}


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
                "hbond:ASP128",
            ],
            "'hbond:ASP128': the receptor has no ASP128; 128 is SER128.A",
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
    main: Any,
    files: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    protein, library = files
    given = [text.format(protein=protein, library=library) for text in arguments]
    assert main(given) == 1
    captured = capsys.readouterr()
    last = captured.err.strip().splitlines()[-1]
    assert last.startswith("docking: ")
    assert message in last
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("command", ["redock", "complete", "noise", "retrospective"])
def test_a_folder_that_cannot_be_one_is_named(
    main: Any, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    protein, library = map(str, files)
    given = {"redock": [], "retrospective": [library, library]}.get(command, ["--generate", "9"])
    assert main([command, "--receptor", protein, *given, "--out", library]) == 1
    assert capsys.readouterr().err == f"docking: Cannot write results to '{library}': File exists.\n"


def test_a_full_disk_is_named_and_leaves_nothing_half_written(
    main: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    assert main(["complete"]) == 1
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
    main: Any, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
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
