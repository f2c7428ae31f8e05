"""Tests with a browser run again, once, where the browser hangs: hooks of pytest for all tests that are marked so.

See `tests.browser.chromium`, which is imported only where there is such a test: it needs Playwright.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

WATCH = pytest.StashKey[Any]()


@pytest.hookimpl(trylast=True)  # when folders have marked their own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("browser") is None:
            continue
        from tests.browser import chromium

        item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=[chromium.Hung.__name__]))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(3 * chromium.LIMIT_S))  # for both runs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("browser") is None:
        return (yield)
    from tests.browser import chromium

    (limit,) = item.iter_markers("timeout")
    watch = item.stash[WATCH] = chromium.Watch(max(chromium.LIMIT_S, limit.args[0] / 3))
    watch.start()
    with told_from_a_hung_browser(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with told_from_a_hung_browser(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with told_from_a_hung_browser(item):
        try:
            return (yield)
        finally:
            if (watch := item.stash.get(WATCH, None)) is not None:
                watch.stop()


@contextlib.contextmanager
def told_from_a_hung_browser(item: pytest.Item) -> Iterator[None]:
    """Raise `Hung` where that is why a test fails."""
    try:
        yield
    except Exception as error:
        if (watch := item.stash.get(WATCH, None)) is None:
            raise
        from tests.browser import chromium

        given = getattr(item, "funcargs", None) or {}
        pages = given["context"].pages if "context" in given else [given["page"]] if "page" in given else []
        try:
            watch.check(pages)
        except chromium.Hung as found:
            raise found from error
        raise
