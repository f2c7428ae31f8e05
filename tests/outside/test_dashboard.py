"""`cellmill dashboard`: who gets in, what the page shows and does in a real browser, and the metrics."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from bokeh.util.token import generate_jwt_token
from playwright.sync_api import Page, expect
from prometheus_client.parser import text_string_to_metric_families
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

import cellmill
from cellmill import cli
from cellmill.outside.dashboard.page import COLOURS
from cellmill.telemetry.text_bar import LETTERS
from tests.browser import chromium
from tests.outside.conftest import Start, new_folder
from tests.outside.test_top import HOLDS
from tests.support.helpers import SECONDS
from tests.support.waiting import until


@dataclass
class Served:
    """A dashboard that runs."""

    process: subprocess.Popen[str]
    base: str
    token: str

    def get(self, path: str, token: str = "") -> tuple[int, str]:
        """Ask for a page with a token as a header; the status of the answer and its text."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + path, headers=headers)) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> dict[str, list[Any]]:
        """The samples by name."""
        status, text = self.get("/metrics", self.token)
        assert status == 200
        found: dict[str, list[Any]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, []).append(sample)
        return found


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One directory of sockets for all tests here: they share the dashboard that looks into it."""
    with new_folder() as path:
        yield path


@pytest.fixture(scope="module")
def dashboard(folder: Path) -> Iterator[Served]:
    """A dashboard in a process of its own, which Ctrl-C ends."""
    command = [sys.executable, "-m", "cellmill", "dashboard"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.readline()
    found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", said)
    assert found, said
    try:
        yield Served(process, found[1], found[2])
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of a real browser, which asks no other host for anything."""
    with chromium.own_page({"width": 1200, "height": 1100}, timeout_s=SECONDS, hosts={"127.0.0.1"}) as made:
        yield made


def value(samples: list[Any], **labels: str) -> float:
    (found,) = [sample.value for sample in samples if labels.items() <= sample.labels.items()]
    return float(found)


async def first_message(dashboard: Served, **headers: str) -> object:
    """What who opens a web socket is sent first, with a session of his own making; None: it is closed."""
    session = generate_jwt_token("of-my-own", signed=False)
    url = dashboard.base.replace("http", "ws", 1) + "/ws"
    request = HTTPRequest(url, headers={"Origin": dashboard.base, **headers})
    connection = await websocket_connect(request, subprotocols=["bokeh", session])
    message = await connection.read_message()
    connection.close()
    return message


def test_only_who_has_the_token_gets_in(dashboard: Served) -> None:
    for path, token in (("/", ""), ("/", "wrong"), ("/?token=wrong", ""), ("/metrics", "")):
        status, text = dashboard.get(path, token)
        assert status == 403, path
        assert "token" in text or "whole address" in text
    assert asyncio.run(first_message(dashboard)) is None
    assert (
        asyncio.run(first_message(dashboard, Authorization=f"Bearer {dashboard.token}")) is None
    )  # not signed
    assert dashboard.get("/", dashboard.token)[0] == 200
    assert dashboard.get(f"/metrics?token={dashboard.token}")[0] == 200
    addresses = [
        each.laddr.ip
        for each in psutil.Process(dashboard.process.pid).net_connections()
        if each.status == psutil.CONN_LISTEN
    ]
    assert addresses == ["127.0.0.1"]


def test_metrics_tell_what_the_kernel_tells(
    watched: Start, dashboard: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    program = watched(HOLDS)
    pid = str(program.pid)
    until(lambda: any(sample.value == 2 for sample in dashboard.metrics().get("cellmill_tasks", [])))
    until(lambda: "cellmill_worker_memory_bytes" in dashboard.metrics())  # measured from time to time
    found = dashboard.metrics()
    assert value(found["cellmill_tasks"], pid=pid, state="running") == 2
    assert value(found["cellmill_tasks_ended_total"], pid=pid, state="done") == 40
    assert value(found["cellmill_tasks"], pid=pid, state="queued") == 28
    assert value(found["cellmill_workers"], pid=pid, state="busy") == 2
    assert value(found["cellmill_worker_memory_bytes"], pid=pid, worker="0") > 1e6
    with cellmill.attach(program.pid) as kernel:
        kernel.pause()
        until(lambda: value(dashboard.metrics()["cellmill_paused"], pid=pid) == 1)
        kernel.cancel()
    until(lambda: value(dashboard.metrics()["cellmill_tasks_ended_total"], pid=pid, state="cancelled") == 30)
    assert cli.main(["dashboard", "--grafana"]) == 0
    board = json.loads(capsys.readouterr().out)
    asked = {name for panel in board["panels"] for each in panel["targets"] for name in names(each["expr"])}
    assert asked <= found.keys()
    assert asked
    program.kill()
    until(lambda: not dashboard.metrics().get("cellmill_tasks"))


def names(expression: str) -> list[str]:
    return re.findall(r"cellmill_\w+", expression)


@pytest.mark.browser
def test_the_page_says_how_shows_what_runs_and_its_buttons_act(
    watched: Start, dashboard: Served, page: Page
) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(f"{dashboard.base}/?token={dashboard.token}")
    page.get_by_text("No kernel or script of yours can be watched").wait_for()
    assert page.url == f"{dashboard.base}/?theme=dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 29)"
    first = watched(HOLDS)
    page.get_by_text(f"process {first.pid} · local").wait_for()
    assert page.request.get(f"{dashboard.base}/").status == 200, "the cookie lets it in"
    page.get_by_text("40 done").wait_for()
    page.get_by_text("28 queued").wait_for()
    page.locator("td", has_text="hold('[b]x[/b]')").first.wait_for()
    row = page.locator("tr", has_text="hold").first
    assert row.locator("td").all_inner_texts()[:3] == ["2", "", "hold"]
    with cellmill.attach(first.pid) as kernel:
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").wait_for()
        assert kernel.stats()["paused"]
        page.get_by_role("button", name="Resume").click()
        page.get_by_role("button", name="Pause").wait_for()
        page.get_by_role("button", name="Cancel the run").click()
        page.get_by_text("Cancel run 2, hold?").wait_for()
        page.get_by_role("button", name="No", exact=True).click()
        assert kernel.stats()["cancelled"] == 0
        page.get_by_role("button", name="Cancel the run").click()
        page.get_by_role("button", name="Yes, cancel").click()
        page.get_by_text("30 cancelled").wait_for()
        page.locator("tr", has_text="hold").get_by_text(
            "over", exact=True
        ).wait_for()  # the table is of now, too
        expect(page.get_by_role("button", name="Cancel the run")).to_be_disabled(timeout=1000 * SECONDS)
        assert kernel.stats()["cancelled"] == 30
    second = watched(HOLDS)
    choice = page.get_by_label("Kernel or script")
    choice.wait_for()
    option = choice.locator("option", has_text=f"process {second.pid}")
    choice.select_option(option.get_attribute("value"))
    page.get_by_text(f"process {second.pid} · local").wait_for()
    page.get_by_text("28 queued").wait_for()
    second.kill()
    page.get_by_text(f"Process {second.pid} (").get_by_text("has ended").wait_for()


def test_without_bokeh_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "cellmill.outside.dashboard.server", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh.server.server", None)
    assert cli.main(["dashboard"]) == 1
    assert "pip install 'cellmill[dashboard]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["dashboard", "--port", str(port)]) == 1
    assert f"cannot listen on port {port}: Address already in use. Give another" in capsys.readouterr().err


def test_every_state_has_a_colour() -> None:
    assert set(COLOURS) == set(LETTERS)
