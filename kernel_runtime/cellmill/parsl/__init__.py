"""Parsl's apps on Cellmill's workers.

::

    import parsl
    from parsl.config import Config
    from cellmill.parsl import CellmillExecutor

    parsl.load(Config(executors=[CellmillExecutor(max_workers=4)]))
"""

from __future__ import annotations

from .executor import CellmillExecutor

__all__ = ["CellmillExecutor"]
