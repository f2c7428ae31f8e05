"""What ``python -m benchmarks`` runs: every benchmark, then the table of figures."""

from __future__ import annotations

from cellmill.bench.command import Suite

from . import INDEX, figures, run

SUITE = Suite("python -m benchmarks", INDEX, run, {figures.NAME: figures.SUMMARY})
