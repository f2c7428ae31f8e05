"""The docking command in a process of its own, and what its tests give it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BRIEFLY = (
    "--searches", "2", "--evaluations", "8000", "--final", "2", "--final-exhaustiveness", "2",
)  # fmt: skip
"""Searches of hundredths of a second."""
SMALL_BOX = ("2.82", "0.28", "10.63", "12", "12", "12")
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
    return subprocess.run(
        [sys.executable, "-m", "docking", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
