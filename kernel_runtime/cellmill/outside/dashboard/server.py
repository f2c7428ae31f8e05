"""The server of `cellmill dashboard`: pages for who has its token, and metrics, on loopback only."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.auth_provider import AuthProvider
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import RequestHandler

from ...errors import CellmillError
from ..folder import Served
from . import metrics
from .kernels import Kernels
from .page import Page

__all__ = ["Dashboard"]

HOST = "127.0.0.1"
DENIED = "/denied"


class Dashboard:
    """Serves until it is stopped, from the thread that makes it."""

    def __init__(self, port: int, interval: float) -> None:
        """``port``: 0 takes one that is free; ``interval``: seconds between looks at the kernels."""
        self.token = secrets.token_urlsafe(24)
        self.kernels = Kernels()
        self._interval = interval
        self._asker = ThreadPoolExecutor(1, "cellmill-dashboard")  # all looks and commands, one after another
        sockets = bind_sockets(port, HOST)
        self.port: int = sockets[0].getsockname()[1]
        application = BokehTornado(
            {"/": Application(FunctionHandler(self._document))},
            extra_websocket_origins=[f"{name}:{self.port}" for name in (HOST, "localhost")],
            extra_patterns=[("/metrics", _Metrics, {"dashboard": self}), (DENIED, _Denied)],
            auth_provider=_Token(self),
            sign_sessions=True,
            secret_key=secrets.token_bytes(32),
        )
        http = HTTPServer(application)
        http.add_sockets(sockets)
        self._server = BaseServer(IOLoop.current(), application, http)

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    async def serve(self) -> None:
        """Look at the kernels and answer, until this is cancelled."""
        self._server.start()
        try:
            while True:
                await self.ask(self._look)
                await asyncio.sleep(self._interval)
        finally:
            self._server.stop()
            self._asker.submit(self.kernels.close)
            self._asker.shutdown(wait=True)

    def _look(self) -> None:
        try:
            self.kernels.look()
        except (CellmillError, OSError):  # the directory of sockets cannot be used now
            return

    async def ask(self, function: Any, *args: Any) -> Any:
        """Call it in the thread that talks with kernels."""
        return await asyncio.get_running_loop().run_in_executor(self._asker, function, *args)

    async def command(self, kernel: Served, act: Any) -> str:
        """Do something with a kernel; return what went wrong, or ""."""
        try:
            await self.ask(self.kernels.command, kernel, act)
        except CellmillError as error:
            return str(error)
        return ""

    def _document(self, document: Document) -> None:
        Page(document, self.kernels, self.command)

    def is_allowed(self, handler: RequestHandler) -> bool:
        """Whether a request has the token: in its address, in a header, or in the cookie of an earlier one."""
        given = handler.get_query_argument("token", "")
        scheme, _, word = handler.request.headers.get("Authorization", "").partition(" ")
        cookie = handler.get_cookie(self.cookie) or ""
        found = given or (word.strip() if scheme == "Bearer" else "") or cookie
        return hmac.compare_digest(found.encode(), self.token.encode())

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies do not know ports."""
        return f"cellmill-{self.port}"


class _Token(AuthProvider):
    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        super().__init__()

    @property
    def get_user(self) -> Any:
        def user(handler: RequestHandler) -> str | None:
            if not self._dashboard.is_allowed(handler):
                return None
            if handler.get_query_argument("token", ""):
                cookie = self._dashboard.cookie
                handler.set_cookie(cookie, self._dashboard.token, httponly=True, samesite="Strict")
            return "owner"

        return user

    @property
    def login_url(self) -> str:
        return DENIED


class _Denied(RequestHandler):
    def get(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(
            "This page is for who started it: open the whole address that `cellmill dashboard` printed.\n"
        )


class _Metrics(RequestHandler):
    def initialize(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    def get(self) -> None:
        if not self._dashboard.is_allowed(self):
            self.set_status(403)
            self.finish("metrics need the token: Authorization: Bearer TOKEN, or ?token=TOKEN\n")
            return
        self.set_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.finish(metrics.text(self._dashboard.kernels))
