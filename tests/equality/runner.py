"""Programs are executed by a process of its own, which can hang or end without harm: started by `Runner`.

One line of JSON each way: {"program": [...], "backend": ...} and {"statement": n, "plain": ..., "real": ...} or null.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.equality.world import Difference, difference

LIMIT_S = 60.0
"""A program that takes longer hangs."""
_ROOT = Path(__file__).resolve().parents[2]


class Runner:
    """Executes programs, in one process as long as it goes well."""

    def __init__(self, backend: str = "local", of: str = "programs") -> None:
        self.backend = backend
        self.of = of  # what it executes: "programs", "loops" or "edits"
        self.refused: list[str] = []  # what was said of those that Cellmill refused
        self._process: subprocess.Popen[str] | None = None

    def difference(self, program: list[str]) -> Difference | None:
        """The first thing that a program sees otherwise than plainly executed."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(program) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], LIMIT_S)
        answer = self._process.stdout.readline() if ready else ""
        if not answer:
            word = "its process ended" if ready else f"no end within {LIMIT_S:.0f} s"
            self.close()
            return Difference(-1, None, word)
        found = json.loads(answer)
        if found and "refused" in found:
            self.refused.append(found["refused"])
            return None
        return found and Difference(found["statement"], found["plain"], found["real"])

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.equality.runner", self.backend, self.of],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the process and what it started in its session."""
        if self._process is None:
            return
        process, self._process = self._process, None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def main(backend: str, of: str) -> None:
    """The process: programs come by stdin; what they print goes to stderr."""
    from cellmill import Executor, set_default_executor

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    how: dict[str, Any] = {"preload": ["numpy", "pandas"]} if backend == "local" and of != "edits" else {}
    with Executor(2, backend=backend, **how) as executor:
        set_default_executor(executor)
        if of == "loops":
            from tests.equality.loop_world import Loops

            execute = Loops().answer
        elif of == "edits":
            from tests.equality.edit_world import Edits

            execute = Edits().answer
        else:
            execute = functools.partial(difference, executor=executor)
        for line in sys.stdin:
            found = execute(json.loads(line))
            answer = found
            if isinstance(found, Difference):
                answer = {
                    "statement": found.statement,
                    "plain": repr(found.plain),
                    "real": repr(found.real),
                }
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
