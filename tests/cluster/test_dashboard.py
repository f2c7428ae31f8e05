"""The link to the dashboard that a cluster has itself: told where a page is, and only there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.cluster.dashboard import is_there
from cellmill.backends.cluster.engines.raybridge.process import link_of
from cellmill.magics.status import Status
from cellmill.views.sections.workers import WorkersSection
from tests.support.waiting import until


class Pages(BaseHTTPRequestHandler):
    """A server that answers with the number in its path."""

    def do_HEAD(self) -> None:
        self.send_response(int(self.path[1:]))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_page_is_there_or_not(address: str) -> None:
    assert is_there(f"http://{address}/200")
    assert is_there(f"http://{address}/405")  # it takes no HEAD
    assert not is_there(f"http://{address}/404")
    assert not is_there(f"http://{address}/502")
    assert not is_there(f"javascript://{address}/200")
    assert not is_there("")
    assert not is_there("http://127.0.0.1:1/status")


@pytest.mark.parametrize("on", [True, False])
def test_the_link_to_the_dashboard_of_dask(on: bool) -> None:
    distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
    pytest.importorskip("bokeh", reason="Dask has no dashboard without it")
    with (
        distributed.LocalCluster(
            1,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": on},
            silence_logs=50,
        ) as cluster,
        Executor(backend=cluster) as executor,
    ):
        cellmill.set_default_executor(executor)
        named: str = executor._backend.engine.dashboard()  # type: ignore[attr-defined]
        assert named.startswith("http://")  # also of a server without the page
        assert is_there(named) is on
        if on:
            until(lambda: executor._backend.dashboard)
        link = executor._backend.dashboard
        assert link == (named if on else "")
        frame: Any = WorkersSection().frame(executor)
        assert frame["dashboard"] == ({"name": "Dask", "link": link} if on else None)
        status = Status.now()
        assert (f"dashboard {named}" in repr(status)) is on
        assert (f'<a href="{named}" target="_blank" rel="noopener noreferrer">' in status._repr_html_()) is on
        cellmill.set_default_executor(None)
    assert executor._backend.dashboard == ""


def test_what_ray_calls_its_dashboard_becomes_a_link() -> None:
    assert link_of("127.0.0.1:8265") == "http://127.0.0.1:8265"
    assert link_of("https://ray.example.org/one") == "https://ray.example.org/one"
    assert link_of("") == link_of(None) == ""
