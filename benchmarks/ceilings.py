"""Benchmarks of `cellmill.bench` with contenders beside the runtimes that tell what could be reached at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cellmill.bench.harness import OURS, Benchmark
from cellmill.bench.turn import Sizes

_NO_SIZES: Sizes = {}


def with_ceilings(
    benchmark: Benchmark,
    module: str,
    titles: Mapping[str, str],
    *,
    full: Sizes = _NO_SIZES,
    quick: Sizes = _NO_SIZES,
    note: str = "",
) -> Benchmark:
    """The benchmark with the ceilings that ``titles`` names, measured by the ``turn`` of ``module``."""
    others = (runtime for runtime in benchmark.runtimes if runtime != OURS)
    return replace(
        benchmark,
        module=module,
        runtimes=(OURS, *titles, *others),
        own={**titles, **benchmark.own},
        full={**benchmark.full, **full},
        quick={**benchmark.quick, **quick},
        notes=(*([note] if note else []), *benchmark.notes),
    )
