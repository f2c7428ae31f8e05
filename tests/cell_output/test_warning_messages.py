"""Warnings of worker processes as text: in Python's form, in the caller's own, and where what shows them fails."""

from __future__ import annotations

from collections.abc import Callable

START = """
import sys, warnings
import cellmill
from cellmill import Executor

def warn(i):
    print("before", file=sys.stderr)
    warnings.warn(f"careful {i}")
    print("after", file=sys.stderr)

with Executor(1) as ex:
"""


def test_in_pythons_form_and_in_the_callers(script: Callable[..., str]) -> None:
    """Each between what the task prints before and after it, and kept with its output."""
    out = script(
        START
        + """
    sys.stderr = sys.stdout
    first = ex.submit(warn, 1)
    first.result()
    warnings.formatwarning = lambda message, *_: f"<{message}>\\n"
    ex.submit(warn, 2).result()
    print(cellmill.output(first).splitlines()[1].partition(": ")[2])
"""
    )
    lines = out.splitlines()
    assert lines[0] == "before"
    assert lines[1].endswith(": UserWarning: careful 1")
    assert lines[-5:] == ["after", "before", "<careful 2>", "after", "UserWarning: careful 1"]


def test_what_shows_it_fails(script: Callable[..., str]) -> None:
    """The task goes on, the warning is told as text."""
    out = script(
        START
        + """
    def show(*_, **__): raise ValueError("not today")
    sys.stderr = sys.stdout
    warnings.showwarning = show
    print(ex.submit(warn, 1).result())
"""
    )
    assert "A warning of warn(1) could not be shown" in out or "could not be shown" in out
    assert "ValueError: not today" in out
    assert "UserWarning: careful 1" in out
    assert out.splitlines()[-1] == "None"
