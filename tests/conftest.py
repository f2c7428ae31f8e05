"""For all tests."""

from __future__ import annotations

import contextlib
import gc
import signal

import pytest

with contextlib.suppress(ModuleNotFoundError):  # tests of an installed wheel do without
    from hypothesis import HealthCheck, settings

    # A busy machine is no failure.
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # in a shell's background job; programs would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collections of garbage pass over what pytest keeps of the tests: it would be most of what they look at."""
    gc.collect()
    gc.freeze()
