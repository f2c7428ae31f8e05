"""The generated types follow the schema, and so does what the kernel really sends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill.executor import Executor, set_default_executor
from cellmill.telemetry import schema
from cellmill.telemetry.journal import read_journal

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
    (tmp_path / "labextension" / "src" / "protocol").mkdir(parents=True)
    command = [sys.executable, str(tmp_path / "scripts" / "generate_schema.py")]
    subprocess.run(command, check=True)
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 0
    edited = tmp_path / SOURCE.relative_to(ROOT)
    edited.write_text(edited.read_text().replace('"const": 1,', '"const": 2,'))
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "schema.py" in done.stdout
    assert "messages.ts" in done.stdout


def test_stages_and_intervals_of_a_journey() -> None:
    described = json.loads(SOURCE.read_text())["$defs"]
    assert list(schema.STAGES) == [stage["const"] for stage in described["Stage"]["oneOf"]]
    assert list(schema.INTERVALS) == described["Interval"]["enum"]
    assert len(schema.INTERVALS) == len(schema.STAGES) - 1


def test_it_is_a_json_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json.loads(SOURCE.read_text()))


def double(value: int) -> int:
    if value == 7:
        raise ValueError("on purpose")
    return 2 * value


def test_what_the_kernel_sends_follows_it(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(SOURCE.read_text()))
    with Executor(2) as executor:
        set_default_executor(executor)
        with cellmill.record(tmp_path / "run.cellmill"):
            futures = [executor.submit(double, value) for value in range(20)]
            executor.submit(double, futures[0]).result(30)
            assert sum(future.exception(30) is not None for future in futures) == 1
        set_default_executor(None)
    frames: list[dict[str, Any]] = [
        head["frame"] for head, _ in read_journal(tmp_path / "run.cellmill") if "frame" in head
    ]
    assert {"snapshot", "workers", "timeline", "graph", "task-records"} <= {frame["kind"] for frame in frames}
    for frame in frames:
        validator.validate(frame)
    snapshot = next(frame for frame in frames if frame["kind"] == "snapshot")
    for changes in ({"workers": 1.5}, {"counts": {}}, {"cellmill": 2}, {"kind": "dance"}):
        assert not validator.is_valid({**snapshot, **changes})
