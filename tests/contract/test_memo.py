"""Results that are kept, wherever tasks run."""

from __future__ import annotations

from pathlib import Path

import numpy

import cellmill
from cellmill import Executor


def test_kept_results_come_back_from_every_backend(ex: Executor, tmp_path: Path) -> None:
    offset = 1

    def f(x: int) -> tuple[int, numpy.ndarray]:
        return x + offset, numpy.full(3000, x)

    for where in True, str(tmp_path / "store"):
        g = cellmill.parallel(memo=where, executor=ex)(f)
        g.cache_clear()
        for offset in 1, 2, 1:
            for given in [4], [3, 4, 5], [5, 4, 3]:
                found = list(g.map(given))
                assert [x for x, _ in found] == [x + offset for x in given]
                assert all(
                    (array == x).all() and array.flags.writeable
                    for x, (_, array) in zip(given, found, strict=True)
                )
            assert g(4).result()[0] == 4 + offset
        assert g.cache_info()[:3] == (24 - 6, 6, 6)
