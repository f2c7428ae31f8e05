"""`Pool`: the interface of `multiprocessing.Pool` on Cellmill's workers, for programs and libraries that take one."""

from __future__ import annotations

from .pool import Pool
from .results import AsyncResult, ResultIterator

__all__ = ["AsyncResult", "Pool", "ResultIterator"]
