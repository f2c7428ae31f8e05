"""Warnings of worker processes as text: in Python's form, in the caller's own, and where what shows them fails."""

from __future__ import annotations

from collections.abc import Callable

PROGRAM = """
import sys, warnings
import cellmill
from cellmill import Executor

def warn(i):
    print("before", file=sys.stderr)
    warnings.warn(f"careful {i}")
    print("after", file=sys.stderr)

def show(*_, **__):
    raise ValueError("not today")

with Executor(1) as ex:
    sys.stderr = sys.stdout
    first = ex.submit(warn, 1)
    first.result()
    plain = warnings.formatwarning
    warnings.formatwarning = lambda message, *_: f"<{message}>\\n"
    ex.submit(warn, 2).result()
    print(cellmill.output(first).splitlines()[1].partition(": ")[2])
    print("where it fails")
    warnings.formatwarning = plain
    warnings.showwarning = show
    print(ex.submit(warn, 3).result())
"""


def test_in_pythons_form_and_in_the_callers_and_where_showing_fails(script: Callable[..., str]) -> None:
    """Each between what the task prints before and after it, and kept with its output.

    Where what shows them fails, the task goes on, and the warning is told as text.
    """
    shown, _, failed = script(PROGRAM).partition("where it fails\n")
    lines = shown.splitlines()
    assert lines[0] == "before"
    assert lines[1].endswith(": UserWarning: careful 1")
    assert lines[-5:] == ["after", "before", "<careful 2>", "after", "UserWarning: careful 1"]
    assert "A warning of warn(3) could not be shown" in failed or "could not be shown" in failed
    assert "ValueError: not today" in failed
    assert "UserWarning: careful 3" in failed
    assert failed.splitlines()[-1] == "None"
