"""A pool for all tests that leave it usable, and one for each test that does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cellmill import Executor
from tests.core.helpers import Gate, run_script


@pytest.fixture(scope="session")
def pool() -> Iterator[Executor]:
    """Two workers."""
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
