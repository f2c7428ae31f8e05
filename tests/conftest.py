"""For all tests: pools that many tests share and those that one may break, programs, kernels."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.local import zygote_client
from cellmill.diagnostics import notices
from tests.support import costs, hung_browsers, tasks
from tests.support.helpers import SECONDS, Gate, run_script
from tests.support.programs import PRINTS, START

if TYPE_CHECKING:
    from tests.support.notebook import Notebook
    from tests.support.rays import OwnRay

with contextlib.suppress(ModuleNotFoundError):  # tests of an installed wheel do without
    from hypothesis import HealthCheck, settings

    # A busy machine is no failure.
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")

# nbformat's schemas do without one of their formats: its parser is made on import, in most of nbformat's time.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

if sys.version_info < (3, 12):  # Dask's profiler may deadlock a process there, see dask_options.own_settings
    os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")

# Dask's workers end in a quarter of the time when nothing looks through what they have imported, and take half of it
# while they have nothing to do when they look 2 times a second, not 50, whether their loop answers.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PRELOAD", "import gc; gc.freeze()")
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL", "500ms")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # in a shell's background job; programs would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--costs", type=Path, metavar="FILE", help="write what each test costs, see tests/support/costs.py"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(hung_browsers)
    if config.option.costs is not None:
        config.pluginmanager.register(costs.Costs(config.option.costs))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collections of garbage pass over what pytest keeps of the tests: it would be most of what they look at."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """The same of what the modules of tests before this one have loaded and left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def loaded_in_workers() -> None:
    """Where a module's tests find a zygote, what it forks has pytest: see `preload_pytest`."""
    if zygote_client._shared is not None:
        preload_pytest()


def preload_pytest() -> None:
    """Modules of tests import pytest: each worker that takes a function from one would, for longer than most tests."""
    zygote = zygote_client.shared()
    if "pytest" not in zygote.modules:
        zygote.preload(["pytest"])


@pytest.fixture
def notices_anew() -> Iterator[None]:
    """Notices that are given once are given again."""
    notices.forget()
    yield
    notices.forget()


@pytest.fixture(scope="session")
def pool() -> Iterator[Executor]:
    """Two workers."""
    preload_pytest()
    with Executor(2) as executor:
        yield executor


@pytest.fixture(scope="session")
def inline() -> Iterator[Executor]:
    with Executor(backend="inline") as executor:
        yield executor


@pytest.fixture(params=["local", "inline"])
def ex(request: pytest.FixtureRequest) -> Executor:
    """Each backend in turn: what is asked of both."""
    found = request.getfixturevalue("pool" if request.param == "local" else "inline")
    assert isinstance(found, Executor)
    return found


@pytest.fixture
def fresh() -> Iterator[Executor]:
    """Two workers of its own, to be killed, paused or closed."""
    executor = Executor(2)
    yield executor
    executor.shutdown(cancel_futures=True)


@pytest.fixture
def default(fresh: Executor) -> Iterator[Executor]:
    """The same, as the executor that calls take where none is named."""
    before = cellmill.peek_default_executor()
    cellmill.set_default_executor(fresh)
    yield fresh
    cellmill.set_default_executor(before)


@pytest.fixture(scope="session")
def own_ray() -> Iterator[OwnRay]:
    """A Ray of Cellmill's own: starting one takes the processor many seconds."""
    from tests.support import rays

    with rays.own_ray() as found:
        yield found


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    folder = tmp_path / "gate"
    folder.mkdir()
    made = Gate(folder)
    yield made
    made.close()


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Run a program in a process of its own; its stdout, when it wrote nothing to stderr."""

    def run(code: str, *args: str) -> str:
        out, err = run_script(tmp_path, code, *args)
        assert not err, err
        return out

    return run


@pytest.fixture
def tests_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs import the package `tests`."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]), prepend=":")


@pytest.fixture
def program(script: Callable[..., str]) -> Callable[[str], str]:
    """The same, after the lines that many programs begin with."""
    return lambda code: script(START + code)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """What this task and these lines in its executor's block show on stdout and stderr, in this process."""

    def run(task: str, lines: str = "ex.submit(task).result()", how: str = "1") -> tuple[str, str]:
        body = "\n".join(f"    {line}" for line in lines.splitlines())
        capfd.readouterr()
        exec(f"{PRINTS}{task}\nwith Executor({how}) as ex:\n{body}\n", {"__name__": "__main__"})
        return capfd.readouterr()

    return run


@pytest.fixture
def said_alone(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """The same of a program, whose memory and modules are its own."""

    def run(task: str, lines: str = "ex.submit(task).result()", how: str = "1") -> tuple[str, str]:
        body = "\n".join(f"    {line}" for line in lines.splitlines())
        return run_script(tmp_path, f"{PRINTS}{task}\nwith Executor({how}) as ex:\n{body}\n")

    return run


@pytest.fixture
def next_task_works(pool: Executor) -> Iterator[None]:
    """After every test the same workers take the next task."""
    yield
    assert pool.submit(tasks.double, 4).result(SECONDS) == 8


@pytest.fixture
def workers(pool: Executor) -> Iterator[None]:
    """No worker is lost in this test."""
    deadline = time.monotonic() + SECONDS  # one that a test before ended may still be on its way
    while [w.state for w in pool.workers()] != ["idle"] * 2:
        assert time.monotonic() < deadline
        pool.submit(tasks.double, 1).result(SECONDS)
    before = sorted(pool.run_on_workers(os.getpid))
    yield
    assert sorted(pool.run_on_workers(os.getpid)) == before


@pytest.fixture(scope="module")
def kernel() -> Iterator[Notebook]:
    """A kernel with Cellmill loaded and two workers, for all tests of a module: starting one takes a second."""
    from tests.support.notebook import Notebook  # tests of an installed wheel have no Jupyter

    notebook = Notebook()
    try:
        notebook.run("%load_ext cellmill").ok()
        notebook.run("%cellmill workers 2").ok()
        yield notebook
    finally:
        notebook.close()


@pytest.fixture
def notebook(kernel: Notebook) -> Notebook:
    """The module's kernel without the variables of earlier tests."""
    kernel.reset()
    kernel.outputs.clear()
    return kernel
