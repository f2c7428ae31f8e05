"""Which uncaught errors of a page fail a test: scripts of several origins in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Route

from tests.browser.page_errors import KNOWN, listen

HOST = "http://page.invalid"
LAB = "/static/lab/jlab_core.1.js"
NOTEBOOK = "/static/notebook/notebook_core.1.js"
EXTENSION = "/lab/extensions/cellmill/static/1.js"
SUBSHELL = next(known.message for known in KNOWN if known.file == "")
SCHEMA = next(known.message for known in KNOWN if known.file != "")
REJECT = "Promise.reject(new Error({!r}));"
# A known error of JupyterLab's, thrown in a function that is called from elsewhere.
THROW = f"window.fail = () => {{ throw new Error({SUBSHELL!r}); }};"
CALL = "setTimeout(() => window.fail());"
MODULE = REJECT.format("of the widget")
BLOB = f"import(URL.createObjectURL(new Blob([{MODULE!r}], {{ type: 'text/javascript' }})));"


@pytest.mark.parametrize(
    ("scripts", "counted"),
    [
        ({EXTENSION: REJECT.format("of the extension")}, True),
        ({LAB: BLOB}, True),
        ({LAB: REJECT.format("a frame of Cellmill was not read")}, True),
        ({LAB: REJECT.format("one that is not known")}, True),
        ({LAB: THROW, EXTENSION: CALL}, True),
        ({LAB: REJECT.format(SCHEMA)}, True),
        ({LAB: THROW + CALL}, False),
        ({LAB: f"Promise.reject({'Error: ' + SUBSHELL!r});"}, False),
        ({NOTEBOOK: REJECT.format(SCHEMA)}, False),
    ],
    ids=[
        "extension", "widget", "names us", "unknown", "known, but through ours", "known, but elsewhere",
        "known", "known without a stack", "known of Notebook",
    ],
)  # fmt: skip
def test_what_counts(context: BrowserContext, scripts: dict[str, str], counted: bool) -> None:
    page = context.new_page()
    errors = listen(page)
    tags = "".join(f"<script src={path!r}></script>" for path in scripts)

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(HOST)
        if path in scripts:
            route.fulfill(body=scripts[path], content_type="text/javascript")
        else:
            route.fulfill(body=f"<!doctype html>{tags}", content_type="text/html")

    page.route(f"{HOST}/**", answer)
    with page.expect_event("pageerror"):
        page.goto(f"{HOST}/lab")
    assert [len(errors.counted), len(errors.known)] == ([1, 0] if counted else [0, 1]), errors
    page.close()
