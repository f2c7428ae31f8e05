"""Some seconds, or ten minutes, of everything at once; see `soak`."""

from __future__ import annotations

import pytest

from tests.faults.alone import alone


def test_some_seconds() -> None:
    alone("from tests.faults.soak import soak; soak(1, 1)", 200)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_ten_minutes() -> None:
    alone("from tests.faults.soak import soak; soak(600, 30)", 1400)
