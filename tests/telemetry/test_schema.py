"""The generated types follow the schema, and so does what the kernel really sends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cellmill.telemetry import schema

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "kernel_runtime" / "cellmill" / "telemetry" / "schema.json"


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate_schema.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_check_notices_an_edit(tmp_path: Path) -> None:
    for name in ("scripts/generate_schema.py", str(SOURCE.relative_to(ROOT))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "labextension" / "src").mkdir(parents=True)
    command = [sys.executable, str(tmp_path / "scripts" / "generate_schema.py")]
    subprocess.run(command, check=True)
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 0
    edited = tmp_path / SOURCE.relative_to(ROOT)
    edited.write_text(edited.read_text().replace('"version": 1', '"version": 2'))
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "schema.py" in done.stdout
    assert "protocol.ts" in done.stdout


def test_stages_and_intervals_of_a_journey() -> None:
    described = json.loads(SOURCE.read_text())
    assert list(schema.STAGES) == [stage["name"] for stage in described["stages"]]
    assert len(schema.INTERVALS) == len(schema.STAGES) - 1
