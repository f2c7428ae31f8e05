"""One turn of one runtime, in a process of its own: started by `launch`, run by ``python -m cellmill.bench.turn``."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

LIMIT_S = 900.0
"""A turn that takes longer has failed."""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


Sizes = Mapping[str, Any]
"""How much to measure: JSON values by name, the same for every runtime of a benchmark."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The measurements of one runtime in one turn: values by metric key, and details of how they were taken."""

    values: dict[str, float]
    details: dict[str, Any] = field(default_factory=dict)


class TurnError(Exception):
    """A turn failed; the message is the last thing it said."""


def launch(module: str, runtime: str, workers: int, sizes: Sizes, folder: Path) -> Turn:
    """Let ``module.turn(runtime, workers, sizes)`` run in a fresh process; raises `TurnError`."""
    answer = folder / "turn.json"
    answer.unlink(missing_ok=True)
    order = {
        "module": module,
        "runtime": runtime,
        "workers": workers,
        "sizes": dict(sizes),
        "answer": str(answer),
        "path": sys.path,
    }
    environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
    with tempfile.TemporaryFile("w+b") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "cellmill.bench.turn"],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            env=environment,
            start_new_session=True,
        )
        try:
            process.communicate(json.dumps(order).encode(), timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            _end(process)
            raise TurnError(f"no result within {LIMIT_S:.0f} s. {_last_words(said)}") from None
        except BaseException:
            _end(process)
            raise
        if process.returncode or not answer.exists():
            raise TurnError(f"its process ended with {process.returncode}: {_last_words(said)}")
    found: dict[str, Any] = json.loads(answer.read_text())
    return Turn(found["values"], found["details"])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the turn and what it started in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(said: IO[bytes]) -> str:
    said.seek(0)
    lines = [line for line in said.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"


def main() -> int:
    """The process of one turn: the order comes as JSON on stdin, the answer goes to the file it names.

    It finds the modules that the process which ordered the turn finds: a benchmark need not be installed.
    """
    order = json.load(sys.stdin)
    sys.path += [entry for entry in order["path"] if entry not in sys.path]
    start = time.monotonic()
    turn = importlib.import_module(order["module"]).turn(order["runtime"], order["workers"], order["sizes"])
    details = {**turn.details, "seconds": round(time.monotonic() - start, 3)}
    Path(order["answer"]).write_text(json.dumps({"values": turn.values, "details": details}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
