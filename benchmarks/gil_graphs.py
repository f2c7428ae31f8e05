"""The task graphs of the CyRun paper (table 3), in any size; see `shapes` for what a graph is."""

from __future__ import annotations

from collections.abc import Callable

from .shapes import Graph, graph_of, independent, stencil


def sweep(width: int, steps: int) -> Graph:
    """Each task waits for the one before it in its row and the one above."""
    return graph_of(
        [*([(t - 1) * width + j] if t else []), *([t * width + j - 1] if j else [])]
        for t in range(steps)
        for j in range(width)
    )


def fft(width: int, levels: int) -> Graph:
    """The butterfly: a row waits for its own place in the row before it, and for those 2^(levels - i) beside it."""
    rows: list[list[int]] = [[] for _ in range(width)]
    for i in range(1, levels + 1):
        step, first = 2 ** (levels - i), (i - 1) * width
        rows += [[first + k for k in (j, j - step, j + step) if 0 <= k < width] for j in range(width)]
    return graph_of(rows)


def scatter_reduction(levels: int) -> Graph:
    """A binary tree of so many levels below its root, and then its mirror."""
    rows: list[list[int]] = [[]]
    before = [0]
    for level in range(1, levels + 1):
        here = [len(rows) + k for k in range(2**level)]
        rows += [[before[k // 2]] for k in range(2**level)]
        before = here
    while len(before) > 1:
        here = [len(rows) + k for k in range(len(before) // 2)]
        rows += [[before[2 * k], before[2 * k + 1]] for k in range(len(before) // 2)]
        before = here
    return graph_of(rows)


def cholesky(blocks: int) -> Graph:
    """Of a matrix of so many blocks a side: T = B + B(B-1) + B(B-1)(B-2)/6."""
    number: dict[tuple[object, ...], int] = {}
    rows: list[list[int]] = []

    def add(name: tuple[object, ...], *inputs: tuple[object, ...]) -> None:
        number[name] = len(rows)
        rows.append([number[i] for i in inputs])

    for j in range(blocks):
        add(("potrf", j), *(("syrk", j, k) for k in range(j)))
        for i in range(j + 1, blocks):
            for k in range(j):
                if ("gemm", i, j, k) not in number:
                    before = [("gemm", i, j, m) for m in range(k)]
                    add(("gemm", i, j, k), ("solve", i, k), ("solve", j, k), *before)
            add(("solve", i, j), ("potrf", j), *(("gemm", i, j, k) for k in range(j)))
            add(("syrk", i, j), ("solve", i, j), *(("syrk", i, k) for k in range(j)))
    return graph_of(rows)


def map_reduce(steps: int, width: int) -> Graph:
    """So many times: maps that wait for the reduction before them, and the reduction of them."""
    rows: list[list[int]] = []
    for step in range(steps):
        before = [len(rows) - 1] if step else []
        first = len(rows)
        rows += [before] * width
        rows.append(list(range(first, first + width)))
    return graph_of(rows)


SUITE: dict[str, tuple[str, Callable[..., Graph], tuple[int, ...], tuple[int, ...]]] = {
    "independent": ("independent tasks", independent, (1000,), (16,)),
    "stencil": ("stencil", stencil, (32, 32), (4, 4)),
    "sweep": ("sweep", sweep, (32, 32), (4, 4)),
    "fft": ("FFT butterfly", fft, (65, 7), (5, 2)),
    "scatter": ("scatter and reduction", scatter_reduction, (8,), (2,)),
    "cholesky": ("Cholesky", cholesky, (16,), (3,)),
    "map_reduce": ("map and reduce", map_reduce, (60, 16), (2, 4)),
}
"""Of each graph: its name for people, what makes it, its size in a full and in a quick run."""
