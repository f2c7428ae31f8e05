"""Random graphs of tasks with random faults end as a plain reading of their rules says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellmill
from cellmill import Executor, Future
from tests.faults.nodes import perform, value_of

WAIT_S = 60.0
LIMIT_S = 0.1  # of tasks that run too long, and of no others: nothing here depends on speed
FATES = (
    "value",
    "value",
    "value",
    "value",
    "none",
    "large",
    "raises",
    "dies",
    "late",
    "refuses to be pickled",
)


@dataclass(frozen=True)
class Node:
    """A task: what it does in each attempt (the last one again and again), what it waits for, how often it may try."""

    attempts: tuple[str, ...]
    inputs: tuple[int, ...]  # earlier nodes whose results it takes
    after: tuple[int, ...]  # earlier nodes that only have to end well
    retries: int
    cancelled: bool  # before it can begin


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 14))):
        earlier = st.lists(st.integers(0, number - 1), max_size=3) if number else st.just([])
        fates = draw(st.lists(st.sampled_from(FATES), min_size=1, max_size=3))
        if "late" in fates:
            fates = ["late"]
        inputs, after = tuple(draw(earlier)), tuple(set(draw(earlier)))
        retries = draw(st.sampled_from((0, 0, 1, 2)))
        nodes.append(Node(tuple(fates), inputs, after, retries, draw(st.integers(0, 9)) == 0))
    return nodes


# -- what must come of it, in plain Python


def expected(nodes: list[Node]) -> list[Any]:
    """Of each node its value, or the type of its error."""
    ends: list[Any] = []
    over = never_run(nodes)
    for number, node in enumerate(nodes):
        before = [ends[i] for i in node.inputs + node.after]
        if node.cancelled and not any(over[i] for i in node.inputs + node.after):
            ends.append(CancelledError)
        elif any(isinstance(end, type) for end in before):
            ends.append(cellmill.DependencyError)
        else:
            values = [ends[i] for i in node.inputs]
            ends.append(end_of(node, number, values))
    return ends


def never_run(nodes: list[Node]) -> list[bool]:
    """Of each node whether it is over before anything begins: cancelled, or after one that is."""
    over: list[bool] = []
    for node in nodes:
        over.append(node.cancelled or any(over[i] for i in node.inputs + node.after))
    return over


def end_of(node: Node, number: int, values: list[Any]) -> Any:
    end: Any = None
    for attempt in range(node.retries + 1):
        fate = node.attempts[min(attempt, len(node.attempts) - 1)]
        if fate in ("value", "none", "large"):
            return value_of(fate, number, values)
        end = {
            "raises": LookupError,
            "dies": cellmill.WorkerLostError,
            "late": cellmill.TaskTimeoutError,
            "refuses to be pickled": cellmill.PayloadError,
        }[fate]
    return end


# -- the same on workers


def submit(pool: Executor, nodes: list[Node], folder: str) -> list[Future]:
    futures: list[Future] = []
    for number, node in enumerate(nodes):
        options = pool.options(
            retries=node.retries,
            timeout=LIMIT_S if node.attempts == ("late",) else None,
            after=[futures[i] for i in node.after],
        )
        values = [futures[i] for i in node.inputs]
        futures.append(options.submit(perform, folder, number, node.attempts, values))
        if node.cancelled:  # the pool is paused: it has not begun
            assert futures[-1].cancel() or isinstance(futures[-1].exception(), cellmill.DependencyError)
    return futures


def end(future: Future) -> Any:
    try:
        error = future.exception(WAIT_S)
    except CancelledError:
        return CancelledError
    return future.result() if error is None else type(error)


def check(pool: Executor, nodes: list[Node], folder: Path) -> None:
    folder.mkdir()
    pool.pause()
    futures = submit(pool, nodes, str(folder))
    pool.resume()
    ends = [end(future) for future in futures]
    assert ends == expected(nodes)
    for number, node in enumerate(nodes):  # none was tried more often than it may, and none in vain
        tried = len(list(Path(folder, str(number)).iterdir())) if Path(folder, str(number)).exists() else 0
        ran = ends[number] not in (CancelledError, cellmill.DependencyError)
        assert tried <= node.retries + 1
        assert bool(tried) == ran or "late" in node.attempts  # its time may be over before it begins
    stats = pool.stats()
    assert stats.done == stats.submitted


class Folders:
    def __init__(self, path: Path) -> None:
        self._path, self._count = path, 0

    def next(self) -> Path:
        self._count += 1
        return self._path / str(self._count)


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with Executor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders(tmp_path_factory.mktemp("graphs"))


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=25, derandomize=True, deadline=None, database=None, suppress_health_check=QUIET)
@given(nodes=graphs())
def test_some_graphs(pool: Executor, folders: Folders, nodes: list[Node]) -> None:
    check(pool, nodes, folders.next())


@pytest.mark.long
@pytest.mark.timeout(1800)
@settings(max_examples=1000, deadline=None, database=None, suppress_health_check=QUIET)
@given(nodes=graphs())
def test_many_graphs(pool: Executor, folders: Folders, nodes: list[Node]) -> None:
    check(pool, nodes, folders.next())
