"""Sweeps: a function over the points that the axes of its parameters span, run as tasks and looked at by hand."""

from __future__ import annotations
