"""A browser that hangs is ended, its test fails as one that runs again, and the next page has a new browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error

from tests.browser import chromium


def test_a_browser_that_answers_nothing_is_killed(profile: chromium.Profile) -> None:
    page = profile.context().new_page()
    watch = chromium.Watch(1.0)
    watch.start()
    with pytest.raises(Error):
        page.evaluate("() => { for (;;) {} }")
    with pytest.raises(chromium.Hung, match="not ended after 1 s"):
        watch.check([page])
    profile.close()
    page = profile.context().new_page()
    assert page.evaluate("() => 6 * 7") == 42
    assert chromium.draws(page)
    chromium.Watch().check([page])
    page.close()
