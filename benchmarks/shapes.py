"""Task graphs without bodies: the shapes that `scheduler_alone` replays.

The recorded ones are in the folder ``task_graphs``; see the README there.
"""

from __future__ import annotations

import gzip
import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("task_graphs")


@dataclass(frozen=True, slots=True)
class Graph:
    """Tasks 0 .. n-1 in topological order; those that task i waits for are ``inputs[ends[i-1]:ends[i]]``."""

    ends: array[int]
    inputs: array[int]

    @property
    def tasks(self) -> int:
        """How many tasks."""
        return len(self.ends)

    @property
    def edges(self) -> int:
        """How many dependencies."""
        return len(self.inputs)

    def rows(self) -> list[list[int]]:
        """The inputs of each task as a list."""
        rows, begin = [], 0
        for end in self.ends:
            rows.append(self.inputs[begin:end].tolist())
            begin = end
        return rows


def graph_of(rows: Iterable[Iterable[int]]) -> Graph:
    """The graph whose task i waits for the tasks in row i."""
    ends, inputs = array("Q"), array("Q")
    for row in rows:
        inputs.extend(row)
        ends.append(len(inputs))
    return Graph(ends, inputs)


def independent(tasks: int) -> Graph:
    """No dependencies."""
    return graph_of(() for _ in range(tasks))


def merge(leaves: int) -> Graph:
    """Independent tasks, and one that takes all their results (merge-n of the RSDS paper)."""
    ends = array("Q", [0]) * leaves
    ends.append(leaves)
    return Graph(ends, array("Q", range(leaves)))


def tree(depth: int) -> Graph:
    """A binary reduction of 2^depth leaves: 2^(depth+1) - 1 tasks."""
    leaves = 2**depth
    rows: list[tuple[int, ...]] = [()] * leaves
    rows += [(2 * i, 2 * i + 1) for i in range(leaves - 1)]
    return graph_of(rows)


def stencil(width: int, steps: int) -> Graph:
    """Each task waits for three neighbours of the step before, or two at the edges."""
    rows: list[range] = [range(0)] * width
    for step in range(steps - 1):
        first = step * width
        rows += [range(first + max(j - 1, 0), first + min(j + 2, width)) for j in range(width)]
    return graph_of(rows)


def recorded_names() -> list[str]:
    """Names of the recorded graphs."""
    return sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


def recorded(name: str) -> Graph:
    """A recorded graph."""
    return graph_of(json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes())))
