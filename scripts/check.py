"""Run the linters, formatters and type checkers of all three languages; print one line each, and what fails.

``--fix`` applies what the tools can mend themselves first.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PYTHON_PATHS = [
    name
    for name in (
        *("kernel_runtime", "widgets", "examples", "benchmarks", "tests", "scripts", "csched"),
        "hatch_build.py",
    )
    if (ROOT / name).exists()
]


def c_files() -> list[str]:
    """Every C source and header, relative to the root."""
    return sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "csched").rglob("*.[ch]") if "build" not in path.parts
    )


def checks() -> list[tuple[str, list[str]]]:
    """Name and command of each check; a name without its files is left out."""
    python = str(BIN / "python")
    clang_format = [str(BIN / "clang-format"), "--dry-run", "--Werror", *c_files()]
    found = [
        ("ruff check", [str(BIN / "ruff"), "check", "--quiet", *PYTHON_PATHS]),
        ("ruff format", [str(BIN / "ruff"), "format", "--check", "--quiet", *PYTHON_PATHS]),
        ("mypy", [str(BIN / "mypy"), "--no-error-summary"]),
        ("clang-format", clang_format),
        ("schema types", [python, "scripts/generate_schema.py", "--check"]),
        ("typescript", [str(BIN / "jlpm"), "run", "check"]),
    ]
    return [(name, command) for name, command in found if name != "clang-format" or c_files()]


def fix() -> None:
    """Let the formatters write."""
    commands = [
        [str(BIN / "python"), "scripts/generate_schema.py"],
        [str(BIN / "ruff"), "check", "--fix", "--quiet", *PYTHON_PATHS],
        [str(BIN / "ruff"), "format", "--quiet", *PYTHON_PATHS],
        [str(BIN / "clang-format"), "-i", *c_files()],
        [str(BIN / "jlpm"), "run", "fix"],
    ]
    for command in commands:
        subprocess.run(command, cwd=ROOT, check=False)


def main() -> int:
    if "--fix" in sys.argv[1:]:
        fix()
    failed = 0
    for name, command in checks():
        start = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        good = done.returncode == 0
        failed += not good
        print(f"check: {name:<13} {'ok' if good else 'FAILED'}  {time.monotonic() - start:.1f} s", flush=True)
        if not good:
            lines = (done.stdout + done.stderr).splitlines()
            print("\n".join(lines[:80]))
            if len(lines) > 80:
                print(f"... {len(lines) - 80} more lines")
            print("`make fix` mends what the tools can mend themselves")
    print(f"check: {len(checks()) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
