"""Parsl's apps on Cellmill's workers, through Parsl's own data-flow kernel."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import parsl
import pytest
from parsl.app.errors import AppTimeout
from parsl.executors.errors import InvalidResourceSpecification

import cellmill
from cellmill import PayloadError, UsageError
from cellmill.parsl import CellmillExecutor
from tests.support.helpers import SECONDS


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("parsl")
    executor = CellmillExecutor(max_workers=1, options={"resources": {"gpus": 1}})
    config = parsl.Config(
        executors=[executor],
        retries=1,
        run_dir=str(folder / "runs"),
        initialize_logging=False,
    )
    with parsl.load(config) as loaded:
        yield loaded


pytestmark = pytest.mark.usefixtures("kernel")


@parsl.python_app
def increment(x: int) -> int:
    return x + 1


@parsl.python_app
def total(*values: int, inputs: Any = ()) -> int:
    return sum(values) + sum(inputs)


@parsl.python_app
def process(**_: Any) -> int:
    return os.getpid()


@parsl.bash_app
def write(text: str, outputs: Any = (), stdout: Any = None) -> str:
    return f"echo {text}; echo {text} > {outputs[0]}" if outputs else f"echo {text}; exit 3"


@parsl.join_app
def fibonacci(n: int) -> Any:
    return total(fibonacci(n - 1), fibonacci(n - 2)) if n > 1 else increment(n - 1)


@parsl.python_app
def fails_at_first(path: str) -> str:
    if os.path.exists(path):
        return "at last"
    open(path, "w").close()
    raise OSError("not yet")


@parsl.python_app
def dies_at_first(path: str) -> str:
    if os.path.exists(path):
        return "at last"
    open(path, "w").close()
    os.abort()


@parsl.python_app
def for_ever(walltime: float = 0.2) -> None:
    while True:
        time.sleep(0.01)


@parsl.python_app(cache=True)
def cached(_: int) -> int:
    return os.getpid()


def test_python_apps_and_what_they_wait_for(kernel: Any) -> None:
    assert increment(increment(1)).result(SECONDS) == 3
    assert total(*[increment(i) for i in range(5)], inputs=[increment(9)]).result(SECONDS) == 25
    assert process().result(SECONDS) != os.getpid()


def test_bash_apps(tmp_path: Path) -> None:
    out = parsl.File(str(tmp_path / "out"))
    made = write("word", outputs=[out], stdout=str(tmp_path / "stdout"))
    assert made.result(SECONDS) == 0
    assert Path(made.outputs[0].result(SECONDS).filepath).read_text() == "word\n"
    with pytest.raises(parsl.app.errors.BashExitFailure, match="3"):
        write("word", stdout=str(tmp_path / "other")).result(SECONDS)


def test_join_apps() -> None:
    assert fibonacci(7).result(SECONDS) == 13


def test_retries_after_an_error_and_after_a_death(tmp_path: Path) -> None:
    assert fails_at_first(str(tmp_path / "a")).result(SECONDS) == "at last"
    assert dies_at_first(str(tmp_path / "b")).result(SECONDS) == "at last"


def test_a_walltime() -> None:
    with pytest.raises(AppTimeout):
        for_ever().result(SECONDS)


def test_memoization() -> None:
    assert cached(1).result(SECONDS) == cached(1).result(SECONDS)


def test_a_future_that_parsl_does_not_wait_for_is_told() -> None:
    """It looks for futures among the arguments alone, not in a dict."""
    with pytest.raises(
        cellmill.PayloadError, match=r"in it, \['a'\] is a AppFuture\. Give the task its value"
    ):
        total({"a": increment(1)}).result(SECONDS)


def test_resource_specifications() -> None:
    asked = {"gpus": 1, "memory": 100, "priority": 3}
    assert process(parsl_resource_specification=asked).result(SECONDS) != os.getpid()
    for wrong in ({"telescopes": 1}, {"gpus": 5}, {"priority": 1000}):
        with pytest.raises(InvalidResourceSpecification):
            process(parsl_resource_specification=wrong).result(SECONDS)


def test_apps_are_seen_by_name(kernel: Any) -> None:
    increment(1).result(SECONDS)
    assert any(run.name == "increment" for run in cellmill.runs())


def test_what_cannot_be_sent_fails_its_app() -> None:
    """Parsl's own way to pickle would make a lock anew in the worker."""
    lock = threading.Lock()

    @parsl.python_app
    def alone(x: int) -> int:
        with lock:
            return x

    with pytest.raises(PayloadError, match=r"argument 1 of increment, a lock, cannot be sent"):
        increment(lock).result(SECONDS)
    with pytest.raises(PayloadError, match=r"the function .*alone cannot be sent"):
        alone(1).result(SECONDS)
    assert increment(1).result(SECONDS) == 2


def test_before_it_was_started() -> None:
    with pytest.raises(UsageError, match=r"parsl\.load\(\) does it"):
        CellmillExecutor().submit(abs, {}, 1)
    assert repr(CellmillExecutor(max_workers=3)).replace("\n", "").startswith("CellmillExecutor(")
