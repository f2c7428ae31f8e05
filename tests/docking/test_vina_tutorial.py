"""The complex of Vina's tutorial, imatinib in Abl (PDB entry 1IEP), from the files that its authors ship."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long]

FILES = ("rec_1iep.pdbqt", "rec_1iep.box.txt")
"""The prepared receptor and its box, in the folder ``example/tutorial1`` of meeko's source archive."""
IMATINIB = "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
KNOWN = Path(__file__).with_name("imatinib_in_1iep.pdb")
"""STI A 201 of the entry, heavy atoms. PDB entries are in the public domain."""


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The folder of the two files, from the archive of the installed version."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "meeko"]
    done = subprocess.run(
        [*pip, f"meeko=={version('meeko')}", "--dest", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("meeko-*.tar.gz"))) as archive:
        for member in archive.getmembers():
            path = Path(member.name)
            if path.parent.name == "tutorial1" and path.name in FILES:
                file = archive.extractfile(member)
                assert file is not None
                (tmp_path / path.name).write_bytes(file.read())
    return tmp_path


def test_its_ligand_is_found_again_within_one_angstrom(shipped: Path) -> None:
    numbers = re.findall(r"= *(\S+)", (shipped / FILES[1]).read_text())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "docking", "redock"),
            *("--receptor", str(shipped / FILES[0]), "--box", *numbers),
            *("--reference", str(KNOWN), "--reference-smiles", IMATINIB),
            *("--out", str(shipped / "out")),
        ],
        cwd=Path(__file__).parents[2] / "examples",
        capture_output=True,
        text=True,
        timeout=3500,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [float(rmsd) for rmsd in re.findall(r"^search .* ([\d.]+) A from", done.stdout, re.M)]
    assert len(found) == 4
    verdict = re.search(r"^redocked .*, RMSD ([\d.]+) A \(reproduced\)", done.stdout, re.M)
    assert verdict is not None
    assert float(verdict[1]) <= 1.0
