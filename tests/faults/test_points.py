"""Workers that end at every claim and publish point of C, in the build that has them: killed, or stopped and killed."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
POINTS = dict(
    re.findall(
        r"\bPOINT\((\w+), (\w+)\)",
        Path(ROOT, "csched", "src", "fault.h").read_text().split("enum { FAULT")[0],
    )
)
SELDOM = {
    *("attached", "said_ready", "retired", "detached", "function_taken", "ring_full"),
    *("region_heard", "region_mapped", "file_mapped", "file_made", "file_told"),
}  # points that a worker comes to once or twice
LIMIT_S = 90.0
LOSSES = {"LOSES_NOTHING": (0,), "LOSES_TASK": (0, 1), "MAY_LOSE_TASK": (0, 1)}


class Trials:
    """The program that runs them; a new one after one that hung."""

    def __init__(self, package: Path, said: Path) -> None:
        self._package, self._said = package, said
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, **trial: Any) -> dict[str, Any]:
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(trial).encode() + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], LIMIT_S)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            self.close()
            pytest.fail(f"{trial} hangs or died: {self._said.read_text()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def _start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(self._package), str(ROOT), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults.points"]
        with self._said.open("wb") as said:
            return subprocess.Popen(
                command,
                cwd=self._package,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    package = ROOT / "build" / "faults"
    plainly = {**os.environ, "CELLMILL_CFLAGS": "-O0 -g0"}  # a third of the time that the compiler takes
    subprocess.run(
        [sys.executable, "csched/build.py", str(package)],
        cwd=ROOT,
        env=plainly,
        check=True,
        capture_output=True,
    )
    found = Trials(package, tmp_path_factory.mktemp("points") / "stderr")
    yield found
    found.close()


def check(trials: Trials, point: str, how: str, visit: int) -> None:
    found = trials.run(point=point, how=how, visit=visit)
    assert found["reached"], found
    assert not found["wrong"], found
    assert found["lost"] in LOSSES[POINTS[point]], found
    assert not found["descriptors"], found


@pytest.mark.parametrize("point", POINTS)
def test_killed(trials: Trials, point: str) -> None:
    check(trials, point, "kill", 1)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_stopped_then_killed(trials: Trials, point: str) -> None:
    check(trials, point, "stop", 1)


@pytest.mark.long
@pytest.mark.parametrize("visit", [2, 3, 10])
@pytest.mark.parametrize("point", sorted(set(POINTS) - SELDOM))
def test_killed_at_a_later_visit(trials: Trials, point: str, visit: int) -> None:
    check(trials, point, "kill", visit)
