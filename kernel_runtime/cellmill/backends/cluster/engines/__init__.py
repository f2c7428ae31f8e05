"""The runtimes that tasks can be sent to: Dask and Ray, each as `protocol.py` asks it to be."""

from __future__ import annotations

LONG_SECONDS = 1.0
"""Of a pack, from which on a cluster of our own has a worker to spare."""
