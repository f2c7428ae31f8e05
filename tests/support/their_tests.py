"""Tests of other projects, run with Cellmill beneath."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-c",
    "pytest.ini",
    "-p",
    "beneath",
    "-p",
    "no:cacheprovider",
)


def passed_beneath(
    folder: Path,
    plugin: str,
    markers: Iterable[str],
    left_out: Mapping[str, Iterable[str]],
    files: Iterable[Path],
    *,
    of: str = "",
    options: Iterable[str] = (),
    timeout: float,
) -> int:
    """Return how many of them pass; all that are run have to.

    ``plugin``: text of the module that puts Cellmill in its place. ``left_out``: names of tests, by why they are.
    ``of``: what else the names have to match, as pytest's ``-k`` has it. ``options``: of pytest. ``timeout``: seconds.
    """
    (folder / "beneath.py").write_text(plugin)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n" + "".join(f"  {name}\n" for name in markers))
    names = " or ".join(name for names in left_out.values() for name in names)
    command = [
        *_PYTEST,
        "-k",
        f"{of} and not ({names})" if of else f"not ({names})",
        *options,
        *map(str, files),
    ]
    run = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert run.returncode == 0, run.stdout
    found = re.search(r"(\d+) passed", run.stdout)
    assert found is not None, run.stdout
    return int(found[1])
