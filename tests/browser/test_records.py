"""A record of a run, opened from JupyterLab's file browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellmill
from cellmill import Executor
from tests.browser.page_setup import set_theme
from tests.support import tasks

OpenLab = Callable[..., Any]


def test_a_record_opens_from_the_file_browser(lab_in_use: OpenLab, server: Any, pool: Executor) -> None:
    """It is replayed in a tab, by a kernel that ends then; one that cannot be read says why."""
    folder = Path(server.root) / "kept"
    folder.mkdir()
    with cellmill.record(folder):
        run = list(pool.map(tasks.double, range(500)))
    assert len(run) == 500
    (path,) = folder.glob("*.cellmill")
    (folder / "cut.cellmill").write_bytes(b"no record")
    one = lab_in_use("1 + 1")
    one.command("filebrowser:open-path", path="kept")
    page = one.page
    set_theme(one, "dark")
    page.locator(".jp-DirListing-item", has_text=path.name).dblclick()
    replay = page.frame_locator(f"iframe[title='Replay of kept/{path.name}']")
    replay.get_by_role("slider").wait_for()
    replay.get_by_text("500").first.wait_for()
    assert (
        replay.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") == "rgb(17, 17, 17)"
    )
    one.picture("record-dark")
    page.get_by_role("tab", name=path.name).locator(".lm-TabBar-tabCloseIcon").click()
    page.locator(".jp-DirListing-item", has_text="cut.cellmill").dblclick()
    told = page.locator(".cellmill-record [role='alert']")
    told.wait_for()
    assert "This record cannot be shown" in told.inner_text()
    one.picture("record-refused-dark")
    assert [session["path"] for session in server.get("api/sessions") if "kept/" in session["path"]] == []
    assert one.errors == []
