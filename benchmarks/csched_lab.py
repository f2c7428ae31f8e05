"""The module of csched that is compiled for the laboratory alone: bare rings and zero workers."""

from __future__ import annotations

from cellmill.bench.harness import BenchmarkError

try:
    from ._csched_lab import ffi as lab_ffi
    from ._csched_lab import lib as lab
except ImportError as error:
    raise BenchmarkError(f"{error}: `make setup` compiles it, or `python hatch_build.py`") from None

__all__ = ["lab", "lab_ffi"]
