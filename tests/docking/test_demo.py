"""The docking notebook at a small size through the demo command: a real kernel, real Vina, real files."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.docking import small_screen
from tests.support.helpers import Program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = pytest.mark.notebook

SIZES = {
    "DOCKS": "10",
    "ROUNDS": "1",
    "PER_ROUND": "2",
    "LIBRARY": "400",
    "CONFORMERS": "2",
    "PROBES": "1",
    "SEARCHES": "2",
    "FINAL": "1",
    "WORKERS": "2",
}
LEAST = {
    "DOCKS": "8",
    "LIBRARY": "150",
    "ISOMERS": "1",
    "TAUTOMERS": "1",
    "EVALUATIONS": "20000",  # with fewer not every molecule finds a pose
    "FINAL_EXHAUSTIVENESS": "2",
    "FINAL_SEARCHES": "1",
    "WORKERS": "1",  # each makes its own maps of the receptor, in more time than it docks then
}
BRIEF = {"EVALUATIONS": "20000"}  # searches of a tenth of a second
MOLECULES = [smiles for smiles in small_screen.MOLECULES if "B" not in smiles]
"""Those that dock."""
LINE = re.compile(
    r"demo: docked=(\d+) scored=(\d+) best=(\S+) score=(-\d+\.\d+) spearman=(-?\d\.\d+) baseline=(-?\d\.\d+) "
    r"redock_rmsd=(\d+\.\d+) redock=(?:reproduced|seldom|failed) tasks=(\d+) seconds=(\d+)"
)


def ran(monkeypatch: pytest.MonkeyPatch, out: Path, settings: dict[str, str], backend: str) -> list[str]:
    """Run the demo and check what it leaves; what its line says."""
    from rdkit import Chem

    from docking.demo import run_demo

    for name, value in (SIZES | LEAST | settings).items():
        monkeypatch.setenv(f"CELLMILL_DEMO_{name}", value)
    terminal = io.StringIO()
    line = run_demo(out, backend=backend, stream=terminal)
    matched = LINE.fullmatch(line)
    assert matched, line
    docked, scored, best = int(matched[1]), int(matched[2]), matched[3]
    with (out / "hits.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len([row for row in rows if not row["reason"]]) == docked
    predictions = (out / "predictions.csv").read_text().splitlines()
    assert len(predictions) == scored + 1
    assert "id='poses-data'" in (out / "report.html").read_text()
    assert (rows[0]["smiles"], rows[0]["final_score"]) == (best, matched[4])
    poses = list(Chem.SDMolSupplier(str(out / "hits.sdf"), removeHs=False))
    assert len({pose.GetProp("rank") for pose in poses}) == docked
    assert all(pose is not None and pose.GetConformer().Is3D() for pose in poses)
    _check_documents(out)
    progress = terminal.getvalue()
    assert "Redocking the reference ligand" in progress
    assert "The library" in progress
    return list(matched.groups())


def test_the_demo_leaves_its_results_and_one_line(
    monkeypatch: pytest.MonkeyPatch, pocket_file: Path, known_file: Path, tmp_path: Path
) -> None:
    """On files of its user's own, in threads: worker processes import the chemistry packages anew."""
    library = tmp_path / "library.smi"
    library.write_text("".join(f"{smiles} m{row}\n" for row, smiles in enumerate(MOLECULES)))
    given = {"RECEPTOR": str(pocket_file), "REFERENCE": str(known_file), "LIGANDS": str(library)}
    told = ran(monkeypatch, tmp_path / "demo", given, "threads")
    assert told[:2] == ["10", str(len(MOLECULES))]
    # 2 searches of the reference, 3 of a probe, 14 more of 8 molecules, all inferred, 4 of 2 molecules, 1 of the best
    assert int(told[7]) >= 2 + 3 + 14 + len(MOLECULES) + 4 + 1


@pytest.mark.long
def test_the_demo_with_its_own_receptor_and_library_in_worker_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = ran(monkeypatch, tmp_path / "demo", {}, "local")
    assert told[:2] == ["10", "150"]
    assert int(told[7]) >= 150 + 2 + 3 + 14 + 150 + 4 + 1, "150 made, and a few more than are kept"


@pytest.mark.long
def test_a_demo_whose_kernel_is_killed_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    command = [sys.executable, "-m", "docking", "demo", "--out", str(out)]
    settings = {f"CELLMILL_DEMO_{name}": value for name, value in (SIZES | BRIEF).items()}
    path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    options: dict[str, Any] = {"env": os.environ | settings | {"PYTHONPATH": path}, "text": True}
    rows = out / "dockings.jsonl"
    with Program(command, stderr=subprocess.PIPE, **options) as first:
        while not rows.exists() or rows.read_text().count("\n") < 5:
            with contextlib.suppress(subprocess.TimeoutExpired):
                first.wait(0.1)
            assert first.returncode is None
        match = re.search(r"process (\d+)", (out / "screen.lock").read_text())
        assert match
        os.kill(int(match[1]), signal.SIGKILL)
        assert "with --go-on goes on where it was" in first.communicate()[1]
        assert first.returncode == 1
    found = rows.read_text()
    again = subprocess.run([*command, "--go-on"], capture_output=True, check=True, **options)
    assert LINE.fullmatch(again.stdout.strip().splitlines()[-1])
    assert rows.read_text().startswith(found)
    keys = [(row["smiles"], str(row["search"])) for row in map(json.loads, rows.read_text().splitlines())]
    assert len(set(keys)) == len(keys) == 29
    executed = (out / "02_docking_inference.ipynb").read_text()
    assert f"{found.count(chr(10))} dockings found" in executed


def _check_documents(out: Path) -> None:
    """The executed notebook has its outputs and no error; its page loads no script from anywhere."""
    document = nbformat.read(out / "02_docking_inference.ipynb", as_version=4)
    outputs = [output for cell in document.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"image/png", "image/svg+xml", "text/html"} <= kinds
    page = (out / "02_docking_inference.html").read_text()
    assert "data:text/javascript;base64," in page
    assert not re.findall(r"<(?:script|link)[^>]+(?:src|href)=[\"']https?://[^\"']+", page)
