"""The graphs of table I of the RSDS paper, with the mean duration and output of their tasks.

Those that Dask 2.16 made are recorded in the folder ``task_graphs``; the others have a closed form. ``NAME-n`` of a
closed form may have any n: the paper's own are in `PAPER`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .shapes import Graph, graph_of, independent, merge, recorded, tree

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class Row:
    """A graph of the table; ``us`` and ``bytes`` are the means of its tasks. ``sleeps``: they take no processor."""

    name: str
    family: str
    graph: Graph
    us: float
    bytes: int
    sleeps: bool = False

    @property
    def seconds(self) -> float:
        """How long all its bodies take, one after another."""
        return self.graph.tasks * self.us / 1e6


def wordbag(parts: int) -> Graph:
    """Two steps on each part, then three features of it: 5 tasks and 4 dependencies a part, two steps deep."""
    rows: list[tuple[int, ...]] = []
    for _ in range(parts):
        first = len(rows)
        rows += [(), (first,), (first + 1,), (first + 1,), (first + 1,)]
    return graph_of(rows)


CLOSED: dict[str, tuple[Callable[[int], Graph], float, int]] = {
    "merge": (merge, 6, 27),
    "merge_slow": (merge, 100_000, 23),
    "tree": (lambda n: tree(n - 1), 7, 27),  # its leaves are sums of two numbers of the program
    "vectorizer": (lambda parts: independent(parts + 1), 1_504_000, 10 * MIB),
    "wordbag": (wordbag, 301_000, 5 * MIB),
}
"""By family: the graph of a size, microseconds and bytes of a task."""

RECORDED = {
    "xarray-25": (3_100, int(55.7 * KIB)),
    "xarray-5": (400, int(3.3 * KIB)),
    "bag-25K-10": (1_233_000, 292 * KIB),
    "bag-25K-50": (54_900, int(12.6 * KIB)),
    "numpy-50K-10": (169_000, int(68.5 * MIB)),
    "numpy-50K-50": (8_300, 2999 * KIB),
    "groupby-90-1S-8H": (7_700, 503 * KIB),
    "groupby-90-1S-1H": (3_800, int(64.3 * KIB)),
    "join-1-1S-1H": (33_000, int(15.3 * KIB)),
    "join-1-2s-1H": (1_700, int(3.7 * KIB)),
    "join-1-1S-1T": (9_800, int(9.3 * KIB)),
}
"""Microseconds and bytes of a task."""

PAPER = (
    *(f"merge-{k}000" for k in (10, 15, 20, 25, 30, 50, 100)),
    "merge_slow-5000",
    "merge_slow-20000",
    "tree-15",
    *RECORDED,
    "vectorizer-300",
    "wordbag-50",
)
"""Every graph of the table that is recorded or has a closed form."""


def row(name: str) -> Row:
    """The graph called ``name``."""
    family, _, size = name.partition("-")
    if name in RECORDED:
        us, size_bytes = RECORDED[name]
        return Row(name, family, recorded(name), us, size_bytes)
    make, duration, size_bytes = CLOSED[family]
    return Row(name, family, make(int(size)), duration, size_bytes, sleeps=family == "merge_slow")


def family(name: str) -> str:
    """Whose size ``name`` is one of: merge_slow counts as merge does, once."""
    return name.partition("-")[0].removesuffix("_slow")
