"""What tasks see of the kernel's process context."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, prepend_to_path


def test_current_directory(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool.submit(os.getcwd).result() == os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert pool.submit(os.getcwd).result() == str(tmp_path)
    assert set(pool.map(lambda _: os.getcwd(), range(20), chunksize=1)) == {str(tmp_path)}
    assert pool.run_on_workers(os.getcwd) == [str(tmp_path)] * 2


def _put(shared: Any, key: int) -> None:
    shared[key] = os.getpid()


def test_a_manager_of_multiprocessing_takes_workers(pool: Executor) -> None:
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        list(pool.map(_put, [shared] * 4, range(4)))
        assert set(dict(shared)) == set(range(4))
        assert os.getpid() not in shared.values()


def test_changes_while_a_worker_is_at_one_task(
    pool: Executor, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for it without end, and hold up no call: the worker finds the last of them at its next task."""
    long = pool.submit(tasks.hold, gate.folder)
    gate.wait_started()
    for i in range(100):
        monkeypatch.setenv("CELLMILL_TEST", str(i))
        assert pool.submit(os.getenv, "CELLMILL_TEST").result(SECONDS) == str(i)
    gate.release()
    long.result(SECONDS)
    assert set(pool.run_on_workers(lambda: os.environ["CELLMILL_TEST"])) == {"99"}


def test_environment(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELLMILL_TEST", "one")
    assert pool.submit(os.getenv, "CELLMILL_TEST").result() == "one"
    monkeypatch.setenv("CELLMILL_TEST", "two")
    assert set(pool.map(os.getenv, ["CELLMILL_TEST"] * 20)) == {"two"}
    monkeypatch.delenv("CELLMILL_TEST")
    assert pool.submit(os.getenv, "CELLMILL_TEST").result() is None


def test_changes_between_calls_in_a_row(pool: Executor, tmp_path: Path) -> None:
    """Each task sees the change made right before it was submitted, or one that came later."""
    folders = [tmp_path / str(i) for i in range(50)]
    for folder in folders:
        folder.mkdir()
    before = os.getcwd()
    try:
        directories = []
        for folder in folders:
            os.chdir(folder)
            directories.append(pool.submit(os.getcwd))
    finally:
        os.chdir(before)
    variables = []
    try:
        for i in range(200):
            os.environ["CELLMILL_TEST"] = str(i)
            variables.append(pool.submit(os.getenv, "CELLMILL_TEST"))
        assert all(int(f.result()) >= i for i, f in enumerate(variables))
    finally:
        os.environ.pop("CELLMILL_TEST", None)
    seen = [f.result() for f in directories]
    assert all(at == before or folders.index(Path(at)) >= i for i, at in enumerate(seen))


def test_changes_while_tasks_wait_are_told(
    fresh: Executor, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notices_anew: None
) -> None:
    """Those that have not begun see them, other than at their call."""
    fresh.submit(os.getpid).result(SECONDS)
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started(2)
    waiting = [fresh.submit(os.getcwd) for _ in range(8)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CELLMILL_TEST_MODE", "other")
    with (
        pytest.warns(RuntimeWarning, match=r"the working directory changed while \d+ tasks had not begun"),
        pytest.warns(RuntimeWarning, match=r"os\.environ\['CELLMILL_TEST_MODE'\] changed while"),
    ):
        waiting.append(fresh.submit(os.getcwd))
    gate.release(2)
    assert [each.result(SECONDS) for each in held] == [0, 1]
    assert waiting[-1].result(SECONDS) == str(tmp_path)
    monkeypatch.setenv("CELLMILL_TEST_MODE", "third")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fresh.submit(os.getcwd).result(SECONDS) == str(tmp_path)


def test_path(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cellmill_found_later.py").write_text("VALUE = 7\n")
    expression = "__import__('cellmill_found_later').VALUE"
    assert isinstance(pool.submit(eval, expression).exception(), ModuleNotFoundError)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert pool.submit(eval, expression).result() == 7


def test_arguments_of_the_program(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that are set between calls, and added to the list."""

    def asked() -> list[str]:
        return sys.argv

    assert pool.submit(asked).result() == sys.argv
    for arguments in (["program", "--quick"], ["other"]):
        monkeypatch.setattr(sys, "argv", arguments)
        assert pool.submit(asked).result() == arguments
    sys.argv.append("last")
    assert pool.submit(asked).result() == ["other", "last"]


def test_new_workers_see_it_too(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CELLMILL_TEST", "early")
    with Executor(1) as executor:
        assert executor.submit(os.getcwd).result() == str(tmp_path)
        assert executor.submit(os.getenv, "CELLMILL_TEST").result() == "early"


def test_every_executor_hears_of_it(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Executor(2) as other:
        other.run_on_workers(int)
        pool.run_on_workers(int)
        monkeypatch.chdir(tmp_path)
        assert pool.submit(os.getcwd).result() == str(tmp_path)
        assert other.submit(os.getcwd).result() == str(tmp_path)


def test_directory_that_is_gone(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert pool.submit(tasks.double, 1).result() == 2
    finally:
        os.chdir(tmp_path)


@pytest.mark.parametrize(
    "flags",
    [
        *(pytest.param(flags, marks=pytest.mark.long) for flags in ((), ("-O",))),
        ("-OO", "-X", "utf8", "-X", "dev"),
    ],
    ids=" ".join,
)
def test_flags_of_the_interpreter(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """With -O there are no assertions in modules of the user's, in the program and in its tasks."""
    (tmp_path / "checked.py").write_text("def root(x):\n    assert x > 0, 'no root'\n    return -x\n")
    script = tmp_path / "script.py"
    script.write_text("""
import sys, checked
from cellmill import Executor

def outcome(function, *args):
    try:
        return function(*args)
    except AssertionError as error:
        return str(error)

def flags():
    return sys.flags.optimize, sys.flags.utf8_mode, sys.flags.dev_mode

with Executor(1) as ex:
    assert ex.submit(outcome, checked.root, -1).result() == outcome(checked.root, -1)
    if ex.submit(flags).result() != flags():
        sys.exit(str(ex.submit(flags).result()))
""")
    run = subprocess.run([sys.executable, *flags, script], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "")


def test_random_streams_differ(fresh: Executor) -> None:
    def draw() -> tuple[float, ...]:
        return tuple(random.random() for _ in range(4))

    first, second = fresh.run_on_workers(draw)
    assert first != second
    with Executor(2) as other:
        assert len({first, second, *other.run_on_workers(draw)}) == 4


def test_numpy_random_streams_differ() -> None:
    numpy = pytest.importorskip("numpy")

    def draw() -> bytes:
        return bytes(numpy.random.random(4).tobytes())

    with Executor(2, preload=["numpy"]) as executor:
        first, second = executor.run_on_workers(draw)
    assert first != second


def test_workers_have_no_terminal_and_are_apart_from_the_kernel(pool: Executor) -> None:
    kernel = os.getsid(0)

    def look() -> tuple[bytes, bool, bool]:
        return os.read(0, 1), os.getpgid(0) == os.getpid(), os.getsid(0) != kernel

    assert pool.submit(look).result() == (b"", True, True)


# -- how warnings and log records are told


def warn(category: type[Warning], text: str = "by hand") -> None:
    warnings.warn(text, category, stacklevel=1)


def told(executor: Executor, category: type[Warning], text: str = "by hand") -> str:
    """What becomes of a warning in a task: "raised", "shown" or "ignored"."""

    def look() -> str:
        with warnings.catch_warnings(record=True) as caught:
            try:
                warnings.warn(text, category, stacklevel=1)
            except category:
                return "raised"
        return "shown" if caught else "ignored"

    found: str = executor.submit(look).result(SECONDS)
    return found


class Own(UserWarning):
    """A category of the notebook's own."""


def test_filters_of_warnings(fresh: Executor) -> None:
    fresh.run_on_workers(int)
    with warnings.catch_warnings():
        warnings.resetwarnings()
        assert told(fresh, DeprecationWarning) == "shown"
        warnings.simplefilter("ignore")
        assert told(fresh, UserWarning) == "ignored"
        warnings.filterwarnings("error", message="b[a-z]+ hand", category=DeprecationWarning)
        assert told(fresh, DeprecationWarning) == "raised"
        assert told(fresh, DeprecationWarning, "else") == "ignored"
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            assert told(fresh, DeprecationWarning) == "shown"
        assert told(fresh, DeprecationWarning) == "raised"
        with pytest.raises(DeprecationWarning):  # a map as well
            list(fresh.map(warn, [DeprecationWarning]))
        warnings.simplefilter("default", append=True)
        warnings.filterwarnings("error", category=Own)  # by value: workers know it under its name
        assert told(fresh, Own) == "raised"
        assert told(fresh, UserWarning) == "ignored"
        with Executor(1) as new:  # a worker that was not there yet
            assert told(new, Own) == "raised"


def test_filters_for_modules_that_come_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A category is found though its module is imported by the task; filters that come with that module stay."""
    code = "import warnings\nclass Late(Warning): pass\nwarnings.filterwarnings('error', message='theirs')\n"
    (tmp_path / "cellmill_warns.py").write_text(code)
    prepend_to_path(monkeypatch, tmp_path)
    with Executor(1) as one, warnings.catch_warnings():  # one: the worker that has imported the module
        import cellmill_warns  # type: ignore[import-not-found]

        warnings.resetwarnings()
        warnings.filterwarnings("ignore", category=cellmill_warns.Late)
        assert told(one, cellmill_warns.Late) == "ignored"
        warnings.filterwarnings("ignore", message="something else")
        assert told(one, UserWarning, "theirs") == "raised"
        assert told(one, UserWarning, "ours") == "shown"
    sys.modules.pop("cellmill_warns")


def test_every_change_of_filters_in_a_row(fresh: Executor) -> None:
    """Seen by the very next call, and calls without one between them cost no look."""
    with warnings.catch_warnings():
        for _ in range(20):
            warnings.simplefilter("error")
            raised = [fresh.submit(warn, UserWarning) for _ in range(3)]
            assert all(isinstance(f.exception(SECONDS), UserWarning) for f in raised)
            warnings.simplefilter("ignore")
            ignored = [fresh.submit(warn, UserWarning) for _ in range(3)]
            assert not any(f.exception(SECONDS) for f in ignored)


def effective(name: str) -> int:
    return logging.getLogger(name).getEffectiveLevel()


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """One of its own, and the root's level as before."""
    before = logging.root.level
    made = logging.getLogger("cellmill_test")
    yield made
    made.setLevel(logging.NOTSET)
    logging.root.setLevel(before)
    logging.disable(logging.NOTSET)


def test_log_levels(fresh: Executor, pool: Executor, logger: logging.Logger) -> None:
    name = logger.name
    fresh.run_on_workers(int)
    pool.run_on_workers(int)
    logging.root.setLevel(logging.ERROR)
    assert fresh.submit(effective, name).result(SECONDS) == logging.ERROR
    logger.setLevel(logging.DEBUG)
    assert pool.submit(effective, name).result(SECONDS) == logging.DEBUG
    assert fresh.submit(effective, name).result(SECONDS) == logging.DEBUG
    assert fresh.submit(effective, "another").result(SECONDS) == logging.ERROR
    logger.setLevel(logging.NOTSET)
    assert set(fresh.map(effective, [name] * 20)) == {logging.ERROR}
    logging.disable(logging.CRITICAL)
    assert not fresh.submit(logging.root.isEnabledFor, logging.CRITICAL).result(SECONDS)
    logging.disable(logging.NOTSET)
    assert fresh.submit(logging.root.isEnabledFor, logging.CRITICAL).result(SECONDS)
    levels = [10 + i % 7 for i in range(100)]
    asked = []
    for level in levels:
        logger.setLevel(level)
        asked.append(fresh.submit(effective, name))
    assert asked[-1].result(SECONDS) == levels[-1]


def test_levels_that_a_task_sets_stay(logger: logging.Logger) -> None:
    with Executor(1) as executor:
        executor.submit(logger.setLevel, 5).result(SECONDS)
        logging.root.setLevel(logging.ERROR)
        assert executor.submit(effective, logger.name).result(SECONDS) == 5
        assert executor.submit(effective, "another").result(SECONDS) == logging.ERROR
