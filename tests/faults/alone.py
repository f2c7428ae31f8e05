"""A call in a process of its own: what it counts depends on no earlier test, and when it hangs it says where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DUMP_S = 5.0  # for the dump of all threads, before the process is given up


def alone(code: str, limit: float) -> str:
    """Run Python code from the root of the tree; its stdout. A failure of it is a failure here."""
    watch = f"import faulthandler; faulthandler.dump_traceback_later({limit - DUMP_S}, exit=True)\n"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", watch + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=limit,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
