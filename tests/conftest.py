"""For all tests."""

from __future__ import annotations

import gc

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collections of garbage pass over what pytest keeps of the tests: it would be most of what they look at."""
    gc.collect()
    gc.freeze()
