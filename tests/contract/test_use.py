"""What workers use, on all backends: each worker's memory is that of its own process, and a function's is the most that
a worker had while it ran it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import cellmill
from cellmill import Executor
from cellmill.views.sections.workers import WorkersSection
from tests.contract.abilities import Abilities, each_cluster, elsewhere, later
from tests.support.waiting import until

BLOCK = 600 << 20  # more than a worker has that has imported what the tests before did


def large(gate: str) -> int:
    """Hold a block of memory until told."""
    kept = bytearray(b"x") * BLOCK
    while not Path(gate).exists():
        time.sleep(0.005)
    return len(kept)


def workers(executor: Executor) -> list[Any]:
    """The workers as views see them, once all tell their memory."""
    found: list[Any] = until(
        lambda: (
            (frame := WorkersSection().frame(executor))
            and all(worker["memory"] for worker in frame["workers"])
            and frame["workers"]
        )
    )
    return found


@each_cluster
@elsewhere
def test_memory_of_workers_and_functions(ex: Executor, able: Abilities, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    results = ex.map(large, [str(gate)])

    def holding() -> list[dict[str, Any]]:
        told = workers(ex)
        assert len(told) == able.workers
        found = [worker for worker in told if worker["memory"] > BLOCK]
        return found if len(found) == 1 else []  # another may give back what it had before

    try:
        until(lambda: (cellmill.runs()[-1].memory or 0) > BLOCK)
        (has,) = until(holding)
        assert has["function"] == "large"
        assert (has["address"] is None) == (able.package is None)
        assert (has["limit"] is not None) == (ex.backend == "dask")
        if has["limit"] is not None:
            assert BLOCK < has["memory"] <= has["resident"] < has["limit"]
        points = until(lambda: ex._backend.use.points(0))  # type: ignore[union-attr]
        assert max(point.memory for point in points[-20:] if point.memory == point.memory) > BLOCK
    finally:
        gate.touch()
    assert list(results) == [BLOCK]


def wait(gate: str) -> str:
    """Look again and again, until told."""
    while not Path(gate).exists():
        time.sleep(0.001)
    return gate


@later
def test_workers_over_time(ex: Executor, able: Abilities, tmp_path: Path) -> None:
    """Threads of the kernel have its processors and memory, which count once."""
    gate = tmp_path / "gate"
    result = ex.submit(wait, str(gate))

    def busy() -> bool:
        points = ex._backend.use.points(0)  # type: ignore[union-attr]
        last = points[-1] if points else None
        return last is not None and (last.busy, last.idle) == (1, able.workers - 1) and last.cpu > 0

    until(busy)
    last = ex._backend.use.points(0)[-1]  # type: ignore[union-attr]
    assert last.memory > 0
    if not able.apart:
        assert last.kernel != last.kernel  # it is the workers' process
        assert last.memory < last.used
        told = workers_of(ex)
        assert [worker["shares"] for worker in told] == [None, told[0]["index"]]
        assert [bool(worker["memory"]) for worker in told] == [True, False]
    gate.touch()
    assert result.result() == str(gate)


def workers_of(executor: Executor) -> list[Any]:
    frame = WorkersSection().frame(executor)
    assert frame is not None
    return list(frame["workers"])
