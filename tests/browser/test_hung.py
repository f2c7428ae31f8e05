"""A browser that hangs is ended, its test fails as one that runs again, and the next page has a new browser."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Error

from tests.browser import chromium, hang_notes
from tests.browser.conftest import pages
from tests.browser.lab_page import Server


def test_a_killed_browser_leaves_no_kernel(
    server: Server, profile: chromium.Profile, request: pytest.FixtureRequest
) -> None:
    context = profile.context()

    def meet_a_killed_browser() -> None:
        with pages(server, context, request.node, profile) as open_lab:
            one = open_lab("1")
            context.close()
            one.page.title()

    with pytest.raises(Error):
        meet_a_killed_browser()
    assert server.get("api/sessions") == []
    profile.close()


def test_a_browser_that_answers_nothing_is_killed(
    profile: chromium.Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hang_notes, "NOTES", tmp_path / "notes")
    page = profile.context().new_page()
    watch = chromium.Watch(1.0)
    watch.start()
    with pytest.raises(Error):
        page.evaluate("() => { for (;;) {} }")
    with pytest.raises(chromium.Hung, match="not ended after 1 s"):
        watch.check([page])
    watch.stop()
    notes = (tmp_path / "notes").read_text()
    assert "test_a_browser_that_answers_nothing_is_killed" in notes
    assert "renderer" in notes
    assert 'page.evaluate("() => { for (;;) {} }")' in notes  # where it waited
    profile.close()
    page = profile.context().new_page()
    assert page.evaluate("() => 6 * 7") == 42
    assert chromium.missing_from(page) == ""
    chromium.Watch().check([page])
    page.close()


def test_a_page_that_gives_no_screenshot_is_told_from_one_that_draws_nothing(
    profile: chromium.Profile,
) -> None:
    page = profile.context().new_page()
    page.route("**/*.woff2", lambda route: None)  # a screenshot waits for the fonts
    page.set_content("<p style='font-family: late'>text</p>")
    assert chromium.missing_from(page) == ""
    page.evaluate("""() => {
        const font = new FontFace('late', 'url(http://127.0.0.1:1/late.woff2)');
        document.fonts.add(font);
        font.load();
    }""")
    assert chromium.missing_from(page, 1_000) == "screenshot"
    page.evaluate("() => { window.requestAnimationFrame = () => 0; }")
    assert chromium.missing_from(page, 1_000) == "animation frame"
    page.close()


def test_a_driver_that_answers_nothing_is_killed(driver: chromium.Driver, profile: chromium.Profile) -> None:
    page = profile.context().new_page()
    (process,) = [one for one in psutil.Process().children() if one.name().startswith("node")]
    watch = chromium.Watch(0.5, grace=0.5)
    watch.start()
    process.suspend()
    with pytest.raises(Error):
        page.evaluate("() => 0")
    watch.stop()
    profile.close()
    page = profile.context().new_page()
    assert page.evaluate("() => 6 * 7") == 42
    page.close()
