"""How many workers the cgroup and the affinity allow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cellmill import Executor
from cellmill.process_context.cpus import available_cpus


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("1600000 100000", 8),
        ("nonsense", 8),
        ("1 0", 8),
        ("", 8),
    ],
)
def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    file = tmp_path / "cpu.max"
    file.write_text(limit)
    assert available_cpus(file) == expected


def test_without_a_cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert available_cpus(tmp_path / "missing") == 1


def test_without_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus(tmp_path / "missing") == 1


def test_default_number_of_workers() -> None:
    with Executor() as executor:
        assert executor.max_workers == available_cpus()
