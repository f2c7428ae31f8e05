"""The user's own modules that are edited while a script runs: tasks follow it, and it is told where they cannot."""

from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import pytest

from cellmill import Executor
from cellmill.by_value import kernel_modules
from tests.support.helpers import run_script

START = """
import importlib, sys, pathlib
from cellmill import Executor
sys.dont_write_bytecode = True
path = pathlib.Path(sys.argv[0]).with_name("shapes.py")

def write(number):
    path.write_text(f"K = {number}\\n\\ndef g(x):\\n    return x + K + {number}\\n")

write(1)
sys.path.insert(0, str(path.parent))
import shapes

def through(x):
    return shapes.g(x)

def agree(ex):
    for function in (through, shapes.g):
        assert [ex.submit(function, x).result() for x in range(5)] == [function(x) for x in range(5)]
        assert list(ex.map(function, range(5))) == [function(x) for x in range(5)]
"""


# The same of a module that is imported when the workers are there.
LATE = """
del sys.modules["shapes"]
with Executor(2) as ex:
    assert ex.submit(abs, -1).result() == 1
    import shapes
    agree(ex)
    write(22)
    importlib.reload(shapes)
    agree(ex)
"""


def test_loaded_again(tmp_path: Path) -> None:
    program = """
with Executor(2) as ex:
    agree(ex)
    for number in (22, 333):
        write(number)
        importlib.reload(shapes)
        agree(ex)
        shapes.K = 7
        agree(ex)
    del sys.modules["shapes"]
    write(4444)
    import shapes
    agree(ex)
"""
    assert run_script(tmp_path, START + program + LATE) == ("", "")


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("", marks=pytest.mark.long, id="first task"),
        pytest.param("ex.submit(abs, -1).result()", id="later task"),
    ],
)
def test_edited_and_not_loaded_again(tmp_path: Path, before: str) -> None:
    """Tasks go on with what the program has; those that import the module for the first time before a look do not."""
    program = f"""
with Executor(2) as ex:
    {before}
    write(22)
    ex.submit(through, 1).result()
    agree(ex)
    assert ex.run_on_workers(lambda: through(1)) == [3, 3]
    print("told", file=sys.stderr)
    importlib.reload(shapes)
    agree(ex)
"""
    out, told = run_script(tmp_path, START + program)
    assert out == ""
    told, after = told.split("told\n")
    then = (
        "Tasks that have imported it since then use the new file; calls from now on use what the program has."
        if before
        else "The program and its tasks go on with what the program has."
    )
    assert f"shapes.py was changed after this program imported shapes. {then}" in told
    assert told.endswith("import importlib, sys; importlib.reload(shapes).\n")
    assert after == ""


def test_imports_are_watched_no_longer_than_needed() -> None:
    finders, before = list(sys.meta_path), len(kernel_modules._bell.heard)
    with Executor(1):
        assert len(kernel_modules._bell.heard) == before + 1
    assert sys.meta_path == finders
    ex = Executor(1)
    gone = weakref.ref(ex)
    del ex
    gc.collect()
    assert gone() is None
    assert len(kernel_modules._bell.heard) == before
