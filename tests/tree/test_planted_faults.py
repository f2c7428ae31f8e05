"""Faults that `scripts/plant_faults.py` plants are in today's text, and the tests that are to find them exist."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plant_faults", ROOT / "scripts" / "plant_faults.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclass
    spec.loader.exec_module(module)
    return module


def test_each_can_be_planted_once(script: ModuleType) -> None:
    counts = {name: (ROOT / fault.path).read_text().count(fault.old) for name, fault in script.FAULTS.items()}
    assert len(counts) >= 30
    assert {name: count for name, count in counts.items() if count != 1} == {}


def test_the_tests_of_each_exist(script: ModuleType) -> None:
    missing = [
        (name, each)
        for name, fault in script.FAULTS.items()
        for each in fault.tests.split()
        if not (ROOT / (each if "/" in each else f"csched/tests/{each}.c")).exists()
    ]
    assert missing == []
