"""Errors end at the user's line in scripts, under pytest and in IPython's terminal, and show all lines on demand."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, start_script

PROGRAM = """
import os, sys, time, cellmill
from cellmill import Executor, parallel
ex = Executor(1, backend=sys.argv[1])
cellmill.set_default_executor(ex)
@parallel
def half(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2
def inputs():
    yield 2
    raise KeyError("no more")
def leave(): os._exit(3)
"""
ENDINGS = {
    "a call": "half(3).result()",
    "an error that is asked for": "raise half(3).exception()",
    "a submit": "ex.submit(int, 'x').result()",
    "a map": "list(half.map([2, 3]))",
    "an unordered map": "sorted(half.map([2, 3], ordered=False))",
    "a loop": "for value in half.map([2, 3]): print(value)",
    "an input that raises": "list(half.map(inputs()))",
    "an input of a call": "half(half(3)).result()",
    "a wrong option": "half.options(retries=-1)",
    "a wrong option of an executor": "Executor(2, cooks=1)",
    "a wrong argument": "half.map(2)",
    "the truth of a future": "half(2) and 1",
    "no number of workers": "ex.set_workers(0)",
    "no future": "cellmill.why('x')",
}
LATER = {
    "a time limit": "half.options(timeout=0.05); parallel(time.sleep, timeout=0.05)(60).result()",
    "a cancelled call": "ex.pause(); f = half(2); f.cancel(); f.result()",
    "a wait that is too short": "ex.pause(); half(2).result(timeout=0.01)",
    "a closed executor": "ex.shutdown(); half.options(executor=ex)(2)",
    "something that cannot be sent": "ex.submit(len, sys._getframe())",
}
APART = {"a lost worker": "ex.submit(leave).result()"}


EACH = """
lines = []
def line(function):
    lines.append(function)
{lines}
if __name__ == "__main__":
    for number, function in enumerate(lines):
        ex = Executor(1, backend=sys.argv[1])
        cellmill.set_default_executor(ex)
        print(f"== {{number}} ==", file=sys.stderr, flush=True)
        try:
            function()
        except Exception:
            sys.excepthook(*sys.exc_info())
        ex.shutdown(wait=False, cancel_futures=True)
"""


def _run(folder: Path, line: str, backend: str, **env: str) -> str:
    with start_script(
        folder, f"{PROGRAM}\n{line}  # the user's line\n", backend, env={**os.environ, **env}
    ) as made:
        _, err = made.communicate(timeout=SECONDS)
    assert made.returncode, "it did not fail"
    return err


def _shown(err: str) -> str:
    """Without warnings."""
    return err[err.index("Traceback (most recent call last)") :]


def _check_ends_at_the_users_line(err: str, script: Path) -> None:
    package = str(Path(cellmill.__file__).parent)
    assert f'File "{package}' not in err, err
    assert "the user's line" in _shown(err), err
    frames = re.findall(r'^  File "([^"]+)", line \d+', _shown(err), re.MULTILINE)
    assert set(frames) <= {str(script)}, err


@pytest.mark.parametrize(
    "backend",
    ["local", *(pytest.param(each, marks=pytest.mark.long) for each in ("threads", "inline"))],
)
def test_an_uncaught_error_ends_at_the_users_line(tmp_path: Path, backend: str) -> None:
    _check_ends_at_the_users_line(_run(tmp_path, ENDINGS["a call"], backend), tmp_path / "script.py")


@pytest.mark.parametrize("backend", ["local", "threads", "inline"])
def test_every_error_ends_at_the_users_line(tmp_path: Path, backend: str) -> None:
    cases = ENDINGS | (LATER if backend != "inline" else {}) | (APART if backend == "local" else {})
    if backend == "threads":
        del cases["something that cannot be sent"]  # nothing is sent to a thread
    lines = "\n".join(f"@line\ndef _():\n    {line}  # the user's line" for line in cases.values())
    with start_script(tmp_path, PROGRAM + EACH.format(lines=lines), backend) as made:
        _, err = made.communicate(timeout=2 * SECONDS)
    assert made.returncode == 0, err
    _, *told = re.split(r"^== \d+ ==\n", err, flags=re.MULTILINE)
    assert len(told) == len(cases)
    for what, each in zip(cases, told, strict=True):
        assert "Traceback (most recent call last)" in each, f"{what} did not fail"
        _check_ends_at_the_users_line(each, tmp_path / "script.py")


def test_an_interrupt_ends_at_the_users_line(tmp_path: Path) -> None:
    (tmp_path / "gate").mkdir()
    gate = Gate(tmp_path / "gate")
    code = (
        "import sys\nsys.path.insert(0, sys.argv[2])\nfrom tests.support import tasks\n"
        f"{PROGRAM}\nex.submit(tasks.hold, sys.argv[3]).result()  # the user's line\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    with start_script(tmp_path, code, "local", root, gate.folder) as made:
        gate.wait_started()
        made.send_signal(signal.SIGINT)
        _, err = made.communicate(timeout=SECONDS)
    gate.close()
    assert "KeyboardInterrupt" in err
    assert "the user's line" in err
    assert str(Path(cellmill.__file__).parent) not in err, err


def test_all_lines_on_demand(tmp_path: Path) -> None:
    lines = ("half(3).result()", 'cellmill.traceback("short"); half(3).result()')
    lines += ('cellmill.traceback("full"); half(3).result()',)
    functions = "\n".join(f"@line\ndef _():\n    {line}" for line in lines)
    code, env = PROGRAM + EACH.format(lines=functions), {**os.environ, "CELLMILL_TRACEBACK": "full"}
    with start_script(tmp_path, code, "local", env=env) as made:
        _, err = made.communicate(timeout=SECONDS)
    _, *told = re.split(r"^== \d+ ==\n", err, flags=re.MULTILINE)
    assert ["futures.py" in each for each in told] == [True, False, True], err
    with pytest.raises(cellmill.UsageError, match="not 'ful'; did you mean 'full'"):
        cellmill.traceback("ful")
    assert cellmill.traceback() == "short"


def test_an_error_that_is_raised_again_shows_the_last_line_alone(pool: Executor) -> None:
    future = pool.submit(tasks.fail)
    for _ in range(3):
        with pytest.raises(LookupError) as caught:
            future.result(SECONDS)
        assert [frame.name for frame in caught.traceback] == [inspect.currentframe().f_code.co_name]  # type: ignore[union-attr]


def test_pytest_shows_the_users_line(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from cellmill import Executor\n"
        "def test_it():\n    with Executor(1) as ex:\n        ex.submit(int, 'x').result()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        timeout=SECONDS,
    )
    assert "test_it.py:4: ValueError" in done.stdout
    assert "futures.py" not in done.stdout


def test_the_terminal_ends_at_the_users_line(tmp_path: Path) -> None:
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "TERM": "dumb"}
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--colors=nocolor", "--no-banner"],
        env=env,
        encoding="utf-8",
        timeout=SECONDS,
        dimensions=(50, 200),
    )

    def ask(number: int, line: str) -> str:
        terminal.expect_exact(f"In [{number}]: ")
        terminal.sendline(line)
        return ""

    ask(1, "%load_ext cellmill")
    ask(2, "import cellmill; half = cellmill.parallel(lambda x: 1 / x)")
    ask(3, "half(0).result()")
    ask(4, "list(half.map([1, 0]))")
    shown = str(terminal.before)
    assert "RemoteTraceback: task #" in shown
    assert shown.count("most recent call last") == 2
    assert "Cell In[2], line 1, in <lambda>" in shown
    assert "----> 1 half(0).result()" in shown
    assert "kernel_runtime" not in shown
    ask(5, "half.options(tiemout=3)")
    assert "in element 1 of a map: <lambda>(0)" in str(terminal.before)
    assert "kernel_runtime" not in str(terminal.before)
    ask(6, "exit")
    assert "UsageError" in str(terminal.before)
    assert "kernel_runtime" not in str(terminal.before)
    terminal.expect(pexpect.EOF)
    terminal.close()


def test_functions_that_users_call_are_functions(pool: Executor) -> None:
    for function in (cellmill.parallel, cellmill.why, cellmill.cancel):
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__
    assert list(inspect.signature(Executor.map).parameters)[:2] == ["self", "fn"]
    assert list(inspect.signature(pool.submit).parameters) == ["fn", "args", "kwargs"]
    assert Executor.submit.__qualname__ == "Executor.submit"

    def refers(x: int) -> list[int]:
        return list(cellmill.parallel(abs).map([x]))

    assert pool.submit(refers, -2).result(SECONDS) == [2]
