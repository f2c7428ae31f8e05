"""For all tests."""

from __future__ import annotations

import contextlib
import gc

import pytest

with contextlib.suppress(ModuleNotFoundError):  # tests of an installed wheel do without
    from hypothesis import HealthCheck, settings

    # A busy machine is no failure.
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collections of garbage pass over what pytest keeps of the tests: it would be most of what they look at."""
    gc.collect()
    gc.freeze()
